//! The grid of drafts with two sets of checks: how often a skill without effect seems to help.

use crate::simulate::{NullDraftCell, NullDraftFigures, null_draft_grid};
use assay_report::counted;
use serde::Serialize;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    items: &'static str,
    with_solver: bool,
    tasks: usize,
    repetitions: usize,
    accepted: f64,
    kept: f64,
    helps: f64,
    harms: f64,
    knowledge_improves: f64,
    knowledge_improves_with_blind: f64,
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
    let cells = null_draft_grid();
    let found = simulate_cells(&cells, args, |cell| cell.simulate(args.suites, args.seed));
    let rows: Vec<Row> = cells.iter().zip(&found).map(|(cell, found)| row(cell, found)).collect();
    if ui.json() {
        let (suites, seed) = (args.suites, args.seed);
        ui.document(&Document { schema: "assay.simulate-null-drafts/1", suites, seed, cells: &rows })?;
    } else {
        ui.out(&text(&rows, args))?;
    }
    Ok(Status::Done)
}

fn row(cell: &NullDraftCell, found: &NullDraftFigures) -> Row {
    Row {
        items: cell.name,
        with_solver: cell.has_solver,
        tasks: cell.tasks,
        repetitions: cell.repetitions,
        accepted: found.accepted,
        kept: found.kept,
        helps: found.helps,
        harms: found.harms,
        knowledge_improves: found.improves,
        knowledge_improves_with_blind: found.improves_with_blind,
        missed: cell.is_missed(found),
    }
}

const HEADS: [&str; 10] = [
    "items",
    "solver",
    "tasks",
    "repetitions",
    "accepted",
    "items kept",
    "helps",
    "harms",
    "knowledge improves",
    "against blind attempts",
];

fn text(rows: &[Row], args: &SimulateArgs) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let cells: Vec<[String; 10]> = rows
        .iter()
        .map(|row| {
            let missed = if row.missed { "!" } else { "" };
            [
                row.items.to_owned(),
                if row.with_solver { "yes" } else { "no" }.to_owned(),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                format!("{:.1}", row.accepted),
                percent(row.kept),
                format!("{missed}{}", percent(row.helps)),
                percent(row.harms),
                percent(row.knowledge_improves),
                percent(row.knowledge_improves_with_blind),
            ]
        })
        .collect();
    let within = rows.iter().filter(|row| !row.missed).count();
    format!(
        "{}\n{} per row, seed {}. \"helps\" and \"knowledge improves\" in at most 5%: {within} of {}.\n",
        markdown(HEADS, &cells),
        counted(args.suites, "simulated draft", "simulated drafts"),
        args.seed,
        counted(rows.len(), "row", "rows"),
    )
}
