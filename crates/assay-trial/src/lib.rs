//! Conditions, plans and the life of a trial.
//!
//! [`Plan`] is the product of suite, conditions, roster and repetitions; each of its cells is a [`Trial`], pure data until it
//! is executed. Executing one gives an `assay_store::Record` in the store. Reports are made elsewhere, from records alone.

pub mod condition;
mod experiment;
pub mod import;
mod plan;
mod run;
#[cfg(test)]
mod testing;

pub use condition::Pairing;
pub use experiment::{AgentSpec, Experiment, ExperimentError, NetworkGrant, SandboxChoice, SandboxKind};
pub use plan::agents::RosterEntry;
pub use plan::dependencies::{Dependencies, SkillPlace};
pub use plan::preflight::{PreflightError, PreflightEvent, preflight};
pub use plan::{AbsentSkill, Check, Machine, PROTOCOL, Plan, PlanError, Trial};
pub use run::backend::{Place, Sandboxes};
pub use run::cli_agents::{Shipping, Way};
pub use run::egress_proxy::Reach;
pub use run::life::{Executed, Runner};
pub use run::local::{Event, RunOptions, RunOutcome, run};
pub use run::prep_cache::{Base, Workshop};
