//! The grid of metrics.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::simulate::{MetricCell, MetricFigures, MetricNoise, MetricTruth, metric_grid};
use assay_report::counted;
use assay_stats::MetricScale;
use serde::Serialize;

use super::table::{markdown, thread_count};
use crate::args::simulate::SimulateArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Debug, Serialize)]
struct Row {
    scale: &'static str,
    noise: &'static str,
    truth: &'static str,
    tasks: usize,
    base_repetitions: usize,
    arm_repetitions: usize,
    coverage: f64,
    higher: f64,
    lower: f64,
    negligible: f64,
    false_verdicts: f64,
    misses: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    suites: u64,
    seed: u64,
    cells: &'a [Row],
}

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = metric_grid();
    let rows: Vec<Row> =
        cells.iter().zip(simulate(&cells, args)).map(|(cell, found)| row(cell, &found)).collect();
    if ui.json() {
        let (suites, seed) = (args.suites, args.seed);
        ui.document(&Document { schema: "assay.simulate-metrics/1", suites, seed, cells: &rows })?;
    } else {
        ui.out(&text(&rows, args))?;
    }
    Ok(Status::Done)
}

/// The figures of all cells, in their order.
fn simulate(cells: &[MetricCell], args: &SimulateArgs) -> Vec<MetricFigures> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let figures = cell.simulate(args.suites, args.seed);
            let at = cells.iter().position(|other| other == cell);
            found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, figures));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..thread_count(args.jobs).get() {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, figures)| figures).collect()
}

fn row(cell: &MetricCell, found: &MetricFigures) -> Row {
    Row {
        scale: match cell.scale {
            MetricScale::Log => "log",
            MetricScale::Linear => "linear",
        },
        noise: match cell.noise {
            MetricNoise::LogNormal => "log-normal",
            MetricNoise::LogT => "log-t",
            MetricNoise::Pareto => "pareto",
        },
        truth: match cell.truth {
            MetricTruth::Null => "null",
            MetricTruth::Mixed => "mixed",
            MetricTruth::Margin => "margin",
            MetricTruth::Skewed => "skewed",
        },
        tasks: cell.tasks,
        base_repetitions: cell.repetitions[0],
        arm_repetitions: cell.repetitions[1],
        coverage: found.coverage,
        higher: found.higher,
        lower: found.lower,
        negligible: found.negligible,
        false_verdicts: found.false_verdicts,
        misses: cell.misses(found),
    }
}

const HEADS: [&str; 10] = [
    "scale",
    "noise",
    "truth",
    "tasks",
    "repetitions",
    "coverage",
    "higher",
    "lower",
    "negligible",
    "false verdicts",
];

/// The rows outside a limit, and the extremes of all rows by scale and truth.
fn text(rows: &[Row], args: &SimulateArgs) -> String {
    let share = |row: &Row, what: &str, share: f64| {
        let missed = if row.misses.contains(&what) { "!" } else { "" };
        format!("{missed}{:.1}", 100.0 * share)
    };
    let lines: Vec<[String; 10]> = rows
        .iter()
        .map(|row| {
            [
                row.scale.to_owned(),
                row.noise.to_owned(),
                row.truth.to_owned(),
                row.tasks.to_string(),
                format!("{}/{}", row.base_repetitions, row.arm_repetitions),
                share(row, "coverage", row.coverage),
                share(row, "", row.higher),
                share(row, "", row.lower),
                share(row, "", row.negligible),
                share(row, "false verdicts", row.false_verdicts),
            ]
        })
        .collect();
    let missing = rows.iter().filter(|row| !row.misses.is_empty()).count();
    let mut text = markdown(HEADS, &lines);
    text.push_str(&format!(
        "\n{} per row, seed {}. Within all limits: {} of {}.\n",
        counted(args.suites, "simulated experiment", "simulated experiments"),
        args.seed,
        rows.len() - missing,
        counted(rows.len(), "row", "rows"),
    ));
    for scale in ["log", "linear"] {
        for truth in ["null", "mixed", "margin", "skewed"] {
            let of = || rows.iter().filter(|row| row.scale == scale && row.truth == truth);
            let least = of().map(|row| row.coverage).fold(f64::INFINITY, f64::min);
            let most = of().map(|row| row.false_verdicts).fold(0.0, f64::max);
            text.push_str(&format!(
                "- {scale} {truth}: coverage from {:.1}%, false verdicts up to {:.1}%\n",
                100.0 * least,
                100.0 * most
            ));
        }
    }
    text
}
