//! The grid of the parts of a skill.

use crate::simulate::{AblationCell, ablation_grid};
use assay_report::counted;
use serde_json::json;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

const HEADS: [&str; 10] = [
    "truth",
    "tasks",
    "trials a task",
    "each found (%)",
    "leave one out (%)",
    "any false find (%)",
    "leave one out (%)",
    "worse accepted (%)",
    "shorter accepted (%)",
    "mean trials",
];

/// The sections of the simulated skill.
const SECTIONS: usize = 8;

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = ablation_grid();
    let figures = simulate_cells(&cells, args, |cell: &AblationCell| cell.simulate(args.suites, args.seed));
    let rows = || cells.iter().zip(&figures);
    if ui.json() {
        let cells: Vec<_> = rows()
            .map(|(cell, found)| {
                json!({
                    "rule": cell.rule_name(), "truth": cell.truth.name(), "tasks": cell.tasks,
                    "trials": cell.tasks * cell.each, "sections": SECTIONS, "found_each": found.found_each,
                    "false_find": found.false_find, "accepted_null": found.accepted_null,
                    "accepted_true": found.accepted_true, "spent": found.spent,
                })
            })
            .collect();
        ui.document(&json!({
            "schema": "assay.simulate-ablation/1", "suites": args.suites, "seed": args.seed, "cells": cells,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let known = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    // The rules of a design are beside each other in the grid.
    let all: Vec<_> = rows().collect();
    let lines: Vec<[String; 10]> = all
        .chunks(2)
        .filter_map(|pair| {
            let [(cell, found), (_, other)] = pair else { return None };
            Some([
                cell.truth.name().to_owned(),
                cell.tasks.to_string(),
                cell.each.to_string(),
                known(found.found_each),
                known(other.found_each),
                percent(found.false_find),
                percent(other.false_find),
                known(found.accepted_null),
                known(found.accepted_true),
                format!("{:.0}", found.spent),
            ])
        })
        .collect();
    let suites = counted(args.suites, "simulated campaign", "simulated campaigns");
    ui.out(&format!("{}\n{suites} per row, seed {}.\n", markdown(HEADS, &lines), args.seed))?;
    Ok(Status::Done)
}
