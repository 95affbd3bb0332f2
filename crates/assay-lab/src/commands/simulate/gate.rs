//! The grid of a gate's rule, with what it promises.

use assay_report::counted;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use crate::simulate::gate::{
    GateCell, GateFigures, MOST_FALSE, NOMINAL, ReuseCell, broken_tasks, gate_grid, reuse_grid, wide_margins,
};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// The least lineages of a cell with many skills.
const FEWEST: u64 = 200;

#[derive(Debug, Serialize)]
struct Row {
    truth: String,
    edits: usize,
    skills: usize,
    tasks: usize,
    repetitions: usize,
    margin: Option<f64>,
    power: f64,
    false_pass: Option<f64>,
    false_merge: Option<f64>,
    equal_pass: Option<f64>,
    loss_p95: Option<f64>,
    /// What is not as promised.
    misses: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ReuseRow {
    tasks: usize,
    repetitions: usize,
    sessions: usize,
    sd: f64,
    false_pass: f64,
}

const HEADS: [&str; 10] = [
    "truth",
    "edits",
    "skills",
    "tasks",
    "repetitions",
    "margin",
    "false pass (%)",
    "false merge (%)",
    "equal pass (%)",
    "loss, p95 (pp)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let [rows, wide, broken] =
        [gate_grid(), wide_margins(), broken_tasks()].map(|cells| simulate(&cells, args));
    let reuse_cells = reuse_grid();
    let reused =
        simulate_cells(&reuse_cells, args, |cell: &ReuseCell| cell.false_passes(args.suites, args.seed));
    let reused: Vec<ReuseRow> = reuse_cells
        .iter()
        .zip(reused)
        .map(|(cell, false_pass)| ReuseRow {
            tasks: cell.tasks,
            repetitions: cell.repetitions,
            sessions: cell.sessions,
            sd: cell.sd,
            false_pass,
        })
        .collect();
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-gate/1", "suites": args.suites, "seed": args.seed,
            "cells": rows, "wide_margins": wide, "broken_tasks": broken, "reuse_baseline": reused,
        }))?;
        return Ok(Status::Done);
    }
    let missed: Vec<&String> = rows.iter().chain(&wide).flat_map(|row| &row.misses).collect();
    let suites = counted(args.suites, "simulated lineage", "simulated lineages");
    let list: String = missed.iter().map(|miss| format!("- {miss}\n")).collect();
    ui.out(&format!(
        "{}
The worst figures of each size:

{}
{suites} per row (a pull request of many skills counts for several), seed {}. Promised: at most 5% false passes per lineage and false merges per merge; at least 80% of equal versions under the margin of `init ci`, and 50% under the default; a loss over 20 merges of at most 10 pp in 95% of lineages. {}
{list}
Small suites, under the margin that they support; a loss over 20 merges of at most the margin in 95% of lineages:

{}
Losses of the margin on a few tasks, which never pass any more; nothing is promised:

{}
Reused baselines: false passes at a nominal {:.1}%, at most {:.1}% and two standard errors:

{}",
        table(&rows),
        sizes_table(&rows),
        args.seed,
        if missed.is_empty() { "All rows are as promised." } else { "Not as promised:" },
        table(&wide),
        table(&broken),
        100.0 * NOMINAL,
        100.0 * MOST_FALSE,
        reuse_table(&reused),
    ))?;
    Ok(Status::Done)
}

fn simulate(cells: &[GateCell], args: &SimulateArgs) -> Vec<Row> {
    let suites = |cell: &GateCell| (args.suites / cell.skills.max(1) as u64).max(FEWEST.min(args.suites));
    let figures = simulate_cells(cells, args, |cell: &GateCell| cell.simulate(suites(cell), args.seed));
    cells.iter().zip(&figures).map(|(cell, found)| Row::new(cell, found, suites(cell))).collect()
}

impl Row {
    fn new(cell: &GateCell, found: &GateFigures, suites: u64) -> Self {
        let misses = cell.misses(found, suites);
        let misses = misses.iter().map(|miss| {
            format!(
                "{} {} × {}: {} of {:.1}% where {:.1}% is the limit",
                cell.truth.name(),
                cell.tasks,
                cell.repetitions,
                miss.what,
                100.0 * miss.found,
                100.0 * miss.limit
            )
        });
        Self {
            truth: cell.truth.name(),
            edits: cell.edits,
            skills: cell.skills,
            tasks: cell.tasks,
            repetitions: cell.repetitions,
            margin: cell.margin,
            power: cell.power,
            false_pass: found.false_pass,
            false_merge: found.false_merge,
            equal_pass: found.equal_pass,
            loss_p95: found.loss_p95,
            misses: misses.collect(),
        }
    }

    fn texts(&self) -> [String; 10] {
        let share =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
        [
            self.truth.clone(),
            self.edits.to_string(),
            self.skills.to_string(),
            self.tasks.to_string(),
            self.repetitions.to_string(),
            self.margin.map_or("-".to_owned(), |margin| format!("{margin:.2}")),
            share(self.false_pass),
            share(self.false_merge),
            share(self.equal_pass),
            share(self.loss_p95),
        ]
    }
}

fn table(rows: &[Row]) -> String {
    markdown(HEADS, &rows.iter().map(Row::texts).collect::<Vec<_>>())
}

/// The worst figures of each size.
fn sizes_table(rows: &[Row]) -> String {
    let mut sizes: Vec<(usize, usize)> = rows.iter().map(|row| (row.tasks, row.repetitions)).collect();
    sizes.dedup();
    let lines: Vec<[String; 8]> = sizes
        .into_iter()
        .map(|(tasks, repetitions)| {
            let of = |is: fn(&Row) -> bool, figure: fn(&Row) -> Option<f64>| -> Vec<f64> {
                let own = rows.iter().filter(|row| (row.tasks, row.repetitions) == (tasks, repetitions));
                own.filter(|row| is(row)).filter_map(figure).collect()
            };
            let percent =
                |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
            let most = |is: fn(&Row) -> bool, figure: fn(&Row) -> Option<f64>| {
                percent(of(is, figure).into_iter().reduce(f64::max))
            };
            let is_null: fn(&Row) -> bool = |row| row.truth.starts_with("null");
            let is_worse: fn(&Row) -> bool = |row| row.truth.starts_with("minus");
            let is_equal: fn(&Row) -> bool = |row| row.truth == "equal";
            [
                tasks.to_string(),
                repetitions.to_string(),
                of(is_equal, |row| row.margin)
                    .first()
                    .map_or("-".to_owned(), |margin| format!("{margin:.2}")),
                percent(of(is_equal, |row| row.equal_pass).into_iter().reduce(f64::min)),
                most(is_null, |row| row.false_pass),
                most(is_worse, |row| row.false_pass),
                most(is_worse, |row| row.false_merge),
                most(is_worse, |row| row.loss_p95),
            ]
        })
        .collect();
    markdown(
        [
            "tasks",
            "repetitions",
            "margin of `init ci`",
            "equal versions pass (%)",
            "without effect, `helps` (%)",
            "10 points worse, 20 edits (%)",
            "false merges (%)",
            "loss after 20 merges, p95 (pp)",
        ],
        &lines,
    )
}

fn reuse_table(rows: &[ReuseRow]) -> String {
    let lines: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            [
                row.tasks.to_string(),
                row.repetitions.to_string(),
                row.sessions.to_string(),
                format!("{:.2}", row.sd),
                format!("{:.1}", 100.0 * row.false_pass),
            ]
        })
        .collect();
    markdown(["tasks", "repetitions", "sessions", "sd", "false pass (%)"], &lines)
}
