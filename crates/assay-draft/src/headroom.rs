//! Tasks that pass every time without the skill are removed.

use std::collections::{BTreeMap, BTreeSet};

use assay_diagnostic::{clean, counted};
use assay_store::{ConditionRole, Outcome, RunFolder, RunOutcomes, Store};
use assay_task::Task;
use serde::Serialize;

use crate::error::{DraftError, InputFault};
use crate::experiment::{PILOT_REPETITIONS, add_selected_by};
use crate::folder::{DraftFolder, HEADROOM_FILE, HeadroomRecord, PilotResult};

/// Fewest tasks of an experiment that can have a verdict (docs/STATISTICS.md).
pub const FEWEST_TASKS: usize = 5;

/// The result of a pilot, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct PilotReport {
    schema: &'static str,
    run: String,
    tasks: BTreeMap<String, PilotResult>,
    removed_share: Option<f64>,
    /// Tasks without enough trials.
    pub unmeasured: Vec<String>,
    /// Tasks with headroom.
    pub remaining: usize,
    dry_run: bool,
}

impl PilotReport {
    /// The report for people.
    pub fn to_text(&self) -> String {
        render(&self.tasks, &self.unmeasured)
    }
}

/// Removes the tasks of a draft that passed every trial of a pilot. With `dry_run`, nothing is moved.
///
/// # Errors
/// The folder is no draft or is in use, the run is no pilot, or the store cannot be read.
pub fn remove_easy_tasks(
    folder: &DraftFolder,
    store: &Store,
    run: &str,
    dry_run: bool,
) -> Result<PilotReport, DraftError> {
    let _lock = if dry_run { None } else { Some(folder.lock_folder()?) };
    let run = store.run(run)?;
    if let Some(cell) = run.cells.iter().find(|cell| run.role_of(&cell.condition) != ConditionRole::None) {
        let (condition, pilot) = (cell.condition.clone(), folder.path_of("pilot.toml"));
        return Err(InputFault::NotPilot { run: run.run, condition, pilot }.into());
    }
    let (results, unmeasured) = measure_headroom(folder, store, &run)?;
    let removed: Vec<&String> =
        results.iter().filter(|(_, result)| result.removed).map(|(name, _)| name).collect();
    let removed_share = (!results.is_empty()).then(|| removed.len() as f64 / results.len() as f64);
    if !dry_run {
        for name in &removed {
            folder.move_task(name, "too-easy")?;
        }
        let agents = run.agents.iter();
        let models: BTreeSet<String> = agents.filter_map(|agent| agent.label.model.clone()).collect();
        if !results.is_empty() {
            name_estimand(folder, &models)?;
        }
        let headroom = HeadroomRecord {
            schema: SCHEMA.to_owned(),
            run: run.run.clone(),
            models,
            tasks: results.clone(),
            removed_share,
        };
        folder.write_json(HEADROOM_FILE, &headroom)?;
    }
    Ok(PilotReport {
        schema: SCHEMA,
        run: run.run,
        remaining: results.len() - removed.len(),
        tasks: results,
        removed_share,
        unmeasured,
        dry_run,
    })
}

const SCHEMA: &str = "assay.draft-headroom/1";

/// Names the models of a pilot in the experiment: its verdict is then about tasks that they fail without the skill.
fn name_estimand(folder: &DraftFolder, models: &BTreeSet<String>) -> Result<(), DraftError> {
    let path = folder.path_of("experiment.toml");
    // The experiment of a draft that has none yet is written with them.
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
    match add_selected_by(&text, models) {
        Some(changed) => folder.write_text("experiment.toml", &changed),
        None => Ok(()),
    }
}

/// The results of the tasks as they are now, and the names of those without enough trials.
fn measure_headroom(
    folder: &DraftFolder,
    store: &Store,
    run: &RunFolder,
) -> Result<(BTreeMap<String, PilotResult>, Vec<String>), DraftError> {
    // The outcome that plan, verdict and report read.
    let outcomes = RunOutcomes::read(store, run)?;
    let mut results = BTreeMap::new();
    let mut unmeasured = Vec::new();
    for name in folder.list_tasks() {
        let loaded = Task::load(&folder.task_folder(&name)).ok();
        let mut planned = run.tasks.iter().filter(|planned| planned.name == name);
        let is_same =
            planned.any(|planned| loaded.as_ref().is_some_and(|task| task.has_digest(&planned.digest)));
        let mut result = PilotResult { trials: 0, passed: 0, score: None, removed: false };
        let (mut sum, mut full) = (0.0, 0);
        for cell in run.cells.iter().filter(|cell| is_same && cell.task == name) {
            let Some(record) = store.record(&cell.trial)?.filter(|record| record.outcome.counts()) else {
                continue;
            };
            result.trials += 1;
            result.passed += usize::from(record.outcome == Outcome::Passed);
            let value = outcomes.value(&record).unwrap_or_default();
            sum += value;
            full += usize::from(value >= 1.0);
        }
        result.score = (result.trials > 0).then(|| sum / result.trials as f64);
        if result.trials < PILOT_REPETITIONS as usize && result.trials == full {
            unmeasured.push(name);
        } else {
            result.removed = result.trials == full;
            results.insert(name, result);
        }
    }
    Ok((results, unmeasured))
}

/// The mean outcome value, where it is not the share of trials that passed.
fn partial(result: &PilotResult) -> String {
    let share = result.passed as f64 / result.trials.max(1) as f64;
    let score = result.score.filter(|score| (score - share).abs() > 1e-9);
    score.map_or_else(String::new, |score| format!(", score {:.0}%", 100.0 * score))
}

fn render(results: &BTreeMap<String, PilotResult>, unmeasured: &[String]) -> String {
    let mut text = String::new();
    for (name, result) in results {
        let fate = if result.removed { "removed, too easy" } else { "stays" };
        text.push_str(&format!(
            "{}: passed {} of {}{}, {fate}\n",
            clean(name),
            result.passed,
            counted(result.trials, "trial", "trials"),
            partial(result)
        ));
    }
    for name in unmeasured {
        text.push_str(&format!(
            "{}: not measured: fewer than {PILOT_REPETITIONS} trials of the task as it is now, all passed\n",
            clean(name)
        ));
    }
    let removed = results.values().filter(|result| result.removed).count();
    if !results.is_empty() {
        text.push_str(&format!(
            "{removed} of {} removed ({:.0}%)\n",
            counted(results.len(), "task", "tasks"),
            100.0 * removed as f64 / results.len() as f64
        ));
    }
    text
}
