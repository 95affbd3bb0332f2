//! The grid of strata by difficulty.

use crate::simulate::difficulty_grid;
use assay_report::counted;
use assay_stats::Difficulty;
use serde::Serialize;

use super::table::markdown;
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    lift: f64,
    tasks: usize,
    repetitions: usize,
    stratum: &'static str,
    error_same: f64,
    error_separate: f64,
    coverage: f64,
    with_interval: f64,
}

const HEADS: [&str; 8] = [
    "true lift (pp)",
    "tasks",
    "repetitions",
    "stratum",
    "error, same trials (pp)",
    "error, separate halves (pp)",
    "coverage (%)",
    "with CI (%)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut rows = Vec::new();
    for cell in difficulty_grid() {
        rows.extend(cell.simulate(args.suites, args.seed).into_iter().map(|found| Row {
            lift: cell.lift,
            tasks: cell.tasks,
            repetitions: cell.repetitions,
            stratum: match found.difficulty {
                Difficulty::Hard => "hard",
                Difficulty::Medium => "medium",
                Difficulty::Easy => "easy",
            },
            error_same: found.error_same,
            error_separate: found.error_separate,
            coverage: found.coverage,
            with_interval: found.with_interval,
        }));
    }
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-difficulty/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(Status::Done);
    }
    let lines: Vec<[String; 8]> = rows
        .iter()
        .map(|row| {
            [
                format!("{:.0}", 100.0 * row.lift),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                row.stratum.to_owned(),
                format!("{:+.1}", 100.0 * row.error_same),
                format!("{:+.1}", 100.0 * row.error_separate),
                if row.with_interval > 0.0 {
                    format!("{:.1}", 100.0 * row.coverage)
                } else {
                    "–".to_owned()
                },
                format!("{:.0}", 100.0 * row.with_interval),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    ui.out(&format!("{}\n{suites} per row, seed {}.\n", markdown(HEADS, &lines), args.seed))?;
    Ok(Status::Done)
}
