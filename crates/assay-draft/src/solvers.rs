//! Whether another model than the author's solves the tasks of a draft.
//!
//! The rule is the same with and without the skill: choosing tasks that are solved with the skill would bias the verdict.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::Price;
use assay_store::{ConditionRole, Outcome, Record, Store, TrialId};
use assay_trial::{Event, Experiment, MachineContext, Permissions, Plan, RunOptions};
use serde::{Deserialize, Serialize};

use crate::author::DraftAuthor;
use crate::error::{DraftError, SolverFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::experiment::{SOLVER_REPETITIONS, solver};
use crate::folder::{DraftFolder, RejectedTask, folder_digest};
use crate::host::DraftHost;
use crate::review::Fault;

/// The file with the results.
const FILE: &str = "solvers.json";

/// Most bytes of the verifier's output that are kept of a task that nobody solved.
const OUTPUT_CHARS: usize = 2_000;

/// `solvers.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SolverResults {
    schema: String,
    /// The model that attempted the tasks, as `provider:model`.
    pub(crate) model: String,
    pub(crate) tasks: BTreeMap<String, SolvedTask>,
}

/// The attempts on a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SolvedTask {
    /// The digest of its folder.
    pub(crate) digest: String,
    pub(crate) solved: bool,
    pub(crate) attempts: Vec<SolverAttempt>,
}

/// An attempt on a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SolverAttempt {
    trial: TrialId,
    condition: String,
    outcome: Outcome,
}

/// The results; `None` if the stage was not executed.
pub(crate) fn read_solvers(folder: &DraftFolder) -> Result<Option<SolverResults>, DraftError> {
    folder.read_json(FILE)
}

/// The solver, as the caller describes it.
#[derive(Debug, Clone, Copy)]
pub struct SolverOptions<'a> {
    /// The model, as `provider:model`; without one, that of the draft.
    pub model: Option<&'a str>,
    /// Its address, if not the provider's own.
    pub base_url: Option<&'a str>,
    /// The variable with its key.
    pub api_key_env: Option<&'a str>,
    /// What a million tokens of input and of output cost in USD.
    pub price: Option<[f64; 2]>,
    /// The cap of the draft, in USD.
    pub max_usd: Option<f64>,
    /// Whether a paid model may be used without a cap.
    pub no_cap: bool,
}

/// Refuses the author's own model.
pub(crate) fn check_solver(solver: Option<&str>, author: &str) -> Result<(), SolverFault> {
    if solver == Some(author) {
        return Err(SolverFault::Author(author.to_owned()));
    }
    Ok(())
}

/// Refuses a paid solver whose requests no cap can count.
pub(crate) fn check_payment(
    options: &SolverOptions<'_>,
    model: &str,
    host: &dyn DraftHost,
) -> Result<(), SolverFault> {
    let price = options.price.map(|[input, output]| Price::new(input, output, None, None));
    if !host.is_paid(model, options.base_url, price) {
        return Ok(());
    }
    if options.max_usd.is_some() && price.is_none() {
        return Err(SolverFault::NoPrice(model.to_owned()));
    }
    if options.max_usd.is_none() && !options.no_cap {
        return Err(SolverFault::NoCap(model.to_owned()));
    }
    Ok(())
}

/// Has the solver attempt the tasks, and rejects those that it does not solve. What was attempted is not attempted again.
pub(crate) fn run_solvers(
    options: &SolverOptions<'_>,
    folder: &DraftFolder,
    author: &DraftAuthor,
    cancel: &Arc<AtomicBool>,
    host: &dyn DraftHost,
    events: &dyn DraftEvents,
) -> Result<(), DraftError> {
    let stored = read_solvers(folder)?;
    let model =
        options.model.map(str::to_owned).or_else(|| stored.as_ref().map(|stored| stored.model.clone()));
    let Some(model) = model else {
        events.handle_event(&DraftEvent::NoSolver);
        return Ok(());
    };
    check_solver(Some(&model), author.name())?;
    let mut solvers = stored.filter(|stored| stored.model == model).unwrap_or_default();
    "assay.draft-solvers/1".clone_into(&mut solvers.schema);
    solvers.model.clone_from(&model);
    // A draft that was killed may have recorded a task as unsolved and not moved it.
    for (task, solved) in solvers.tasks.iter().filter(|(_, solved)| !solved.solved) {
        if folder.task_folder(task).is_dir() && folder_digest(&folder.task_folder(task)) == solved.digest {
            reject(folder, task, &model, String::new())?;
        }
    }
    let open: Vec<String> = folder
        .list_tasks()
        .into_iter()
        .filter(|task| {
            let digest = folder_digest(&folder.task_folder(task));
            solvers.tasks.get(task).is_none_or(|solved| solved.digest != digest)
        })
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    check_payment(options, &model, host)?;
    let url = options.base_url;
    if folder.path_of("solver.toml").symlink_metadata().is_err() {
        let price = options.price.as_ref().map(|price| &price[..]);
        folder.write_text("solver.toml", &solver(&model, url, options.api_key_env, price))?;
    }
    let planned = Experiment::load(&folder.path_of("solver.toml"))?;
    if planned.agents.iter().any(|agent| agent.model.as_deref() != Some(model.as_str())) {
        let path = folder.path_of("solver.toml");
        return Err(SolverFault::OtherModel { path, model }.into());
    }
    let store = Store::open(&folder.path_of("solver/store"))?;
    let mut stage = SolverStage { max_usd: options.max_usd, folder, author, cancel, host, store, events };
    for task in open {
        let digest = folder_digest(&folder.task_folder(&task));
        let (solved, output) = stage.attempt(&task, digest)?;
        let is_solved = solved.solved;
        solvers.tasks.insert(task.clone(), solved);
        folder.write_json(FILE, &solvers)?;
        if is_solved {
            events.handle_event(&DraftEvent::Solved { task: &task, model: &model });
            continue;
        }
        reject(folder, &task, &model, output)?;
    }
    Ok(())
}

fn reject(folder: &DraftFolder, task: &str, model: &str, output: String) -> Result<(), DraftError> {
    let attempts = 2 * SOLVER_REPETITIONS;
    let reason = format!("unsolved: {model} failed {attempts} attempts, half of them with the skill");
    let repairs = folder.read_proposal(task)?.map_or(0, |proposal| proposal.repairs);
    let faults = vec![Fault::new("unsolved", output)];
    folder.reject_task(task, RejectedTask { reason, faults, repairs })
}

struct SolverStage<'a> {
    max_usd: Option<f64>,
    folder: &'a DraftFolder,
    author: &'a DraftAuthor,
    cancel: &'a Arc<AtomicBool>,
    host: &'a dyn DraftHost,
    store: Store,
    events: &'a dyn DraftEvents,
}

impl SolverStage<'_> {
    /// Attempts a task alternately without and with the skill, up to the first pass. Returns what the verifier printed last.
    fn attempt(&mut self, task: &str, digest: String) -> Result<(SolvedTask, String), DraftError> {
        let mut experiment = Experiment::load(&self.folder.path_of("solver.toml"))?;
        experiment.suite = vec![format!("tasks/{task}")];
        let sandboxes = self.host.open_sandboxes().map_err(DraftError::Host)?;
        let here = self.host.machine_context(&sandboxes);
        let mut plan = Plan::build(experiment, &self.store, &here)?;
        let (cells, experiment) = (&mut plan.cells, &plan.experiment);
        let is_bare = |condition: &str| experiment.role_of(condition) == ConditionRole::None;
        cells.sort_by_key(|cell| (cell.repetition, !is_bare(&cell.condition)));
        if plan.cells.is_empty() {
            let reasons: Vec<&str> = plan.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
            let (task, reasons) = (task.to_owned(), reasons.join("; "));
            return Err(SolverFault::NotPlanned { task, reasons }.into());
        }
        let cells = plan.cells.clone();
        let (mut attempts, mut output) = (Vec::new(), String::new());
        for cell in cells {
            plan.cells = vec![cell.clone()];
            let record = self.trial(&plan, &cell.trial, task)?;
            attempts.push(SolverAttempt {
                trial: record.trial.clone(),
                condition: cell.condition,
                outcome: record.outcome,
            });
            if record.outcome == Outcome::Passed {
                return Ok((SolvedTask { digest, solved: true, attempts }, output));
            }
            let attempt = self.store.trial_folder(&record.trial).join(format!("attempts/{}", record.attempt));
            let text = std::fs::read(attempt.join("verifier/test-stdout.txt")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let skip = text.chars().count().saturating_sub(OUTPUT_CHARS);
            output = text.chars().skip(skip).collect();
        }
        Ok((SolvedTask { digest, solved: false, attempts }, output))
    }

    /// Executes a trial, or reads its record.
    fn trial(&mut self, plan: &Plan, id: &TrialId, task: &str) -> Result<Record, DraftError> {
        let sandboxes = self.host.open_sandboxes().map_err(DraftError::Host)?;
        let permissions = Permissions::default();
        let here = MachineContext { permissions, ..self.host.machine_context(&sandboxes) };
        let run = plan.begin_run(&self.store)?.run;
        let resolver = plan.resolver(&self.store, &here);
        let options = RunOptions { max_usd: self.left_usd()?, ..RunOptions::new(1) };
        let outcome =
            assay_trial::run(plan, &run, &self.store, &resolver, &options, self.cancel, &mut |event| {
                if let Event::Note(note) = event {
                    self.events.handle_event(&DraftEvent::TrialNote(&note));
                }
            });
        self.store.clear_scratch();
        let outcome = outcome?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SolverFault::Interrupted.into());
        }
        if let Some(capped) = outcome.capped {
            return Err(SolverFault::Capped { task: task.to_owned(), capped }.into());
        }
        match self.store.record(id)? {
            Some(record) if record.outcome.counts() => Ok(record),
            record => {
                let reason = record.and_then(|record| record.reason).unwrap_or_default();
                Err(SolverFault::NoResult { task: task.to_owned(), reason }.into())
            }
        }
    }

    /// What is left of the draft's cap.
    fn left_usd(&self) -> Result<Option<f64>, DraftError> {
        let Some(cap) = self.max_usd else { return Ok(None) };
        let mut spent = self.author.sum_cost().unwrap_or(0.0);
        // All attempts that were ever made, of tasks that were edited since as well.
        let folders = std::fs::read_dir(self.store.root().join("trials")).into_iter().flatten().flatten();
        let trials =
            folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        for trial in trials {
            let id = trial.file_name().to_string_lossy().parse::<TrialId>();
            let Ok(id) = id else { continue };
            spent += self.store.record(&id)?.and_then(|record| record.cost_usd).unwrap_or(0.0);
        }
        Ok(Some((cap - spent).max(0.0)))
    }
}
