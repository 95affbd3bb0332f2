//! The rules of `assay gate`: policies, what weakens them, the ledger of looks, and the decision.
//!
//! Nothing here runs a trial. The command line finds the changed skills, runs their experiments, and passes the paired
//! results to [`decide`].

mod decide;
mod drift;
mod error;
pub mod ledger;
mod old_ledger;
mod policy;
mod self_check;
mod terms;

pub use decide::{Claim, Decision, best_case, decide, level_of_look};
pub use drift::{Session, detectable_drift, drift_sd};
pub use error::PolicyError;
pub use old_ledger::{Ledger, LedgerEntry, LedgerError, SkillEntry};
pub use policy::{
    BudgetScope, Guards, LedgerPlace, LedgerSpec, Missing, OnUndecided, Policy, Requirement, Reuse, Rule,
};
pub use self_check::{NullSplits, null_splits};
pub use terms::{SkillTerms, Terms, weakened};
