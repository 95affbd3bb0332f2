//! The grid of experiments that are looked at before they are complete.

use crate::simulate::{LooksCell, LooksFigures, looks_grid};
use assay_report::counted;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    truth: &'static str,
    tasks: usize,
    repetitions: usize,
    end: f64,
    each: f64,
    half: f64,
    closed: f64,
}

const HEADS: [&str; 7] = [
    "truth",
    "tasks",
    "repetitions",
    "at the end (%)",
    "after each repetition (%)",
    "closed at half (%)",
    "closed at the first verdict (%)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = looks_grid();
    let figures = simulate_cells(&cells, args, |cell: &LooksCell| cell.simulate(args.suites, args.seed));
    let rows: Vec<Row> = cells.iter().zip(&figures).map(|(cell, found)| Row::new(cell, found)).collect();
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-looks/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let lines: Vec<[String; 7]> = rows
        .iter()
        .map(|row| {
            [
                row.truth.to_owned(),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                percent(row.end),
                percent(row.each),
                percent(row.half),
                percent(row.closed),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    ui.out(&format!(
        "{}\n{suites} per row, seed {}. Share with a false `helps` or `harms`.\n",
        markdown(HEADS, &lines),
        args.seed
    ))?;
    Ok(Status::Done)
}

impl Row {
    fn new(cell: &LooksCell, found: &LooksFigures) -> Self {
        Self {
            truth: cell.truth.name(),
            tasks: cell.tasks,
            repetitions: cell.repetitions,
            end: found.end,
            each: found.each,
            half: found.half,
            closed: found.closed,
        }
    }
}
