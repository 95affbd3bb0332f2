//! The grid of estimates over skills.

use crate::simulate::{SkillsCell, skills_grid};
use assay_report::counted;
use serde_json::json;

use super::table::{markdown, simulate_cells};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

const HEADS: [&str; 8] = [
    "skills",
    "tasks of each",
    "mean lift (pp)",
    "τ (pp)",
    "coverage (%)",
    "width",
    "coverage of τ (%)",
    "new skills covered (%)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = skills_grid();
    let figures = simulate_cells(&cells, args, |cell: &SkillsCell| cell.simulate(args.suites, args.seed));
    let rows = || cells.iter().zip(&figures);
    if ui.json() {
        let cells: Vec<_> = rows()
            .map(|(cell, found)| {
                json!({
                    "skills": cell.skills, "tasks": cell.tasks, "lift": found.lift, "tau": found.tau,
                    "coverage": found.coverage, "width": found.width, "tau_coverage": found.tau_coverage,
                    "predicted": found.predicted,
                })
            })
            .collect();
        ui.document(&json!({
            "schema": "assay.simulate-skills/1", "suites": args.suites, "seed": args.seed, "cells": cells,
        }))?;
        return Ok(Status::Done);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let lines: Vec<[String; 8]> = rows()
        .map(|(cell, found)| {
            [
                cell.skills.to_string(),
                cell.tasks.to_string(),
                percent(found.lift),
                percent(found.tau),
                percent(found.coverage),
                format!("{:.3}", found.width),
                percent(found.tau_coverage),
                percent(found.predicted),
            ]
        })
        .collect();
    let suites = counted(args.suites, "simulated experiment", "simulated experiments");
    ui.out(&format!("{}\n{suites} per row, seed {}.\n", markdown(HEADS, &lines), args.seed))?;
    Ok(Status::Done)
}
