//! Tasks that still fail under a condition.

use assay_analysis::explore::{FailingCondition, FailingTask};
use assay_analysis::{Report, TrialId};

use crate::cells::{NONE, in_cell};
use crate::doc::{Block, Cell, Column, Grid, Level, Section};
use crate::labels::Labels;
use crate::links::Target;
use crate::text::{clean, counted};

/// Tasks that still fail under a condition; those that fail under controls are folded away.
pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let tasks = &report.exploration.failing_tasks;
    let text = |grid: Option<&Grid>, all: usize| {
        let shown = grid.map_or(0, |grid| grid.rows.len());
        if shown == all {
            return String::new();
        }
        format!(" Only the first {shown} of {all} are shown; the report as JSON (`--format json`) lists all.")
    };
    let (grid, all) = failing_grid(tasks, false, labels);
    let (controls, of_controls) = failing_grid(tasks, true, labels);
    let mut blocks = Vec::new();
    if let Some(grid) = grid {
        blocks.push(Block::Text(format!(
            "Valid trials that failed, by task and condition. The checks are those that fail most under the first condition.{}",
            text(Some(&grid), all)
        )));
        blocks.push(Block::Grid(grid));
    }
    if let Some(mut grid) = controls {
        let tasks = counted(of_controls, "task fails", "tasks fail");
        blocks.push(Block::Text(format!(
            "{tasks} under controls, which should not help.{}",
            text(Some(&grid), of_controls)
        )));
        "Failures under controls".clone_into(&mut grid.caption);
        blocks.push(Block::Grid(grid.into_detail().into_folded()));
    }
    Section { title: "Remaining failures", level: Level::Tests, blocks }
}

/// The most checks in a table; the JSON has all.
const TESTS: usize = 40;

/// Trials that a row names; the JSON has all.
const TRIALS: usize = 3;

/// Checks that a row names; the JSON has all.
const CHECKS: usize = 3;

/// The tasks that fail under treatments, or under controls, and the number of all: a row for each, with the trials that
/// failed by condition.
fn failing_grid(tasks: &[FailingTask], controls: bool, labels: &Labels) -> (Option<Grid>, usize) {
    let chosen = |task: &FailingTask| -> Vec<FailingCondition> {
        task.conditions.iter().filter(|condition| condition.control == controls).cloned().collect()
    };
    let rows: Vec<(&FailingTask, Vec<FailingCondition>)> = tasks
        .iter()
        .map(|task| (task, chosen(task)))
        .filter(|(_, conditions)| !conditions.is_empty())
        .collect();
    let shown = &rows[..rows.len().min(TESTS)];
    let mut names: Vec<&str> = Vec::new();
    for condition in shown.iter().flat_map(|(_, conditions)| conditions) {
        if !names.contains(&condition.condition.as_str()) {
            names.push(&condition.condition);
        }
    }
    let agent: &[&str] = if labels.several() { &["agent"] } else { &[] };
    let mut grid = Grid::new("", &[agent, &["task", "checks", "failed trials"]].concat(), &[]);
    grid.columns.extend(names.iter().map(|name| Column::new(Cell::Name(clean(name)), true)));
    for (task, conditions) in shown {
        let Some(first) = conditions.first() else { continue };
        let mut cells: Vec<Cell> =
            labels.group(&task.who).map(|who| Cell::Name(clean(&who))).into_iter().collect();
        cells.extend([Cell::Name(clean(&task.task)), checks(first), trials(first).into()]);
        cells.extend(names.iter().map(|name| {
            let found = conditions.iter().find(|condition| condition.condition == *name);
            found.map_or_else(
                || NONE.into(),
                |found| {
                    let target = in_cell(&task.task, &task.who, name);
                    Cell::from(format!("{}/{}", found.failed, found.trials)).link(target)
                },
            )
        }));
        grid.rows.push(cells);
    }
    ((!grid.rows.is_empty()).then_some(grid), rows.len())
}

/// The checks that fail most, with a link to the first trial in which they do.
fn checks(condition: &FailingCondition) -> Cell {
    let named: Vec<String> = condition.checks.iter().take(CHECKS).map(|check| clean(check)).collect();
    let text = match condition.checks.len() {
        0 => Cell::from("none reported"),
        all if all <= CHECKS => Cell::Name(named.join(", ")),
        all => Cell::Name(format!("{all} checks: {}, …", named.join(", "))),
    };
    match condition.failed_trials.first() {
        Some(trial) => {
            let check = condition.checks.first().cloned();
            text.link(Target::Trial { trial: trial.clone(), check })
        }
        None => text,
    }
}

/// The first trials that failed, and how many more.
fn trials(condition: &FailingCondition) -> String {
    let failed = &condition.failed_trials;
    let mut trials: Vec<&str> = failed.iter().take(TRIALS).map(TrialId::short).collect();
    let rest = format!("and {} more", failed.len() - trials.len());
    if failed.len() > trials.len() {
        trials.push(&rest);
    }
    trials.join(" ")
}
