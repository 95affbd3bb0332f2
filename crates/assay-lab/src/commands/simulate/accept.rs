//! The grid of campaigns, with what their rule promises.

use assay_report::counted;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use crate::simulate::{AcceptCell, AcceptFigures, AcceptRule, accept_grid};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// A cell as a document. What other grids of the same schema measure is `null`.
#[derive(Debug, Serialize)]
struct Row {
    rule: &'static str,
    truth: String,
    tasks: usize,
    candidates: usize,
    trials: f64,
    trials_p95: usize,
    sections: Option<u64>,
    found_each: Option<f64>,
    false_find: Option<f64>,
    accepted_null: Option<f64>,
    accepted_true: Option<f64>,
    #[serde(skip)]
    misses: Vec<String>,
}

const HEADS: [&str; 8] = [
    "truth",
    "tasks",
    "candidates",
    "assay",
    "strictly higher",
    "minibatch sum",
    "Δ > SE",
    "e-process per edit",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = accept_grid();
    let figures = simulate_cells(&cells, args, |cell: &AcceptCell| cell.simulate(args.suites, args.seed));
    let rows: Vec<Row> =
        cells.iter().zip(&figures).map(|(cell, found)| Row::new(cell, found, args.suites)).collect();
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-improve/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(Status::Done);
    }
    let missed: Vec<&String> = rows.iter().flat_map(|row| &row.misses).collect();
    let list: String = missed.iter().map(|miss| format!("- {miss}\n")).collect();
    let [mean, sd] = AcceptCell::effects(args.seed);
    ui.out(&format!(
        "{}
{} per row, seed {}. False acceptances / true acceptances (%), mean trials (95th percentile). The effects of a candidate of +20 pp have the mean {:.2} and the standard deviation {sd:.2} over tasks. {}
{list}",
        table(&rows),
        counted(args.suites, "simulated campaign", "simulated campaigns"),
        args.seed,
        mean,
        if missed.is_empty() { "All rows are as promised." } else { "Not as promised:" },
    ))?;
    Ok(Status::Done)
}

impl Row {
    fn new(cell: &AcceptCell, found: &AcceptFigures, campaigns: u64) -> Self {
        let misses = cell.misses(found, campaigns).into_iter().map(|miss| {
            format!(
                "{}, {} × {}: {} {:.3} where {:.3} is the limit",
                cell.truth.name(),
                counted(cell.tasks, "task", "tasks"),
                counted(cell.candidates, "candidate", "candidates"),
                miss.what,
                miss.found,
                miss.limit
            )
        });
        Self {
            rule: cell.rule.name(),
            truth: cell.truth.name(),
            tasks: cell.tasks,
            candidates: cell.candidates,
            trials: found.trials,
            trials_p95: found.trials_p95,
            sections: None,
            found_each: None,
            false_find: None,
            accepted_null: found.accepted_null,
            accepted_true: found.accepted_true,
            misses: misses.collect(),
        }
    }

    fn text(&self) -> String {
        let share =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
        format!(
            "{} / {}, {:.0} ({})",
            share(self.accepted_null),
            share(self.accepted_true),
            self.trials,
            self.trials_p95
        )
    }
}

/// One line for each truth and size, with a column for each rule.
fn table(rows: &[Row]) -> String {
    let key = |row: &Row| (row.truth.clone(), row.tasks, row.candidates);
    let mut keys: Vec<_> = rows.iter().map(key).collect();
    keys.dedup();
    let lines: Vec<[String; 8]> = keys
        .into_iter()
        .map(|wanted| {
            let of = |rule: AcceptRule| {
                let found = rows.iter().find(|row| key(row) == wanted && row.rule == rule.name());
                found.map_or("-".to_owned(), Row::text)
            };
            let [assay, higher, minibatch, errors, process] = AcceptRule::ALL.map(of);
            let (truth, tasks, candidates) = wanted;
            [truth, tasks.to_string(), candidates.to_string(), assay, higher, minibatch, errors, process]
        })
        .collect();
    markdown(HEADS, &lines)
}
