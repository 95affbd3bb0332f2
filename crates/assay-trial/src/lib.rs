//! Conditions, plans, the life of a trial, and the store its records lie in.
//!
//! [`Plan`] is the product of suite, conditions, roster and repetitions; each of its cells is a [`Trial`], pure data until it
//! is executed. Executing one gives a [`Record`] in the [`Store`]. Reports are made elsewhere, from records alone.

mod budget;
pub mod condition;
mod dependencies;
mod desk;
mod executor;
mod experiment;
mod identity;
pub mod import;
mod life;
mod limits;
mod outlet;
mod place;
mod plan;
mod preflight;
mod purse;
mod record;
mod roster;
mod shared;
mod shipping;
mod store;
mod survey;
mod tamper;
#[cfg(test)]
mod testing;
mod verifier;
mod workshop;

pub use assay_agent::{Disclosure, Placement};
pub use dependencies::{Dependencies, SkillPlace};
pub use executor::{Event, RunOptions, RunOutcome, Selection, pattern_means, run};
pub use experiment::{
    AgentSpec, Experiment, ExperimentError, NetworkGrant, Pairing, PriceSpec, SandboxChoice, SandboxKind,
};
pub use identity::{TrialId, canonical};
pub use life::{Executed, Runner};
pub use limits::{Limit, LimitSource, TaskLimits};
pub use outlet::Reach;
pub use place::{Place, Sandboxes};
pub use plan::{AbsentSkill, Cell, Check, Exclusion, Machine, PROTOCOL, Plan, PlanError, Trial};
pub use preflight::{PreflightError, PreflightEvent, preflight};
pub use record::{AgentLabel, Cause, Estimated, LATE, Metered, Outcome, Record, Seconds, score};
pub use roster::RosterEntry;
pub use shared::SharedSkills;
pub use shipping::{Shipping, Way};
pub use store::{
    Claim, Lease, Owner, PlannedAgent, PlannedProvision, PlannedSkill, PlannedTask, RunFolder, RunSummary,
    Standing, Store, StoreError, Swept,
};
pub use workshop::{Base, Workshop};
