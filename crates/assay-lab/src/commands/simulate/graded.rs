//! The grid of scores with partial credit in some trials.

use crate::simulate::{GradedCell, GradedFigures, graded_grid};
use assay_report::counted;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    rates: &'static str,
    tasks: usize,
    repetitions: usize,
    partial: f64,
    wrong: f64,
    quarter_wrong: f64,
    coverage: f64,
    quarter_coverage: f64,
}

const HEADS: [&str; 8] = [
    "pass rates",
    "tasks",
    "repetitions",
    "partial (%)",
    "false verdicts (%)",
    "with ¼ (%)",
    "coverage, 15% of tasks +.8 (%)",
    "with ¼ (%)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = graded_grid();
    let figures = simulate_cells(&cells, args, |cell: &GradedCell| cell.simulate(args.suites, args.seed));
    let rows: Vec<Row> = cells.iter().zip(&figures).map(|(cell, found)| Row::new(cell, found)).collect();
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-graded/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let lines: Vec<[String; 8]> = rows
        .iter()
        .map(|row| {
            [
                row.rates.to_owned(),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                format!("{:.0}", 100.0 * row.partial),
                percent(row.wrong),
                percent(row.quarter_wrong),
                percent(row.coverage),
                percent(row.quarter_coverage),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    ui.out(&format!("{}\n{suites} per row, seed {}.\n", markdown(HEADS, &lines), args.seed))?;
    Ok(Status::Done)
}

impl Row {
    fn new(cell: &GradedCell, found: &GradedFigures) -> Self {
        Self {
            rates: cell.rates.name(),
            tasks: cell.tasks,
            repetitions: cell.repetitions,
            partial: cell.partial,
            wrong: found.wrong,
            quarter_wrong: found.quarter_wrong,
            coverage: found.coverage,
            quarter_coverage: found.quarter_coverage,
        }
    }
}
