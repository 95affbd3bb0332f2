//! `assay gate`: policies, what weakens them, the ledger of looks, the trials of the skills that changed, and the decision.
//!
//! - A [`Scope`] has the rules that apply and the skills that a pull request changes.
//! - A [`Gate`] plans their trials, opens looks in the ledger, has `assay-trial` execute what is missing, and passes the paired
//!   results to [`decide`], the rule of decision. [`Gate::explain`] reads the same and executes nothing.
//! - A [`GateDocument`] is what it decided, as text, JSON, JUnit and the comment of a pull request.
//! - A [`GateHost`] is the program around it: its keys, store and sandboxes. [`GateEvents`] hears what happens.

mod attainable;
mod checks;
mod cost;
mod decide;
mod decisions;
mod document;
mod drift;
mod error;
mod evaluation;
mod explain;
mod gate;
mod gate_error;
mod git;
mod guards;
mod host;
mod ledger;
mod lfs;
mod looks;
mod measure;
mod measured;
mod new_skill;
mod parts;
mod paths;
mod policy;
mod power;
mod reference;
mod registration;
mod repository;
mod request;
mod rounds;
mod rows;
mod rules;
pub mod scaffold;
mod scope;
mod self_check;
mod steps;
mod terms;
#[cfg(test)]
mod testing;
mod weakening;

pub use attainable::UnattainablePolicy;
pub use cost::CostForecast;
pub use decide::{Claim, Decision, Outcome, REFERENCE_BUDGET, ReferenceTest, decide, one_sided_p, outcomes};
pub use document::{GateDocument, GateVerdict, refused_comment, refused_junit};
pub use drift::{DriftEstimate, FEWEST_SESSIONS, Session, detectable_drift, drift_sd};
pub use error::PolicyError;
pub use evaluation::{Change, Evaluation, EvaluationError, Request, Subject};
pub use explain::Explanation;
pub use gate::Gate;
pub use gate_error::{GateError, UnusableStore};
pub use git::GitError;
pub use host::{GateEvent, GateEvents, GateHost, HostError};
pub use ledger::{
    Anchor, Completion, GATE_REF, KnownHeads, Ledger, LedgerEntry, LedgerError, LedgerHome, Numbers, Opening,
    Reference, content, level,
};
pub use paths::relative;
pub use policy::{
    BudgetScope, Guards, LedgerPlace, LedgerSpec, Missing, OnUndecided, Policy, Requirement, Reuse, Rule,
};
pub use power::{ENOUGH, ExperimentSize, MARGIN, WIDEST_MARGIN, written_margin};
pub use reference::{ReferenceVersion, SkillHistory};
pub use registration::{
    RegisteredPlan, RegistrationError, find_registration, register_plan, registered_plan,
};
pub use repository::{ChangedPath, Entry, EntryKind, Listing, Merged, Repository, RepositoryError};
pub use request::GateRequest;
pub use rounds::{Round, decide_rounds};
pub use rules::{Rules, SETTINGS};
pub use scope::Scope;
pub use self_check::{NullSplits, ScoreGroups, SelfCheck, SelfCheckError, null_splits};
pub use terms::{SkillTerms, Terms};
pub use weakening::weakened;
