//! Trials of models on the tasks of a draft. They are in stores of the draft's own, and none of them counts in its experiment.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_store::{Cell, Record, Store, TrialId};
use assay_trial::{Event, Experiment, MachineContext, Permissions, Plan, RunOptions};

use crate::author::DraftAuthor;
use crate::error::{DraftError, SolverFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::folder::DraftFolder;
use crate::host::DraftHost;

/// The stores of trials, in the folder of a draft.
const STORES: [&str; 2] = ["solver/store", "attempts/store"];

/// Most characters of a verifier's output that are kept.
const OUTPUT_CHARS: usize = 2_000;

/// Executes trials of one of a draft's experiments.
pub(crate) struct TrialRunner<'a> {
    /// The experiment, in the folder of the draft.
    pub(crate) file: &'static str,
    /// The cap of the draft, in USD.
    pub(crate) max_usd: Option<f64>,
    pub(crate) folder: &'a DraftFolder,
    pub(crate) author: &'a DraftAuthor,
    pub(crate) cancel: &'a Arc<AtomicBool>,
    pub(crate) host: &'a dyn DraftHost,
    pub(crate) store: Store,
    pub(crate) events: &'a dyn DraftEvents,
}

impl TrialRunner<'_> {
    /// The trials of a task.
    ///
    /// # Errors
    /// The experiment cannot be used, or none of its trials can be executed.
    pub(crate) fn plan_task(&self, task: &str) -> Result<Plan, DraftError> {
        let mut experiment = Experiment::load(&self.folder.path_of(self.file))?;
        experiment.suite = vec![format!("tasks/{task}")];
        let sandboxes = self.host.open_sandboxes().map_err(DraftError::Host)?;
        let here = self.host.machine_context(&sandboxes);
        let plan = Plan::build(experiment, &self.store, &here)?;
        if plan.cells.is_empty() {
            let reasons: Vec<&str> = plan.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
            let (task, reasons) = (task.to_owned(), reasons.join("; "));
            return Err(SolverFault::NotPlanned { task, reasons }.into());
        }
        Ok(plan)
    }

    /// Executes the trial of a cell, or reads its record.
    ///
    /// # Errors
    /// It has no result, a cap is reached, or the command was interrupted.
    pub(crate) fn run_cell(&self, plan: &mut Plan, cell: &Cell, task: &str) -> Result<Record, DraftError> {
        plan.cells = vec![cell.clone()];
        let sandboxes = self.host.open_sandboxes().map_err(DraftError::Host)?;
        let permissions = Permissions::default();
        let here = MachineContext { permissions, ..self.host.machine_context(&sandboxes) };
        let run = plan.begin_run(&self.store)?.run;
        let resolver = plan.resolver(&self.store, &here);
        let max_usd = self.max_usd.map(|cap| self.author.left_of(cap));
        let options = RunOptions { max_usd, ..RunOptions::new(1) };
        let mut hear = |event: Event<'_>| {
            if let Event::Note(note) = event {
                self.events.handle_event(&DraftEvent::TrialNote(&note));
            }
        };
        let outcome = assay_trial::run(plan, &run, &self.store, &resolver, &options, self.cancel, &mut hear);
        self.store.clear_scratch();
        self.author.set_trial_cost(sum_trial_costs(self.folder)?);
        let outcome = outcome?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SolverFault::Interrupted.into());
        }
        if let Some(capped) = outcome.capped {
            return Err(SolverFault::Capped { task: task.to_owned(), capped }.into());
        }
        match self.store.record(&cell.trial)? {
            Some(record) if record.outcome.counts() => Ok(record),
            record => {
                let reason = record.and_then(|record| record.reason).unwrap_or_default();
                let (task, file) = (task.to_owned(), self.file);
                Err(SolverFault::NoResult { task, reason, file }.into())
            }
        }
    }

    /// The end of what the verifier printed in a trial.
    pub(crate) fn read_output(&self, record: &Record) -> String {
        let attempt = self.store.trial_folder(&record.trial).join(format!("attempts/{}", record.attempt));
        let text = fs::read(attempt.join("verifier/test-stdout.txt")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let skip = text.chars().count().saturating_sub(OUTPUT_CHARS);
        text.chars().skip(skip).collect()
    }
}

/// What all trials of a draft cost in USD, as far as it is known: also those of tasks that were edited or removed since.
///
/// # Errors
/// A store cannot be read.
pub(crate) fn sum_trial_costs(folder: &DraftFolder) -> Result<f64, DraftError> {
    let stores = STORES.iter().map(|name| folder.path_of(name));
    stores.filter(|root| root.is_dir()).map(|root| sum_store_costs(&root)).sum()
}

fn sum_store_costs(root: &Path) -> Result<f64, DraftError> {
    let store = Store::open(root)?;
    let mut spent = 0.0;
    let folders = fs::read_dir(store.root().join("trials")).into_iter().flatten().flatten();
    let trials = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    for trial in trials {
        let Ok(id) = trial.file_name().to_string_lossy().parse::<TrialId>() else { continue };
        spent += store.record(&id)?.and_then(|record| record.cost_usd).unwrap_or(0.0);
    }
    Ok(spent)
}
