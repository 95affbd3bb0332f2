//! The grid of the spread of effects over tasks.

use crate::simulate::{HeterogeneityCell, heterogeneity_grid};
use assay_report::counted;
use serde_json::json;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

const HEADS: [&str; 11] = [
    "truth",
    "tasks",
    "repetitions",
    "τ",
    "mean estimate",
    "coverage (%)",
    "width",
    "new tasks covered (%)",
    "prediction width",
    "moved (%)",
    "mean estimate (%)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = heterogeneity_grid();
    let figures =
        simulate_cells(&cells, args, |cell: &HeterogeneityCell| cell.simulate(args.suites, args.seed));
    let rows = || cells.iter().zip(&figures);
    if ui.json() {
        let cells: Vec<_> = rows()
            .map(|(cell, found)| {
                json!({
                    "truth": cell.truth.name(), "tasks": cell.tasks, "repetitions": cell.repetitions, "tau": found.tau,
                    "tau_mean": found.estimate, "coverage": found.coverage, "width": found.width,
                    "predicted": found.predicted, "prediction_width": found.prediction_width, "moves": found.moves,
                    "moved_mean": found.moved,
                })
            })
            .collect();
        ui.document(&json!({
            "schema": "assay.simulate-heterogeneity/1", "suites": args.suites, "seed": args.seed, "cells": cells,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let lines: Vec<[String; 11]> = rows()
        .map(|(cell, found)| {
            [
                cell.truth.name().to_owned(),
                cell.tasks.to_string(),
                cell.repetitions.to_string(),
                format!("{:.3}", found.tau),
                format!("{:.3}", found.estimate),
                percent(found.coverage),
                format!("{:.3}", found.width),
                percent(found.predicted),
                format!("{:.3}", found.prediction_width),
                percent(found.moves),
                percent(found.moved),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    ui.out(&format!("{}\n{suites} per row, seed {}.\n", markdown(HEADS, &lines), args.seed))?;
    Ok(Status::Done)
}
