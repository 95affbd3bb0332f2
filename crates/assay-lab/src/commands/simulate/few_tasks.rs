//! The grid of experiments of few tasks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::simulate::{FewTasksCell, FewTasksFigures, WayFigures, few_tasks_grid};
use assay_report::counted;
use assay_stats::plan::Impossible;

use super::table::{markdown, thread_count};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// The limit of false verdicts; two standard errors are added.
const FALSE: f64 = 0.05;

const HEADS: [&str; 10] = [
    "tasks",
    "repetitions",
    "looks",
    "power (%)",
    "trials (%)",
    "false verdicts (%)",
    "trials at a null (%)",
    "bias given helps (pp)",
    "the same, median-unbiased (pp)",
    "lift above the true one, observed / median-unbiased (%)",
];

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = few_tasks_grid();
    let found = simulate(&cells, args)
        .map_err(|error| Failure::infrastructure(format!("cannot plan the grid: {error}")))?;
    let error = 2.0 * (FALSE * (1.0 - FALSE) / args.suites.max(1) as f64).sqrt();
    let holds = |figures: &FewTasksFigures| {
        figures.planned.false_verdicts <= FALSE + error && figures.more_false_verdicts <= FALSE + error
    };
    let status = if found.iter().all(holds) { Status::Done } else { Status::DidNotHold };
    if ui.json() {
        let rows: Vec<serde_json::Value> =
            cells.iter().zip(&found).map(|(cell, figures)| document(*cell, figures)).collect();
        ui.document(&serde_json::json!({
            "schema": "assay.simulate-few-tasks/1", "suites": args.suites, "seed": args.seed, "cells": rows,
        }))?;
        return Ok(status);
    }
    let mut lines = Vec::new();
    for (cell, figures) in cells.iter().zip(&found) {
        lines.push(line(*cell, "one", &figures.fixed));
        lines.push(line(*cell, "every round", &figures.every_round));
        lines.push(line(*cell, "`[stopping]`", &figures.planned));
        let mut more = ["", "", "and as many new tasks", "", "", "", "", "", "", ""].map(str::to_owned);
        more[0] = cell.tasks.to_string();
        more[1] = cell.repetitions.to_string();
        more[3] = percent(figures.more_power);
        more[5] = percent(figures.more_false_verdicts);
        lines.push(more);
    }
    ui.out(&format!(
        "{}\n{} per truth, seed {}. Power: of a lift of 30 pp, as `assay plan` models it. False verdicts: the larger share of no \
         effect, and of effects of ±40 pp that are 0 on average.\n",
        markdown(HEADS, &lines),
        counted(args.suites, "simulated experiment", "simulated experiments"),
        args.seed
    ))?;
    Ok(status)
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn line(cell: FewTasksCell, looks: &str, way: &WayFigures) -> [String; 10] {
    [
        cell.tasks.to_string(),
        cell.repetitions.to_string(),
        looks.to_owned(),
        percent(way.power),
        percent(way.share),
        percent(way.false_verdicts),
        percent(way.null_share),
        percent(way.bias),
        percent(way.unbiased_bias),
        format!("{} / {}", percent(way.above), percent(way.unbiased_above)),
    ]
}

fn document(cell: FewTasksCell, figures: &FewTasksFigures) -> serde_json::Value {
    let way = |found: &WayFigures| {
        serde_json::json!({
            "power": found.power, "share": found.share, "false_verdicts": found.false_verdicts,
            "null_share": found.null_share, "bias": found.bias, "unbiased_bias": found.unbiased_bias,
            "above": found.above, "unbiased_above": found.unbiased_above,
        })
    };
    serde_json::json!({
        "tasks": cell.tasks, "repetitions": cell.repetitions, "fixed": way(&figures.fixed),
        "every_round": way(&figures.every_round), "planned": way(&figures.planned),
        "more_power": figures.more_power, "more_false_verdicts": figures.more_false_verdicts,
    })
}

/// Every cell, on several threads.
fn simulate(cells: &[FewTasksCell], args: &SimulateArgs) -> Result<Vec<FewTasksFigures>, Impossible> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![Ok(FewTasksFigures::default()); cells.len()]);
    thread::scope(|scope| {
        for _ in 0..thread_count(args.jobs).get() {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < cells.len())
                {
                    let figures = cells[at].simulate(args.suites, args.seed);
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[at] = figures;
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().collect()
}
