//! A single trial without an experiment file.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_store::{AgentSpec, Record, SandboxChoice, Store, StoreError};

use crate::condition::Pairing;
use crate::experiment::Experiment;
use crate::plan::Plan;
use crate::plan::error::PlanError;
use crate::run::context::MachineContext;
use crate::run::execute::run;
use crate::run::executor::{RunError, RunOptions};

/// A single trial.
#[derive(Debug, Clone)]
pub struct SingleTrial<'a> {
    /// The run's name.
    pub name: &'a str,
    /// The base folder of relative paths of skills and scripts.
    pub directory: &'a Path,
    /// The task's folder.
    pub task: &'a Path,
    /// The agent.
    pub agent: AgentSpec,
    /// The condition.
    pub condition: &'a str,
    /// Patterns of skill folders.
    pub library: Vec<String>,
    /// The skills of the task, by name.
    pub pairing: Pairing,
    /// Which sandbox.
    pub sandbox: SandboxChoice,
}

/// Why a single trial has no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingleTrialError {
    /// Nothing could be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The task cannot be run here.
    #[error("the trial cannot be run: {0}")]
    Excluded(String),
    /// It could not be executed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was interrupted.
    #[error("the trial left no record")]
    NoRecord,
}

/// Executes one trial of an agent on a task under a condition, and returns its record. Its files
/// are in the store.
///
/// # Errors
/// Why it has no record. A trial with an infrastructure error has one.
pub fn run_single(
    trial: &SingleTrial<'_>,
    store: &Store,
    machine: &MachineContext<'_>,
    cancel: &AtomicBool,
) -> Result<Record, SingleTrialError> {
    let mut experiment = Experiment::new(trial.name, trial.directory);
    experiment.suite = vec![globset::escape(&trial.task.to_string_lossy())];
    experiment.library.clone_from(&trial.library);
    experiment.conditions = vec![trial.condition.to_owned()];
    experiment.agents = vec![trial.agent.clone()];
    experiment.sandbox = trial.sandbox.clone();
    if let Some(name) = trial.task.file_name() {
        experiment.pairings.insert(name.to_string_lossy().into_owned(), trial.pairing.clone());
    }
    let plan = Plan::build(experiment, store, machine)?;
    if let Some(excluded) = plan.excluded.first() {
        return Err(SingleTrialError::Excluded(excluded.reason.clone()));
    }
    let folder = plan.begin_run(store)?.run;
    let options = RunOptions { retry_broken: false, ..RunOptions::new(1) };
    run(&plan, &folder, store, &plan.resolver(store, machine), &options, cancel, &mut |_| {})?;
    let id = plan.trials.keys().next().ok_or(SingleTrialError::NoRecord)?;
    store.record(id)?.ok_or(SingleTrialError::NoRecord)
}
