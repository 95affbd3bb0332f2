//! Conditions, plans, and the execution of trials.
//!
//! A [`Plan`] is the product of suite, conditions, agents and repetitions; each cell refers to a
//! [`TrialSpec`], which is data. An [`Executor`] executes specifications; a [`Resolver`] turns one
//! into live objects on the executing machine. The result is an `assay_store::Record` in the store.
//! Other crates compute reports from records alone.

mod agent_check;
pub mod condition;
mod experiment;
mod export;
pub mod import;
pub mod judging;
mod kubernetes;
mod plan;
mod plugin_experiment;
mod plugin_export;
mod reference;
mod run;
pub mod task_check;
#[cfg(test)]
mod testing;

pub use agent_check::{AgentCheck, AgentCheckError, run_agent_check};
pub use assay_store::{
    AgentSpec, NetworkPolicy, PROTOCOL, ProvisionSpec, SandboxChoice, SandboxKind, SkillRef, SpecError,
    TaskRef, TrialSpec,
};
pub use condition::Pairing;
pub use experiment::foreign::{NotPermitted, Permissions};
pub use experiment::{Experiment, ExperimentError, NetworkGrant, Retries, RetriesLeft};
pub use export::{ExportError, ExportedTable, ExportedTables, export_tables, table_files};
pub use kubernetes::KubernetesRun;
pub use plan::agents::AgentEntry;
pub use plan::caps::{CapError, IsPaid, RunCaps};
pub use plan::dependencies::{Dependencies, SkillPlace};
pub use plan::empty::{EmptyCondition, EmptyConditions};
pub use plan::error::PlanError;
pub use plan::preflight::{PreflightError, PreflightEvent, preflight, preflight_judges};
pub use plan::preview::PlanPreview;
pub use plan::rubric::{TaskRubricError, rubric_of};
pub use plan::selected::{SelectionError, parse_selection};
pub use plan::specs::SpecFileError;
pub use plan::{Check, Plan};
pub use plugin_experiment::{
    PluginExperiment, PluginExperimentError, PluginSkill, PluginTask, make_plugin_experiment,
};
pub use plugin_export::{
    CASE_TOOLS, CaseOptions, CaseRefusal, ExportedCases, PluginExportError, export_plugin_cases,
};
pub use run::backend::{Backend, BackendError, SandboxUnavailable, Sandboxes};
pub use run::cleanup::{CleanupReport, clean_up};
pub use run::context::MachineContext;
pub use run::doubles::{DoublesError, double_main};
pub use run::env::{EnvError, TaskEnv};
pub use run::execute::{NextRound, RoundArms, run, run_rounds};
pub use run::executor::{
    Batch, BatchError, Done, Event, Executor, ExecutorContext, ExecutorKind, RunError, RunOptions, RunOutcome,
};
pub use run::life::{Executed, Runner};
pub use run::limiter::{RunGateway, has_gateway, limiter_client, serve_limits};
pub use run::open_agent::AgentError;
pub use run::prep_cache::{Base, PrepCache};
pub use run::resolve::{ResolveError, Resolver, Sources};
pub use run::route::{CliAgentContext, ModelRoute};
pub use run::single::{SingleTrial, SingleTrialError, run_single};
pub use run::slurm::{SlurmError, SlurmOptions, find_slurm};
pub use run::trial::{AbsentSkill, ResolvedTrial};
pub use run::worker::{
    WorkerError, WorkerEvent, WorkerEvents, WorkerOptions, WorkerOutcome, await_work, run_worker,
};
pub use run::workers::{SharedBatch, execute_shared};
