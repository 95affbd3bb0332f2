//! Whether another model than the author's solves the tasks of a draft.
//!
//! The rule is the same with and without the skill: choosing tasks that are solved with the skill would bias the verdict.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_draft::author::DraftAuthor;
use assay_draft::experiment::{SOLVER_REPETITIONS, solver};
use assay_draft::review::Fault;
use assay_store::{ConditionRole, Outcome, Record, Store, TrialId};
use assay_trial::{Event, Experiment, MachineContext, Plan, RunOptions};
use serde::{Deserialize, Serialize};

use super::folder::{DraftFolder, Rejected, folder_digest};
use crate::args::draft::DraftRunArgs;
use crate::asking::price_of;
use crate::config::Settings;
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// The file with the results.
const FILE: &str = "solvers.json";

/// Most bytes of the verifier's output that are kept of a task that nobody solved.
const OUTPUT_CHARS: usize = 2_000;

/// `solvers.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Solvers {
    schema: String,
    /// The model that attempted the tasks, as `provider:model`.
    pub(super) model: String,
    pub(super) tasks: BTreeMap<String, Solved>,
}

/// The attempts on a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the key of the file")]
pub(super) struct Solved {
    /// The digest of its folder.
    pub(super) digest: String,
    pub(super) solved: bool,
    pub(super) attempts: Vec<Attempt>,
}

/// An attempt on a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Attempt {
    trial: TrialId,
    condition: String,
    outcome: Outcome,
}

/// The results; `None` if the stage was not executed.
pub(super) fn results(folder: &DraftFolder) -> Result<Option<Solvers>, Failure> {
    folder.read(FILE)
}

/// Refuses the author's own model.
pub(super) fn check_model(solver: Option<&str>, author: &str) -> Result<(), Failure> {
    if solver == Some(author) {
        return Err(Failure::bad_input(format!("{author} writes the tasks, so it cannot be their solver"))
            .hint("--solver names another model"));
    }
    Ok(())
}

/// Has the solver attempt the tasks, and rejects those that it does not solve. What was attempted is not attempted again.
pub(super) fn run(
    args: &DraftRunArgs,
    folder: &DraftFolder,
    author: &DraftAuthor,
    cancel: &Arc<AtomicBool>,
    settings: &Settings,
    ui: &Ui,
) -> Result<(), Failure> {
    let stored = results(folder)?;
    let model = args.solver.clone().or_else(|| stored.as_ref().map(|stored| stored.model.clone()));
    let Some(model) = model else {
        ui.note("whether another model solves the tasks has not been checked: --solver names one");
        return Ok(());
    };
    check_model(Some(&model), author.name())?;
    let mut solvers = stored.filter(|stored| stored.model == model).unwrap_or_default();
    "assay.draft-solvers/1".clone_into(&mut solvers.schema);
    solvers.model.clone_from(&model);
    // A draft that was killed may have recorded a task as unsolved and not moved it.
    for (task, solved) in solvers.tasks.iter().filter(|(_, solved)| !solved.solved) {
        if folder.task(task).is_dir() && folder_digest(&folder.task(task)) == solved.digest {
            reject(folder, task, &model, String::new())?;
        }
    }
    let open: Vec<String> = folder
        .tasks()
        .into_iter()
        .filter(|task| {
            let digest = folder_digest(&folder.task(task));
            solvers.tasks.get(task).is_none_or(|solved| solved.digest != digest)
        })
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let price = price_of(&args.solver_price)?;
    let url = args.solver_base_url.as_deref();
    if args.flags.access.max_usd.is_some() && price.is_none() && machine::is_paid(&model, url, price) {
        return Err(
            Failure::bad_input(format!("--max-usd needs the price of {model}")).hint("--solver-price IN,OUT")
        );
    }
    if args.flags.access.max_usd.is_none() && !args.flags.no_cap && machine::is_paid(&model, url, price) {
        return Err(Failure::bad_input(format!("{model} is a paid model, and this draft has no cap"))
            .hint("--max-usd USD with --solver-price, or --no-cap"));
    }
    if folder.path("solver.toml").symlink_metadata().is_err() {
        let key = args.solver_api_key_env.as_deref();
        folder.write_text("solver.toml", &solver(&model, url, key, price.map(|_| &args.solver_price[..])))?;
    }
    let planned = Experiment::load(&folder.path("solver.toml"))?;
    if planned.agents.iter().any(|agent| agent.model.as_deref() != Some(model.as_str())) {
        let path = folder.path("solver.toml");
        return Err(Failure::bad_input(format!("{} has another model than {model}", path.display()))
            .hint("remove the file, which is then written again, or name its model with --solver"));
    }
    let store = Store::open(&folder.path("solver/store"))?;
    let mut stage = SolverStage { args, folder, author, cancel, settings, store, ui };
    for task in open {
        let digest = folder_digest(&folder.task(&task));
        let (solved, output) = stage.attempt(&task, digest)?;
        let is_solved = solved.solved;
        solvers.tasks.insert(task.clone(), solved);
        folder.write(FILE, &solvers)?;
        if is_solved {
            ui.detail(&format!("{task}: solved by {model}"));
            continue;
        }
        reject(folder, &task, &model, output)?;
    }
    Ok(())
}

fn reject(folder: &DraftFolder, task: &str, model: &str, output: String) -> Result<(), Failure> {
    let attempts = 2 * SOLVER_REPETITIONS;
    let reason = format!("unsolved: {model} failed {attempts} attempts, half of them with the skill");
    let repairs = folder.proposal(task)?.map_or(0, |proposal| proposal.repairs);
    let faults = vec![Fault::new("unsolved", output)];
    folder.reject(task, Rejected { reason, faults, repairs })
}

struct SolverStage<'a> {
    args: &'a DraftRunArgs,
    folder: &'a DraftFolder,
    author: &'a DraftAuthor,
    cancel: &'a Arc<AtomicBool>,
    settings: &'a Settings,
    store: Store,
    ui: &'a Ui,
}

impl SolverStage<'_> {
    /// Attempts a task alternately without and with the skill, up to the first pass. Returns what the verifier printed last.
    fn attempt(&mut self, task: &str, digest: String) -> Result<(Solved, String), Failure> {
        let mut experiment = Experiment::load(&self.folder.path("solver.toml"))?;
        experiment.suite = vec![format!("tasks/{task}")];
        let sandboxes = machine::sandboxes_for(self.settings)?;
        let permissions = self.args.permissions.permissions();
        let here = MachineContext { permissions, ..machine::context(&sandboxes, None) };
        let mut plan = Plan::build(experiment, &self.store, &here)?;
        let (cells, experiment) = (&mut plan.cells, &plan.experiment);
        let is_bare = |condition: &str| experiment.role_of(condition) == ConditionRole::None;
        cells.sort_by_key(|cell| (cell.repetition, !is_bare(&cell.condition)));
        if plan.cells.is_empty() {
            let reasons: Vec<&str> = plan.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
            return Err(Failure::infrastructure(format!(
                "the solver cannot attempt the task {task}: {}",
                reasons.join("; ")
            )));
        }
        let cells = plan.cells.clone();
        let (mut attempts, mut output) = (Vec::new(), String::new());
        for cell in cells {
            plan.cells = vec![cell.clone()];
            let record = self.trial(&plan, &cell.trial, task)?;
            attempts.push(Attempt {
                trial: record.trial.clone(),
                condition: cell.condition,
                outcome: record.outcome,
            });
            if record.outcome == Outcome::Passed {
                return Ok((Solved { digest, solved: true, attempts }, output));
            }
            let attempt = self.store.trial_folder(&record.trial).join(format!("attempts/{}", record.attempt));
            let text = std::fs::read(attempt.join("verifier/test-stdout.txt")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let skip = text.chars().count().saturating_sub(OUTPUT_CHARS);
            output = text.chars().skip(skip).collect();
        }
        Ok((Solved { digest, solved: false, attempts }, output))
    }

    /// Executes a trial, or reads its record.
    fn trial(&mut self, plan: &Plan, id: &TrialId, task: &str) -> Result<Record, Failure> {
        let sandboxes = machine::sandboxes_for(self.settings)?;
        let here = machine::context(&sandboxes, None);
        let run = plan.begin_run(&self.store)?.run;
        let resolver = plan.resolver(&self.store, &here);
        let options = RunOptions { max_usd: self.left_usd()?, ..RunOptions::new(1) };
        let outcome =
            assay_trial::run(plan, &run, &self.store, &resolver, &options, self.cancel, &mut |event| {
                if let Event::Note(note) = event {
                    self.ui.note(&note);
                }
            });
        self.store.clear_scratch();
        let outcome = outcome?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Failure::infrastructure("interrupted".to_owned()));
        }
        if let Some(capped) = outcome.capped {
            return Err(Failure::bad_input(format!("the solver stopped at the task {task}: {capped}"))
                .hint("run the command again with --resume and a higher --max-usd"));
        }
        match self.store.record(id)? {
            Some(record) if record.outcome.counts() => Ok(record),
            record => {
                let reason = record.and_then(|record| record.reason).unwrap_or_default();
                Err(Failure::infrastructure(format!("the solver cannot attempt the task {task}: {reason}"))
                    .hint("correct solver.toml in the draft or the model's options, then --resume"))
            }
        }
    }

    /// What is left of the draft's cap.
    fn left_usd(&self) -> Result<Option<f64>, Failure> {
        let Some(cap) = self.args.flags.access.max_usd else { return Ok(None) };
        let mut spent = self.author.cap().cost_usd().unwrap_or(0.0);
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
