//! Conditions, plans, the life of a trial, and the store its records lie in.
//!
//! [`Plan`] is the product of suite, conditions, roster and repetitions; each of its cells is a [`Trial`], pure data until it
//! is executed. Executing one gives a [`Record`] in the [`Store`]. Reports are made elsewhere, from records alone.

pub mod condition;
mod experiment;
mod identity;
pub mod import;
mod plan;
mod record;
mod run;
mod shared;
mod store;
#[cfg(test)]
mod testing;

pub use assay_agent::{Disclosure, Placement};
pub use condition::Pairing;
pub use experiment::{
    AgentSpec, Experiment, ExperimentError, NetworkGrant, PriceSpec, SandboxChoice, SandboxKind,
};
pub use identity::{TrialId, canonical};
pub use plan::agents::RosterEntry;
pub use plan::dependencies::{Dependencies, SkillPlace};
pub use plan::limits::{Limit, LimitSource, TaskLimits};
pub use plan::preflight::{PreflightError, PreflightEvent, preflight};
pub use plan::{AbsentSkill, Cell, Check, Exclusion, Machine, PROTOCOL, Plan, PlanError, Trial};
pub use record::{AgentLabel, Cause, Estimated, LATE, Metered, Outcome, Record, Seconds, score};
pub use run::backend::{Place, Sandboxes};
pub use run::cli_agents::{Shipping, Way};
pub use run::egress_proxy::Reach;
pub use run::life::{Executed, Runner};
pub use run::local::{Event, RunOptions, RunOutcome, Selection, pattern_means, run};
pub use run::prep_cache::{Base, Workshop};
pub use shared::SharedSkills;
pub use store::{
    Claim, Lease, Owner, PlannedAgent, PlannedProvision, PlannedSkill, PlannedTask, RunFolder, RunSummary,
    Standing, Store, StoreError, Swept,
};
