//! Verdicts on recorded trials whose labels mean nothing.

use crate::simulate::{RecordedTask, Relabel, RelabeledFigures, simulate_relabeled};
use assay_report::counted;
use serde::Serialize;

use super::super::simulate::table::markdown;
use super::Scores;
use crate::args::replay::ReplayArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// The largest share of false verdicts; two standard errors of the simulation are allowed.
const MOST: f64 = 0.055;

/// The suites of one design.
#[derive(Debug, Serialize)]
struct Row {
    labels: &'static str,
    tasks: usize,
    repetitions: usize,
    suites: u64,
    fixed: f64,
    fixed_error: f64,
    student: f64,
    width: f64,
    quarter_width: f64,
    student_width: f64,
    sequential: f64,
    sequential_error: f64,
    trials: f64,
}

impl Row {
    fn of(relabel: Relabel, tasks: usize, repetitions: usize, found: &RelabeledFigures) -> Self {
        Self {
            labels: relabel.name(),
            tasks,
            repetitions,
            suites: found.suites,
            fixed: found.fixed,
            fixed_error: found.error(found.fixed),
            student: found.student,
            width: found.width,
            quarter_width: found.quarter_width,
            student_width: found.student_width,
            sequential: found.sequential,
            sequential_error: found.error(found.sequential),
            trials: found.trials,
        }
    }

    fn holds(&self) -> bool {
        let error = 2.0 * (MOST * (1.0 - MOST) / self.suites.max(1) as f64).sqrt();
        self.fixed <= MOST + error && self.sequential <= MOST + error
    }
}

pub(super) fn run(args: &ReplayArgs, scores: &Scores, ui: &Ui) -> Result<Status, Failure> {
    let pairs = pairs(scores);
    let rounds = usize::from(args.repetitions);
    let mut rows = Vec::new();
    for relabel in [Relabel::Permuted, Relabel::Swapped] {
        for tasks in &args.tasks {
            let design = (*tasks, rounds);
            let rule = (args.margin, args.shift);
            let Some(found) = simulate_relabeled(&pairs, relabel, design, rule, args.suites, args.seed)
            else {
                return Err(Failure::bad_input(format!(
                    "{}: no two arms have {} with {} each",
                    args.table.display(),
                    counted(*tasks, "task", "tasks"),
                    counted(rounds, "trial", "trials")
                )));
            };
            rows.push(Row::of(relabel, *tasks, rounds, &found));
        }
    }
    let status =
        if args.shift > 0.0 || rows.iter().all(Row::holds) { Status::Done } else { Status::DidNotHold };
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.replay-null/1", "margin": args.margin, "shift": args.shift, "seed": args.seed, "most": MOST,
            "rows": rows,
        }))?;
        return Ok(status);
    }
    ui.out(&format(&rows, pairs.len(), args))?;
    Ok(status)
}

/// Every two arms within each value of the other column, task by task.
fn pairs(scores: &Scores) -> Vec<Vec<RecordedTask>> {
    let mut pairs = Vec::new();
    for arms in scores.values() {
        let arms: Vec<_> = arms.values().collect();
        for (number, one) in arms.iter().enumerate() {
            for other in &arms[number + 1..] {
                let both = |(task, one): (&String, &Vec<f64>)| {
                    Some(RecordedTask { one: one.clone(), other: other.get(task)?.clone() })
                };
                pairs.push(one.iter().filter_map(both).collect());
            }
        }
    }
    pairs
}

fn format(rows: &[Row], pairs: usize, args: &ReplayArgs) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let width = |width: f64| format!("{width:.3}");
    let lines: Vec<[String; 12]> = rows
        .iter()
        .map(|row| {
            [
                row.labels.to_owned(),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                percent(row.fixed),
                percent(row.fixed_error),
                percent(row.student),
                width(row.width),
                width(row.quarter_width),
                width(row.student_width),
                percent(row.sequential),
                percent(row.sequential_error),
                percent(row.trials),
            ]
        })
        .collect();
    let heads = [
        "labels",
        "tasks",
        "repetitions",
        "decided once (%)",
        "± 1 SE",
        "Student's t (%)",
        "width",
        "with ¼",
        "Student's",
        "after rounds (%)",
        "± 1 SE",
        "trials (%)",
    ];
    let (what, limit) = if args.shift > 0.0 {
        (
            format!("`helps` or `harms` with {} more for each score of an arm, up to 1", args.shift),
            String::new(),
        )
    } else {
        let what = "False verdicts, `helps` or `harms`, where the labels of the arms mean nothing";
        (what.to_owned(), format!("; at most {}% may be false", percent(MOST)))
    };
    format!(
        "{what}:\n\n{}\n{} of arms, {} per row, seed {}{limit}. Widths are means of 95% intervals.\n",
        markdown(heads, &lines),
        counted(pairs, "pair", "pairs"),
        counted(args.suites, "suite", "suites"),
        args.seed,
    )
}
