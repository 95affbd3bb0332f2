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
            let Some(found) =
                simulate_relabeled(&pairs, relabel, design, args.margin, args.suites, args.seed)
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
    let status = if rows.iter().all(Row::holds) { Status::Done } else { Status::DidNotHold };
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.replay-null/1", "margin": args.margin, "seed": args.seed, "most": MOST, "rows": rows,
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
    let lines: Vec<[String; 8]> = rows
        .iter()
        .map(|row| {
            [
                row.labels.to_owned(),
                row.tasks.to_string(),
                row.repetitions.to_string(),
                percent(row.fixed),
                percent(row.fixed_error),
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
        "after rounds (%)",
        "± 1 SE",
        "trials (%)",
    ];
    format!(
        "False verdicts, `helps` or `harms`, where the labels of the arms mean nothing:\n\n{}\n{} of arms, {} per row, seed \
         {}; at most {}% may be false.\n",
        markdown(heads, &lines),
        counted(pairs, "pair", "pairs"),
        counted(args.suites, "suite", "suites"),
        args.seed,
        percent(MOST),
    )
}
