//! The grid of drafts: how often a skill without effect seems to help.

use crate::simulate::{AdmissionCell, AdmissionFigures, admission_grid};
use assay_report::counted;
use serde::Serialize;

use super::table::markdown;
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    baseline: &'static str,
    proposed: usize,
    repetitions: usize,
    unsolved: f64,
    removed: f64,
    helps: f64,
    harms: f64,
    helps_with_pilot: f64,
    missed: bool,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    suites: u64,
    seed: u64,
    cells: &'a [Row],
}

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let rows: Vec<Row> =
        admission_grid().iter().map(|cell| row(cell, &cell.simulate(args.suites, args.seed))).collect();
    if ui.json() {
        let (suites, seed) = (args.suites, args.seed);
        ui.document(&Document { schema: "assay.simulate-admission/1", suites, seed, cells: &rows })?;
    } else {
        ui.out(&text(&rows, args))?;
    }
    Ok(Status::Done)
}

fn row(cell: &AdmissionCell, found: &AdmissionFigures) -> Row {
    Row {
        baseline: cell.name,
        proposed: cell.proposed,
        repetitions: cell.repetitions,
        unsolved: found.unsolved,
        removed: found.removed,
        helps: found.helps,
        harms: found.harms,
        helps_with_pilot: found.helps_with_pilot,
        missed: cell.is_missed(found),
    }
}

const HEADS: [&str; 8] = [
    "baseline",
    "proposed",
    "repetitions",
    "unsolved",
    "too easy",
    "helps",
    "harms",
    "helps, with the pilot's trials",
];

fn text(rows: &[Row], args: &SimulateArgs) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let cells: Vec<[String; 8]> = rows
        .iter()
        .map(|row| {
            let missed = if row.missed { "!" } else { "" };
            [
                row.baseline.to_owned(),
                row.proposed.to_string(),
                row.repetitions.to_string(),
                percent(row.unsolved),
                percent(row.removed),
                format!("{missed}{}", percent(row.helps)),
                percent(row.harms),
                percent(row.helps_with_pilot),
            ]
        })
        .collect();
    let within = rows.iter().filter(|row| !row.missed).count();
    format!(
        "{}\n{} per row, seed {}. \"helps\" in at most 5%: {within} of {}.\n",
        markdown(HEADS, &cells),
        counted(args.suites, "simulated draft", "simulated drafts"),
        args.seed,
        counted(rows.len(), "row", "rows"),
    )
}
