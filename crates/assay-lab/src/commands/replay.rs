//! `assay lab replay`: recorded trials, decided once and round by round.

mod null;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_report::counted;
use assay_stats::sequential::{SequentialPlan, rounds_to_look_at, shuffle};
use assay_stats::{PairedTask, VerdictKind};
use assay_table::{TableReader, Value};
use serde::Serialize;

use super::simulate::table::markdown;
use crate::args::replay::ReplayArgs;
use assay_cli::args::gate::Arms;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Two arms, decided in both ways.
#[derive(Debug, Serialize)]
struct Pair {
    /// The value of the other column, if the table has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    a: String,
    b: String,
    tasks: usize,
    /// Mean score of `b` minus that of `a`.
    lift: f64,
    fixed: VerdictKind,
    sequential: VerdictKind,
    round: usize,
    /// Trials until the stop, as a share of all.
    share: f64,
}

/// Figures over all pairs.
#[derive(Debug, Serialize)]
struct Summary {
    pairs: usize,
    /// Share of pairs with equal verdicts.
    agreement: f64,
    /// Share of pairs whose sequential verdict is another than the fixed one, and not inconclusive.
    new_verdicts: f64,
    mean_share: f64,
}

/// Scores by other column, arm and task, in the order of the table.
type Scores = BTreeMap<Option<String>, BTreeMap<String, BTreeMap<String, Vec<f64>>>>;

pub(super) fn run(args: &ReplayArgs, ui: &Ui) -> Result<Status, Failure> {
    if !(args.margin > 0.0 && args.margin < 1.0) {
        return Err(Failure::bad_input("`--margin` must be between 0 and 1"));
    }
    if !(args.shift >= 0.0 && args.shift <= 1.0) {
        return Err(Failure::bad_input("`--shift` must be between 0 and 1"));
    }
    let range = args.range.split_once("..").and_then(|(low, high)| {
        let (low, high) = (low.parse::<f64>().ok()?, high.parse::<f64>().ok()?);
        (low.is_finite() && high.is_finite() && low < high).then_some((low, high))
    });
    let range =
        range.ok_or_else(|| Failure::bad_input(format!("`--range {}` is not LOW..HIGH", args.range)))?;
    let mut scores = read(&args.table, args.arms, range)?;
    if args.null {
        return null::run(args, &scores, ui);
    }
    let cells = scores.values_mut().flat_map(BTreeMap::values_mut).flat_map(BTreeMap::values_mut);
    for (cell, trials) in (0..).zip(cells) {
        shuffle(trials, args.seed, cell);
    }
    let rounds = usize::from(args.repetitions);
    let plan = SequentialPlan::new(rounds, 1, args.margin)
        .ok_or_else(|| Failure::bad_input("`--repetitions` must be at least 1"))?;
    let plan_of = |tasks: usize| plan.clone().looking_after(&rounds_to_look_at(rounds, tasks));
    let mut pairs = Vec::new();
    for (within, arms) in &scores {
        let names: Vec<&String> = arms.keys().collect();
        for (number, a) in names.iter().enumerate() {
            for b in &names[number + 1..] {
                let tasks = paired(&arms[*a], &arms[*b], rounds);
                let found = assay_stats::lift(&tasks, 0.95).zip(plan_of(tasks.len()).stop(&tasks));
                let Some((lift, (round, look))) = found else { continue };
                pairs.push(Pair {
                    within: within.clone(),
                    a: (*a).clone(),
                    b: (*b).clone(),
                    tasks: tasks.len(),
                    lift: lift.mean,
                    fixed: assay_stats::verdict(&tasks, 1, args.margin, None).kind,
                    sequential: look.verdict.kind,
                    round,
                    share: round as f64 / rounds as f64,
                });
            }
        }
    }
    if pairs.is_empty() {
        return Err(Failure::bad_input(format!(
            "{}: no two arms have a task with {} each",
            args.table.display(),
            counted(rounds, "trial", "trials")
        )));
    }
    let summary = Summary::of(&pairs);
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.replay/1", "repetitions": rounds, "margin": args.margin, "seed": args.seed,
            "summary": summary, "pairs": pairs,
        }))?;
        return Ok(Status::Done);
    }
    ui.out(&format(&pairs, &summary))?;
    Ok(Status::Done)
}

fn format(pairs: &[Pair], summary: &Summary) -> String {
    let lines: Vec<[String; 8]> = pairs
        .iter()
        .map(|pair| {
            [
                pair.within.clone().unwrap_or_default(),
                pair.a.clone(),
                pair.b.clone(),
                pair.tasks.to_string(),
                format!("{:+.1}", 100.0 * pair.lift),
                pair.fixed.word().to_owned(),
                pair.sequential.word().to_owned(),
                format!("{:.0}", 100.0 * pair.share),
            ]
        })
        .collect();
    let heads = ["within", "a", "b", "tasks", "lift (pp)", "decided once", "round by round", "trials (%)"];
    format!(
        "{}\n{}: agreement {:.3}, new verdicts {:.3}, mean share of trials {:.3}\n",
        markdown(heads, &lines),
        counted(summary.pairs, "pair", "pairs"),
        summary.agreement,
        summary.new_verdicts,
        summary.mean_share
    )
}

impl Summary {
    fn of(pairs: &[Pair]) -> Self {
        let n = pairs.len().max(1) as f64;
        let share = |holds: fn(&Pair) -> bool| pairs.iter().filter(|pair| holds(pair)).count() as f64 / n;
        Self {
            pairs: pairs.len(),
            agreement: share(|pair| pair.sequential == pair.fixed),
            new_verdicts: share(|pair| {
                pair.sequential != pair.fixed && pair.sequential != VerdictKind::Inconclusive
            }),
            mean_share: pairs.iter().map(|pair| pair.share).sum::<f64>() / n,
        }
    }
}

/// The tasks of two arms that have all repetitions in both.
fn paired(a: &BTreeMap<String, Vec<f64>>, b: &BTreeMap<String, Vec<f64>>, rounds: usize) -> Vec<PairedTask> {
    let whole = |trials: &&Vec<f64>| trials.len() >= rounds;
    a.iter()
        .filter_map(|(task, base)| {
            let (base, arm) = (Some(base).filter(whole)?, b.get(task).filter(whole)?);
            let first = |trials: &[f64]| trials[..rounds].to_vec();
            Some(PairedTask { arm: first(arm), base: first(base), cluster: None })
        })
        .collect()
}

fn read(path: &Path, arms: Arms, (low, high): (f64, f64)) -> Result<Scores, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(error.to_string());
    let mut reader = TableReader::open(path).map_err(|error| bad(&error))?;
    let mut scores = Scores::new();
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    let (arm_column, within_column) = match arms {
        Arms::Model => ("model", "condition"),
        Arms::Condition => ("condition", "model"),
    };
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| bad(&error))?;
        let columns = reader.columns();
        let get =
            |name: &str| columns.iter().position(|column| column == name).and_then(|at| row.values.get(at));
        let text = |name: &str| match get(name) {
            Some(Value::Text(text)) => Some(text.clone()),
            Some(Value::Integer(number)) => Some(number.to_string()),
            _ => None,
        };
        for name in ["task", "score", arm_column] {
            if !columns.iter().any(|column| column == name) {
                missing.insert(name);
            }
        }
        let score = get("score")
            .and_then(Value::as_f64)
            .map(|score| (score - low) / (high - low))
            .filter(|score| (0.0..=1.0).contains(score));
        let (Some(task), Some(arm), Some(score)) = (text("task"), text(arm_column), score) else {
            // A row without a score is a lost trial.
            continue;
        };
        let within = scores.entry(text(within_column)).or_default();
        within.entry(arm).or_default().entry(task).or_default().push(score);
    }
    if let Some(name) = missing.first() {
        return Err(Failure::bad_input(format!("{}: no column `{name}`", path.display())));
    }
    Ok(scores)
}
