//! The grid of pass^k and pass@k.

use crate::simulate::{ReliabilityCell, reliability_grid};
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
    "pass^3 lift (pp)",
    "error (pp)",
    "coverage (%)",
    "width",
    "pass@3 lift (pp)",
    "error (pp)",
    "coverage (%)",
    "width",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = reliability_grid();
    let figures =
        simulate_cells(&cells, args, |cell: &ReliabilityCell| cell.simulate(args.suites, args.seed));
    let rows = || cells.iter().zip(&figures);
    if ui.json() {
        let cells: Vec<_> = rows()
            .map(|(cell, found)| {
                let of = |at: usize| {
                    json!({
                        "lift": found.lift[at], "error": found.error[at], "coverage": found.coverage[at],
                        "width": found.width[at],
                    })
                };
                json!({
                    "truth": cell.truth.name(), "tasks": cell.tasks, "repetitions": cell.repetitions, "pass^3": of(0),
                    "pass@3": of(1),
                })
            })
            .collect();
        ui.document(&json!({
            "schema": "assay.simulate-reliability/1", "suites": args.suites, "seed": args.seed, "cells": cells,
        }))?;
        return Ok(Status::Done);
    }
    let lines: Vec<[String; 11]> = rows()
        .map(|(cell, found)| {
            let of = |at: usize| {
                [
                    format!("{:+.1}", 100.0 * found.lift[at]),
                    format!("{:+.1}", 100.0 * found.error[at]),
                    format!("{:.1}", 100.0 * found.coverage[at]),
                    format!("{:.3}", found.width[at]),
                ]
            };
            let [lift, error, coverage, width] = of(0);
            let [any_lift, any_error, any_coverage, any_width] = of(1);
            [
                cell.truth.name().to_owned(),
                cell.tasks.to_string(),
                cell.repetitions.to_string(),
                lift,
                error,
                coverage,
                width,
                any_lift,
                any_error,
                any_coverage,
                any_width,
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    ui.out(&format!("{}\n{suites} per row, seed {}.\n", markdown(HEADS, &lines), args.seed))?;
    Ok(Status::Done)
}
