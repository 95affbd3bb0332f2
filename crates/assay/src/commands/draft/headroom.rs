//! `assay draft headroom`: tasks that pass every time without the skill are removed.

use std::collections::BTreeMap;

use assay_draft::experiment::PILOT_REPETITIONS;
use assay_report::{clean, counted, percent, shell_word};
use assay_store::{ConditionRole, Outcome, RunOutcomes};
use assay_task::Task;
use serde_json::json;

use super::folder::{DraftFolder, Headroom, PilotResult};
use crate::args::draft::HeadroomArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Fewest tasks of an experiment that can have a verdict (docs/STATISTICS.md).
pub(super) const FEWEST_TASKS: usize = 5;

pub(super) fn run(args: &HeadroomArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let folder = DraftFolder { root: args.dir.clone() };
    folder.state()?;
    let _lock = if args.dry_run { None } else { Some(folder.lock()?) };
    let store = machine::read_store(&settings.store)?;
    let run = store.run(&args.run)?;
    if let Some(cell) = run.cells.iter().find(|cell| run.role_of(&cell.condition) != ConditionRole::None) {
        return Err(Failure::bad_input(format!(
            "{} has trials with the condition {}, and only the baseline decides which tasks stay",
            run.run, cell.condition
        ))
        .hint(format!("run {} first", folder.path("pilot.toml").display())));
    }
    // The outcome that plan, verdict and report read.
    let outcomes = RunOutcomes::read(&store, &run)?;
    let mut results = BTreeMap::new();
    let mut unmeasured = Vec::new();
    for name in folder.tasks() {
        let loaded = Task::load(&folder.task(&name)).ok();
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
            unmeasured.push(name.clone());
        } else {
            result.removed = result.trials == full;
            results.insert(name, result);
        }
    }
    let removed: Vec<&String> =
        results.iter().filter(|(_, result)| result.removed).map(|(name, _)| name).collect();
    let removed_share = (!results.is_empty()).then(|| removed.len() as f64 / results.len() as f64);
    if !args.dry_run {
        for name in &removed {
            folder.move_task(name, "too-easy")?;
        }
        let headroom = Headroom {
            schema: "assay.draft-headroom/1".to_owned(),
            run: run.run.clone(),
            tasks: results.clone(),
            removed_share,
        };
        folder.write("headroom.json", &headroom)?;
    }
    let remaining = results.values().filter(|result| !result.removed).count();
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.draft-headroom/1", "run": run.run, "tasks": results, "removed_share": removed_share,
            "unmeasured": unmeasured, "remaining": remaining, "dry_run": args.dry_run,
        }))?;
    } else {
        ui.out(&render(&results, &unmeasured))?;
    }
    let is_enough = remaining >= FEWEST_TASKS;
    if !is_enough {
        ui.note(&too_few(&folder, &format!("{remaining} with headroom")));
    }
    Ok(if unmeasured.is_empty() && is_enough { Status::Done } else { Status::DidNotHold })
}

/// What to do about tasks that are too few for a verdict.
pub(super) fn too_few(folder: &DraftFolder, tasks: &str) -> String {
    format!(
        "too few tasks: {tasks}, and a verdict needs at least {FEWEST_TASKS}; add ideas to {}, then `assay draft run SKILL \
         --resume --out {}` drafts them",
        folder.path("ideas.json").display(),
        shell_word(&folder.root.display().to_string())
    )
}

/// The mean outcome value, where it is not the share of trials that passed.
fn partial(result: &PilotResult) -> String {
    let share = result.passed as f64 / result.trials.max(1) as f64;
    let score = result.score.filter(|score| (score - share).abs() > 1e-9);
    score.map_or_else(String::new, |score| format!(", score {}", percent(score)))
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
