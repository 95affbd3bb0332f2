//! Records, plans as data, and the store they lie in.
//!
//! A [`RunFolder`] says what was planned, a [`Record`] what came of one trial; both lie in a [`Store`], a folder of plain files.
//! Reports are computed from these alone. This crate starts nothing: no sandbox, no agent, no model.

mod error;
mod files;
mod identity;
mod lease;
mod limits;
mod owner;
mod record;
mod role;
mod run;
mod runs;
mod selection;
mod store;
mod work;

pub use error::StoreError;
pub use files::{pretty, write_atomically, write_json, write_new};
pub use identity::{TrialId, canonical};
pub use lease::{Claim, Lease};
pub use limits::{Limit, LimitSource, TaskLimits};
pub use owner::{Owner, Standing};
pub use record::{AgentLabel, Cause, Estimated, Metered, Outcome, Record, RecordError, Seconds, score};
pub use role::ConditionRole;
pub use run::{
    Cell, Exclusion, PlannedAgent, PlannedProvision, PlannedSkill, PlannedTask, RunFolder, is_run_name,
};
pub use runs::RunSummary;
pub use selection::{Selection, pattern_means};
pub use store::{Store, Swept};
