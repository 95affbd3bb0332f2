//! Whether another model than the author's solves the tasks of a draft.
//!
//! The rule is the same with and without the skill: choosing tasks that are solved with the skill would bias the verdict.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_model::Price;
use assay_store::{ConditionRole, Outcome, Store, TrialId};
use assay_trial::Experiment;
use serde::{Deserialize, Serialize};

use crate::author::DraftAuthor;
use crate::error::{DraftError, SolverFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::experiment::{AttemptAgent, SOLVER_REPETITIONS, solver};
use crate::folder::{DraftFolder, RejectedTask, folder_digest};
use crate::host::DraftHost;
use crate::review::Fault;
use crate::trials::TrialRunner;

/// The file with the results.
const FILE: &str = "solvers.json";

/// The experiment of the attempts.
const EXPERIMENT: &str = "solver.toml";

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

impl SolvedTask {
    /// How it was solved, for people; `None` if it was not.
    pub(crate) fn describe(&self) -> Option<&'static str> {
        if !self.solved {
            return None;
        }
        // Conditions alternate, and attempts end with the first pass.
        let is_bare = self.attempts.last().is_none_or(|last| last.condition == ConditionRole::None.name());
        Some(if is_bare {
            "solved by another model without the skill"
        } else {
            "solved by another model with the skill and not without"
        })
    }
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
    let Some(model) = model else { return Ok(()) };
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
    if folder.path_of(EXPERIMENT).symlink_metadata().is_err() {
        let agent = AttemptAgent {
            model: &model,
            base_url: url,
            api_key_env: options.api_key_env,
            price: options.price,
        };
        folder.write_text(EXPERIMENT, &solver(&agent))?;
    }
    check_agents(&folder.path_of(EXPERIMENT), &model)?;
    let store = Store::open(&folder.path_of("solver/store"))?;
    let max_usd = options.max_usd;
    let runner = TrialRunner { file: EXPERIMENT, max_usd, folder, author, cancel, host, store, events };
    for task in open {
        let digest = folder_digest(&folder.task_folder(&task));
        let (solved, output) = attempt_task(&runner, &task, digest)?;
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

/// Refuses an experiment whose agents have another model.
pub(crate) fn check_agents(path: &Path, model: &str) -> Result<(), DraftError> {
    let planned = Experiment::load(path)?;
    if planned.agents.iter().any(|agent| agent.model.as_deref() != Some(model)) {
        return Err(SolverFault::OtherModel { path: path.to_owned(), model: model.to_owned() }.into());
    }
    Ok(())
}

/// Whether a model attempts the tasks of a draft.
pub(crate) fn has_solver(options: &SolverOptions<'_>, folder: &DraftFolder) -> Result<bool, DraftError> {
    Ok(options.model.is_some() || read_solvers(folder)?.is_some())
}

fn reject(folder: &DraftFolder, task: &str, model: &str, output: String) -> Result<(), DraftError> {
    let attempts = 2 * SOLVER_REPETITIONS;
    let reason = format!("unsolved: {model} failed {attempts} attempts, half of them with the skill");
    let repairs = folder.read_proposal(task)?.map_or(0, |proposal| proposal.repairs);
    let faults = vec![Fault::new("unsolved", output)];
    folder.reject_task(task, RejectedTask { reason, faults, repairs })
}

/// Attempts a task alternately without and with the skill, up to the first pass. Returns what the verifier printed last.
fn attempt_task(
    runner: &TrialRunner<'_>,
    task: &str,
    digest: String,
) -> Result<(SolvedTask, String), DraftError> {
    let mut plan = runner.plan_task(task)?;
    let (cells, experiment) = (&mut plan.cells, &plan.experiment);
    let is_bare = |condition: &str| experiment.role_of(condition) == ConditionRole::None;
    cells.sort_by_key(|cell| (cell.repetition, !is_bare(&cell.condition)));
    let cells = plan.cells.clone();
    let (mut attempts, mut output) = (Vec::new(), String::new());
    for cell in cells {
        let what = format!("attempt {} of the solver, {}", attempts.len() + 1, cell.condition);
        runner.events.handle_event(&DraftEvent::Working { task, what: &what });
        let record = runner.run_cell(&mut plan, &cell, task)?;
        attempts.push(SolverAttempt {
            trial: record.trial.clone(),
            condition: cell.condition,
            outcome: record.outcome,
        });
        if record.outcome == Outcome::Passed {
            return Ok((SolvedTask { digest, solved: true, attempts }, output));
        }
        output = runner.read_output(&record);
    }
    Ok((SolvedTask { digest, solved: false, attempts }, output))
}
