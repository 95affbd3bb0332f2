//! `assay lab simulate`: error rates, coverage and power of the verdicts on simulated suites.

mod ablation;
mod accept;
mod admission;
mod difficulty;
mod few_tasks;
mod gate;
mod graded;
mod heterogeneity;
mod judge_labels;
mod looks;
mod metrics;
mod null_drafts;
mod reliability;
mod sequential;
mod skills;
pub(super) mod table;

use assay_report::counted;
use assay_stats::simulate::Design;
use serde::Serialize;

use self::table::{markdown, thread_count};
use crate::args::simulate::{Grid, SimulateArgs};
use crate::simulate::{Cell, GridCell, Miss, planned_grid, simulate_all, validity_grid};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// One row.
#[derive(Debug, Serialize)]
struct Row {
    truth: &'static str,
    tasks: usize,
    repetitions: usize,
    arms: usize,
    coverage: Option<f64>,
    width: Option<f64>,
    false_verdicts: Option<f64>,
    power: Option<f64>,
    negligible: Option<f64>,
    wrong_sign: Option<f64>,
    helps: Option<f64>,
    harms: Option<f64>,
    inconclusive: Option<f64>,
    #[serde(skip)]
    misses: Vec<Miss>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    cells: &'a [Row],
}

pub(super) fn run(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    match args.grid {
        Grid::Validity => scores(args, ui),
        Grid::Metrics => metrics::run(args, ui),
        Grid::Difficulty => difficulty::run(args, ui),
        Grid::Sequential => sequential::run(args, ui),
        Grid::Looks => looks::run(args, ui),
        Grid::FewTasks => few_tasks::run(args, ui),
        Grid::Admission => admission::run(args, ui),
        Grid::NullDrafts => null_drafts::run(args, ui),
        Grid::Gate => gate::run(args, ui),
        Grid::Graded => graded::run(args, ui),
        Grid::Judges => judge_labels::run(args, ui),
        Grid::Heterogeneity => heterogeneity::run(args, ui),
        Grid::Reliability => reliability::run(args, ui),
        Grid::Skills => skills::run(args, ui),
        Grid::Ablation => ablation::run(args, ui),
        Grid::Accept => accept::run(args, ui),
    }
}

fn scores(args: &SimulateArgs, ui: &Ui) -> Result<Status, Failure> {
    let cells = validity(args.seed)?;
    ui.note(&format!(
        "simulating {} for each of {}",
        counted(args.suites, "simulated experiment", "simulated experiments"),
        counted(cells.len(), "cell", "cells")
    ));
    let designs: Vec<Design> = cells.iter().map(|cell| cell.design).collect();
    let tallies = simulate_all(&designs, args.suites, args.seed, thread_count(args.jobs));
    let rows: Vec<Row> = cells
        .iter()
        .zip(tallies)
        .map(|(cell, tally)| row(cell, &tally.cell(cell.design.true_lift()), tally.verdicts()))
        .collect();
    if ui.json() {
        ui.document(&Document { schema: "assay.simulate/2", cells: &rows })?;
    } else {
        ui.out(&format!("{}\n{}", table(&rows), misses(&rows, args)))?;
    }
    Ok(Status::Done)
}

/// The grid, with the MDEs of planning; these are planned under another seed than they are simulated.
fn validity(seed: u64) -> Result<Vec<GridCell>, Failure> {
    let planned = planned_grid(seed.wrapping_add(1))
        .map_err(|error| Failure::infrastructure(format!("cannot plan the grid: {error}")))?;
    Ok(validity_grid().into_iter().chain(planned).collect())
}

fn row(cell: &GridCell, got: &Cell, verdicts: Option<[f64; 4]>) -> Row {
    Row {
        helps: verdicts.map(|[helps, ..]| helps),
        harms: verdicts.map(|[_, harms, ..]| harms),
        inconclusive: verdicts.map(|[.., inconclusive]| inconclusive),
        truth: cell.truth,
        tasks: cell.design.tasks,
        repetitions: cell.design.repetitions,
        arms: cell.design.arms,
        coverage: got.coverage,
        width: got.width,
        false_verdicts: got.false_verdicts,
        power: got.power,
        negligible: got.negligible,
        wrong_sign: got.wrong_sign,
        misses: cell.misses(got),
    }
}

const HEADS: [&str; 11] = [
    "truth",
    "tasks",
    "repetitions",
    "arms",
    "coverage",
    "width",
    "helps",
    "harms",
    "negligible",
    "inconclusive",
    "false verdicts",
];

/// A Markdown table with aligned columns. Shares are in percent; `!` marks a figure outside its limit.
fn table(rows: &[Row]) -> String {
    markdown(HEADS, &rows.iter().map(texts).collect::<Vec<_>>())
}

fn texts(row: &Row) -> [String; 11] {
    let share = |what: &str, share: Option<f64>| {
        let missed = if row.misses.iter().any(|miss| miss.what == what) { "!" } else { "" };
        share.map_or_else(|| "-".to_owned(), |share| format!("{missed}{:.1}", 100.0 * share))
    };
    [
        row.truth.to_owned(),
        row.tasks.to_string(),
        row.repetitions.to_string(),
        row.arms.to_string(),
        share("coverage", row.coverage),
        row.width.map_or_else(|| "-".to_owned(), |width| format!("{width:.3}")),
        share("power", row.helps),
        share("wrong sign", row.harms),
        share("negligible", row.negligible),
        share("inconclusive", row.inconclusive),
        share("false verdicts", row.false_verdicts),
    ]
}

/// The summary below the table.
fn misses(rows: &[Row], args: &SimulateArgs) -> String {
    let missing = rows.iter().filter(|row| !row.misses.is_empty()).count();
    let mut text = format!(
        "{} per row, seed {}. Within all limits: {} of {}.{}\n",
        counted(args.suites, "simulated experiment", "simulated experiments"),
        args.seed,
        rows.len() - missing,
        counted(rows.len(), "row", "rows"),
        if missing > 0 { " The others:" } else { "" },
    );
    for row in rows {
        for miss in &row.misses {
            let side = if miss.found < miss.limit { "below" } else { "above" };
            text.push_str(&format!(
                "- {} {} × {}: {} of {:.1}% is {side} {:.1}%\n",
                row.truth,
                row.tasks,
                row.repetitions,
                miss.what,
                100.0 * miss.found,
                100.0 * miss.limit,
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let cells = validity_grid();
        let got = |coverage: f64, power: Option<f64>| Cell {
            coverage: Some(coverage),
            width: Some(0.8123),
            false_verdicts: power.is_none().then_some(0.01),
            power,
            negligible: Some(0.0),
            wrong_sign: power.map(|_| 0.002),
        };
        let sparse = cells.iter().find(|cell| cell.truth == "sparse").unwrap();
        vec![
            row(&cells[0], &got(0.95, None), Some([0.006, 0.004, 0.0, 0.99])),
            row(sparse, &got(0.9271, Some(0.4)), Some([0.4, 0.002, 0.0, 0.598])),
        ]
    }

    #[test]
    fn the_table_is_markdown_and_marks_misses() {
        let expected = "\
| truth  | tasks | repetitions | arms | coverage | width | helps | harms | negligible | inconclusive | false verdicts |
|--------|------:|------------:|-----:|---------:|------:|------:|------:|-----------:|-------------:|---------------:|
| null   |    10 |           1 |    1 |     95.0 | 0.812 |   0.6 |   0.4 |        0.0 |         99.0 |            1.0 |
| sparse |    10 |           1 |    1 |    !92.7 | 0.812 |  40.0 |   0.2 |        0.0 |         59.8 |              - |
";
        assert_eq!(table(&rows()), expected);
    }

    #[test]
    fn misses_are_listed_and_counted() {
        let args = SimulateArgs { grid: Grid::Validity, suites: 500, seed: 7, jobs: None };
        let expected = "\
500 simulated experiments per row, seed 7. Within all limits: 1 of 2 rows. The others:
- sparse 10 × 1: coverage of 92.7% is below 93.5%
";
        assert_eq!(misses(&rows(), &args), expected);
        let none = "500 simulated experiments per row, seed 7. Within all limits: 1 of 1 row.\n";
        assert_eq!(misses(&rows()[..1], &args), none);
    }

    #[test]
    fn json_has_the_promised_fields_and_nulls() {
        let rows = rows();
        let document = serde_json::to_value(Document { schema: "assay.simulate/2", cells: &rows }).unwrap();
        let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["schema", "cells"]);
        let first = document["cells"][0].as_object().unwrap();
        let fields: Vec<&String> = first.keys().collect();
        let promised = [
            "truth",
            "tasks",
            "repetitions",
            "arms",
            "coverage",
            "width",
            "false_verdicts",
            "power",
            "negligible",
            "wrong_sign",
            "helps",
            "harms",
            "inconclusive",
        ];
        assert_eq!(fields, promised);
        assert!(first["power"].is_null() && first["wrong_sign"].is_null());
        assert_eq!(first["false_verdicts"], 0.01);
    }
}
