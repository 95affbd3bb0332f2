//! The grid of experiments that are looked at after each round.

use assay_report::counted;
use assay_stats::simulate::SequentialFigures;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use crate::simulate::{SequentialCell, SequentialTruth, sequential_grid};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Limits of the grid; two standard errors are added where a rate is estimated.
const FALSE: f64 = 0.05;
const COVERAGE: f64 = 0.935;
/// How much power less than the fixed design's.
const POWER_LOSS: f64 = 0.02;

/// The largest share of the fixed design's trials.
fn most_trials(truth: SequentialTruth) -> f64 {
    match truth {
        SequentialTruth::Null(_) | SequentialTruth::Opposite => 1.05,
        SequentialTruth::Planned(_) => 0.85,
        SequentialTruth::Twice(_) => 0.45,
    }
}

#[derive(Debug, Serialize)]
struct Row {
    truth: &'static str,
    tasks: usize,
    repetitions: usize,
    conditions: usize,
    lift: f64,
    false_verdicts: f64,
    fixed_false_verdicts: f64,
    coverage: f64,
    power: f64,
    fixed_power: f64,
    share: f64,
    /// The figures that are beyond their limits.
    beyond: Vec<&'static str>,
}

const HEADS: [&str; 12] = [
    "truth",
    "tasks",
    "repetitions",
    "conditions",
    "lift (pp)",
    "false verdicts (%)",
    "fixed design (%)",
    "coverage (%)",
    "power (%)",
    "fixed power (%)",
    "trials (% of fixed)",
    "beyond its limit",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = sequential_grid();
    let figures = simulate_cells(&cells, args, |cell: &SequentialCell| cell.simulate(args.suites, args.seed));
    let rows: Vec<Row> =
        cells.iter().zip(&figures).map(|(cell, found)| Row::new(cell, found, args.suites)).collect();
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-sequential/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let lines: Vec<[String; 12]> = rows
        .iter()
        .map(|row| {
            [
                row.truth.to_owned(),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                row.conditions.to_string(),
                percent(row.lift),
                percent(row.false_verdicts),
                percent(row.fixed_false_verdicts),
                percent(row.coverage),
                percent(row.power),
                percent(row.fixed_power),
                percent(row.share),
                row.beyond.join(", "),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    let outside = rows.iter().filter(|row| !row.beyond.is_empty()).count();
    ui.out(&format!(
        "{}\n{suites} per row, seed {}; {} of {} beyond a limit. Limits: false verdicts {:.0}%, or those of the fixed \
         design; coverage {:.1}%; power of the fixed design less {:.0} points; trials 105% (null), 85% (planned), 45% \
         (twice planned). Two standard errors are allowed where a share of suites is estimated.\n",
        markdown(HEADS, &lines),
        args.seed,
        outside,
        counted(rows.len(), "cell", "cells"),
        100.0 * FALSE,
        100.0 * COVERAGE,
        100.0 * POWER_LOSS,
    ))?;
    Ok(if outside == 0 { Status::Done } else { Status::DidNotHold })
}

impl Row {
    fn new(cell: &SequentialCell, found: &SequentialFigures, suites: u64) -> Self {
        let errors = |rate: f64| 2.0 * (rate * (1.0 - rate) / suites.max(1) as f64).sqrt();
        let limit = FALSE.max(found.fixed_false_verdicts);
        let power = found.fixed_power - POWER_LOSS;
        let checks = [
            ("false verdicts", found.false_verdicts <= limit + errors(limit)),
            ("coverage", found.coverage >= COVERAGE - errors(COVERAGE)),
            ("power", found.power >= power - errors(power.max(0.0))),
            ("trials", found.share <= most_trials(cell.truth)),
        ];
        Self {
            truth: cell.truth.name(),
            tasks: cell.tasks,
            repetitions: cell.repetitions,
            conditions: cell.conditions,
            lift: found.lift,
            false_verdicts: found.false_verdicts,
            fixed_false_verdicts: found.fixed_false_verdicts,
            coverage: found.coverage,
            power: found.power,
            fixed_power: found.fixed_power,
            share: found.share,
            beyond: checks.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect(),
        }
    }
}
