//! Results by task.

use assay_analysis::explore::{TopTask, TopTasks};
use assay_analysis::{Report, TaskRow};

use crate::cells::{in_cell, or_none, rate_name};
use crate::doc::{Block, Cell, Column, Grid, Level, Section};
use crate::labels::Labels;
use crate::plot;
use crate::sentences::groups;
use crate::text::{clean, counted, percent, points};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        plot::extremes(&report.exploration.gains, &report.exploration.losses, labels)
            .map(Block::Plot)
            .into_iter()
            .collect();
    blocks.extend(
        extremes_grid(&report.exploration.gains, &report.exploration.losses, labels)
            .map(|grid| Block::Grid(grid.into_detail().into_folded())),
    );
    blocks.extend(task_grids(&report.tasks, labels).into_iter().map(Block::Grid));
    if !blocks.is_empty() {
        blocks.insert(
            0,
            Block::Text("For exploration only: a single task has too few trials for a verdict.".to_owned()),
        );
    }
    Section { title: "Results by task", level: Level::Summary, blocks }
}

/// One table for each agent in each sandbox.
pub(super) fn task_grids(rows: &[TaskRow], labels: &Labels) -> Vec<Grid> {
    let key = |row: &TaskRow| labels.group(&row.who).unwrap_or_default();
    let fractional = labels.fractional();
    groups(rows, key).into_iter().map(|(who, rows)| task_table(&who, &rows, fractional)).collect()
}

fn task_table(who: &str, rows: &[&TaskRow], fractional: bool) -> Grid {
    // A task need not have every condition.
    let mut conditions: Vec<&str> = Vec::new();
    for arm in rows.iter().flat_map(|row| &row.arms) {
        if !conditions.contains(&arm.condition.as_str()) {
            conditions.push(&arm.condition);
        }
    }
    let mut caption = if fractional {
        "Mean score, trials passed and, in brackets, the lift in pp".to_owned()
    } else {
        "Trials passed and, in brackets, the lift in pp".to_owned()
    };
    if !who.is_empty() {
        caption.replace_range(..1, &caption[..1].to_lowercase());
        caption = format!("{}: {caption}", clean(who));
    }
    let mut grid = Grid::new(&caption, &["task"], &[]);
    let column = |condition: &&str| Column::new(Cell::Name(clean(condition)), true);
    grid.columns.extend(conditions.iter().map(column));
    for row in rows {
        let mut cells = vec![Cell::Name(clean(&row.task))];
        for condition in &conditions {
            let arm = row.arms.iter().find(|arm| arm.condition == *condition);
            let text = or_none(arm, |arm| {
                let lift = arm.lift.map_or(String::new(), |lift| format!(" ({})", points(lift)));
                let lost = match arm.infrastructure {
                    0 => String::new(),
                    errors => format!(", {}", counted(errors, "infra error", "infra errors")),
                };
                let score = arm.score.filter(|_| fractional);
                let score = score.map_or(String::new(), |score| format!("{}, ", percent(score)));
                format!("{score}{}/{}{lift}{lost}", arm.passed, arm.trials)
            });
            let target = in_cell(&row.task, &row.who, condition);
            cells.push(match arm.map(|arm| (text.clone().link(target), arm.score)) {
                Some((cell, Some(score))) => Cell::Shaded(Box::new(cell), score),
                Some((cell, None)) => cell,
                None => text,
            });
        }
        grid.rows.push(cells);
    }
    grid
}

fn extremes_grid(gains: &[TopTasks], losses: &[TopTasks], labels: &Labels) -> Option<Grid> {
    let baseline = if labels.fractional() { "baseline score" } else { "baseline pass rate" };
    let figures = [baseline, rate_name(labels), "lift (pp)", "shrunk lift (pp)"];
    let mut grid =
        labels.grid("Largest gains and losses (at most 5 of each per condition)", &["task"], &figures);
    for (gains, losses) in gains.iter().zip(losses) {
        let tasks: Vec<&TopTask> = gains.tasks.iter().chain(&losses.tasks).collect();
        for task in tasks {
            let mut row = labels.cells(&gains.who, &gains.condition);
            row.extend([
                Cell::Name(clean(&task.task)),
                percent(task.baseline_score).into(),
                percent(task.score).into(),
                points(task.lift).into(),
                or_none(task.shrunk_lift, points),
            ]);
            grid.rows.push(row);
        }
    }
    (!grid.rows.is_empty()).then_some(grid)
}
