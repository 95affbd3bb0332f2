//! The rules of `assay gate`: policies, what weakens them, the ledger of looks, and the decision.
//!
//! Nothing here runs a trial. The command line finds the changed skills, runs their experiments, and passes the paired
//! results to [`decide`].

mod decide;
mod drift;
mod error;
mod evaluation;
mod git;
mod ledger;
mod lfs;
mod parts;
mod paths;
mod policy;
mod power;
mod reference;
mod repository;
mod rounds;
mod rules;
pub mod scaffold;
mod self_check;
pub mod simulate;
mod terms;
mod weakening;

pub use decide::{Claim, Decision, Outcome, REFERENCE_BUDGET, ReferenceTest, decide, one_sided_p, outcomes};
pub use drift::{DriftEstimate, FEWEST_SESSIONS, Session, detectable_drift, drift_sd};
pub use error::PolicyError;
pub use evaluation::{Change, Evaluation, EvaluationError, Request, Subject};
pub use git::GitError;
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
pub use repository::{ChangedPath, Entry, EntryKind, Listing, Merged, Repository, RepositoryError};
pub use rounds::{Round, decide_rounds};
pub use rules::{Rules, SETTINGS};
pub use self_check::{NullSplits, ScoreGroups, SelfCheck, SelfCheckError, null_splits};
pub use terms::{SkillTerms, Terms};
pub use weakening::weakened;
