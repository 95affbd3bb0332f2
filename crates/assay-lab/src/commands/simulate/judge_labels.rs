//! The grid of judges whose errors depend on the condition.

use crate::simulate::{JudgeLabelsCell, JudgeLabelsFigures, Sampling, judge_labels_grid};
use assay_report::counted;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    judge: &'static str,
    lift: f64,
    spread: f64,
    labels: usize,
    sample: &'static str,
    judged: f64,
    rogan_gladen: f64,
    powered: f64,
    width: f64,
    plain_width: f64,
    lambda: f64,
    refused: f64,
}

const HEADS: [&str; 11] = [
    "judge",
    "lift",
    "spread",
    "labels",
    "sample",
    "as judged (%)",
    "pooled error rates (%)",
    "prediction-powered (%)",
    "width",
    "width, λ = 1",
    "λ",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = judge_labels_grid();
    let figures =
        simulate_cells(&cells, args, |cell: &JudgeLabelsCell| cell.simulate(args.suites, args.seed));
    let rows: Vec<Row> = cells.iter().zip(&figures).map(|(cell, found)| Row::new(cell, found)).collect();
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-judges/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let lines: Vec<[String; 11]> = rows
        .iter()
        .map(|row| {
            [
                row.judge.to_owned(),
                row.lift.to_string(),
                row.spread.to_string(),
                row.labels.to_string(),
                row.sample.to_owned(),
                percent(row.judged),
                percent(row.rogan_gladen),
                percent(row.powered),
                format!("{:.3}", row.width),
                format!("{:.3}", row.plain_width),
                format!("{:.2}", row.lambda),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated run", "simulated runs");
    ui.out(&format!(
        "{}\n{suites} per row, seed {}. Share of 95% intervals that contain the true lift.\n",
        markdown(HEADS, &lines),
        args.seed
    ))?;
    Ok(Status::Done)
}

impl Row {
    fn new(cell: &JudgeLabelsCell, found: &JudgeLabelsFigures) -> Self {
        Self {
            judge: cell.judge,
            lift: cell.lift,
            spread: cell.spread,
            labels: cell.labels,
            sample: match cell.sampling {
                Sampling::Random => "random",
                Sampling::Stratified => "stratified",
            },
            judged: found.judged,
            rogan_gladen: found.rogan_gladen,
            powered: found.powered,
            width: found.width,
            plain_width: found.plain_width,
            lambda: found.lambda,
            refused: found.refused,
        }
    }
}
