//! How often a gate decides where nothing changed.

use std::collections::BTreeMap;
use std::path::Path;

use assay_gate::{NullSplits, Policy, null_splits};
use assay_report::counted;
use assay_stats::{PairedTask, SessionDrift, VerdictKind, p_above, p_below, verdict};
use assay_store::{RunOutcomes, Store};
use assay_table::{TableReader, Value};
use serde::Serialize;

use crate::args::gate::Arms;
use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Random orders of each arm's trials, beside the recorded one.
const ORDERS: u64 = 20;

/// The fewest tasks of a confidence interval.
const FEWEST: usize = 5;

/// The equivalence margin of the verdicts.
const MARGIN: f64 = 0.10;

/// The scores of an arm: by task, then by measurement (all one without such a column).
type Arm = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// The scores by group (such as a skill) and arm.
type Groups = BTreeMap<String, BTreeMap<String, Arm>>;

#[derive(Debug, Default, Serialize)]
struct Checked {
    schema: &'static str,
    /// Halves of the same arm, in the order of the trials.
    recorded: NullSplits,
    /// The same in random orders.
    shuffled: NullSplits,
    flip_rate: Option<f64>,
    /// Pairs of arms that all trials decide, and of these the ones that half of the trials decide alike.
    decided_pairs: usize,
    decided_by_half: usize,
    /// A gate that compares two means, on measurements of the same commit: pairs of measurements, and those with
    /// opposite decisions.
    naive_pairs: usize,
    naive_flips: usize,
    /// Skills with fewer than five tasks, for which the gate refuses to decide.
    too_few_tasks: Vec<String>,
}

pub(super) fn run(args: &GateArgs, policy: &Policy, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let groups = match &args.table {
        Some(table) => read(table, args)?,
        None => stored(&machine::read_store(&settings.store)?)?,
    };
    let mut checked = Checked { schema: "assay.gate-self-check/1", ..Checked::default() };
    for (group, arms) in &groups {
        let tasks = arms.values().map(BTreeMap::len).max().unwrap_or(0);
        if tasks < FEWEST {
            checked.too_few_tasks.push(group.clone());
        }
        naive(arms, &mut checked);
        let trials: BTreeMap<&String, BTreeMap<&String, Vec<f64>>> = arms
            .iter()
            .map(|(name, arm)| {
                let joined =
                    arm.iter().map(|(task, cells)| (task, cells.values().flatten().copied().collect()));
                (name, joined.collect())
            })
            .collect();
        let lists: Vec<Vec<Vec<f64>>> = trials.values().map(|arm| arm.values().cloned().collect()).collect();
        add(&mut checked.recorded, null_splits(&lists, 1, MARGIN));
        add(&mut checked.shuffled, null_splits(&lists, 1 + ORDERS, MARGIN));
        let arms: Vec<&BTreeMap<&String, Vec<f64>>> = trials.values().collect();
        for (number, base) in arms.iter().enumerate() {
            for arm in &arms[number + 1..] {
                pair(base, arm, policy.error_budget, &mut checked);
            }
        }
    }
    checked.flip_rate = checked.recorded.rate();
    if checked.recorded.splits == 0 && checked.too_few_tasks.is_empty() {
        return Err(Failure::bad_input("no arm has five tasks with two trials each: nothing to check")
            .hint("run an experiment first, or name a table with --table"));
    }
    if ui.json() {
        ui.document(&checked)?;
    } else {
        ui.out(&text(&checked))?;
    }
    Ok(Status::Done)
}

fn add(sum: &mut NullSplits, found: NullSplits) {
    sum.splits += found.splits;
    sum.flips += found.flips;
}

fn text(checked: &Checked) -> String {
    let rate = |of: &NullSplits| {
        let rate = of.rate().map_or("–".to_owned(), |rate| format!("{:.1}%", 100.0 * rate));
        format!("{} of {} decided ({rate})", of.flips, counted(of.splits, "split", "splits"))
    };
    let mut text = format!(
        "Halves of the same trials, which differ by chance alone\n  in the order of the trials: {}\n  in random orders: {}\n",
        rate(&checked.recorded),
        rate(&checked.shuffled)
    );
    if checked.decided_pairs > 0 {
        text.push_str(&format!(
            "Pairs of arms that all trials decide: {}, of which half of the trials decide {} alike ({:.1}%)\n",
            checked.decided_pairs,
            checked.decided_by_half,
            100.0 * checked.decided_by_half as f64 / checked.decided_pairs as f64
        ));
    }
    if checked.naive_pairs > 0 {
        text.push_str(&format!(
            "A gate that compares two means, on measurements of the same commit: {} of {} of measurements have opposite decisions ({:.1}%)\n",
            checked.naive_flips,
            counted(checked.naive_pairs, "pair", "pairs"),
            100.0 * checked.naive_flips as f64 / checked.naive_pairs as f64
        ));
    }
    if !checked.too_few_tasks.is_empty() {
        text.push_str(&format!(
            "Refused, fewer than {FEWEST} tasks: {} ({})\n",
            counted(checked.too_few_tasks.len(), "skill", "skills"),
            checked.too_few_tasks.join(", ")
        ));
    }
    text
}

/// A pair that all trials decide, decided again by the first half of one arm and the second of the other.
fn pair(
    base: &BTreeMap<&String, Vec<f64>>,
    arm: &BTreeMap<&String, Vec<f64>>,
    error_budget: f64,
    checked: &mut Checked,
) {
    let pairs = |cut: &dyn Fn(&[f64], bool) -> Vec<f64>| -> Vec<PairedTask> {
        base.iter()
            .filter_map(|(task, base)| {
                let arm = arm.get(task)?;
                let (arm, base) = (cut(arm, true), cut(base, false));
                (!arm.is_empty() && !base.is_empty()).then_some(PairedTask { arm, base, cluster: None })
            })
            .collect()
    };
    // All data: the verdict. Half of them: the claim that a gate tests, in the direction of the verdict.
    let tasks = pairs(&|trials, _| trials.to_vec());
    let claim = match verdict(&tasks, 1, MARGIN, None).kind {
        VerdictKind::Helps => p_above,
        VerdictKind::Harms => p_below,
        VerdictKind::Negligible | VerdictKind::Inconclusive => return,
    };
    checked.decided_pairs += 1;
    let half = pairs(&|trials, second| {
        let half = trials.len() / 2;
        if second { trials[half..].to_vec() } else { trials[..half].to_vec() }
    });
    let is_shown = claim(&half, 0.0, SessionDrift::NONE).is_some_and(|p| 0.5 * p <= error_budget);
    checked.decided_by_half += usize::from(is_shown);
}

/// Decisions by means alone: for each measurement whether the second arm is better, and for how many pairs of
/// measurements that differs.
fn naive(arms: &BTreeMap<String, Arm>, checked: &mut Checked) {
    let mut arms = arms.values();
    let (Some(one), Some(other)) = (arms.next(), arms.next()) else { return };
    let means = |arm: &Arm| {
        let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for cells in arm.values() {
            for (measurement, scores) in cells {
                sums.entry(measurement.clone()).or_default().extend(scores);
            }
        }
        sums.into_iter()
            .map(|(measurement, scores)| {
                (measurement, scores.iter().sum::<f64>() / scores.len().max(1) as f64)
            })
            .collect::<BTreeMap<_, _>>()
    };
    let (one, other) = (means(one), means(other));
    let decisions: Vec<(&str, bool)> = one
        .iter()
        .filter_map(|(measurement, mean)| {
            // A measurement is named COMMIT ENTRY; only those of one commit are compared.
            let commit = measurement.split_once(' ')?.0;
            Some((commit, other.get(measurement)? < mean))
        })
        .collect();
    for (number, (commit, better)) in decisions.iter().enumerate() {
        for (_, again) in decisions[number + 1..].iter().filter(|(other, _)| other == commit) {
            checked.naive_pairs += 1;
            checked.naive_flips += usize::from(better != again);
        }
    }
}

/// The scores of every run of a store: agents and conditions are arms.
fn stored(store: &Store) -> Result<Groups, Failure> {
    let mut groups = Groups::new();
    for name in store.run_names() {
        let run = store.run(&name)?;
        let outcomes = RunOutcomes::read(store, &run)?;
        let arms = groups.entry(name.clone()).or_default();
        let mut cells: Vec<_> = run.cells.iter().collect();
        cells.sort_by_key(|cell| cell.repetition);
        for cell in cells {
            let record = store.record(&cell.trial)?;
            let Some(score) = record.and_then(|record| outcomes.value(&record)) else { continue };
            let arm =
                arms.entry(format!("{} {}", run.agents[cell.agent].name(), cell.condition)).or_default();
            arm.entry(cell.task.clone()).or_default().entry(String::new()).or_default().push(score);
        }
    }
    Ok(groups)
}

fn read(path: &Path, args: &GateArgs) -> Result<Groups, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(error.to_string());
    let range = args.range.split_once("..").and_then(|(low, high)| {
        let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        (low < high && low.is_finite() && high.is_finite()).then_some((low, high))
    });
    let (low, high) =
        range.ok_or_else(|| Failure::bad_input(format!("`--range {}` is not LOW..HIGH", args.range)))?;
    let column = match args.arms {
        Arms::Model => "model",
        Arms::Condition => "condition",
    };
    let mut reader = TableReader::open(path).map_err(|error| bad(&error))?;
    let mut groups = Groups::new();
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| bad(&error))?;
        let columns = reader.columns();
        for name in ["task", "score", column] {
            if !columns.iter().any(|column| column == name) {
                return Err(Failure::bad_input(format!("{}: no column `{name}`", path.display())));
            }
        }
        let get =
            |name: &str| columns.iter().position(|column| column == name).and_then(|at| row.values.get(at));
        let text = |name: &str| match get(name) {
            Some(Value::Text(text)) => Some(text.clone()),
            Some(Value::Integer(number)) => Some(number.to_string()),
            _ => None,
        };
        let score = get("score").and_then(Value::as_f64).map(|score| (score - low) / (high - low));
        let (Some(task), Some(arm), Some(score)) =
            (text("task"), text(column), score.filter(|score| (0.0..=1.0).contains(score)))
        else {
            continue;
        };
        let measurement = match (text("commit"), text("entry")) {
            (Some(commit), Some(entry)) => format!("{commit} {entry}"),
            _ => String::new(),
        };
        let group = text("skill").unwrap_or_default();
        let cells = groups.entry(group).or_default().entry(arm).or_default().entry(task).or_default();
        cells.entry(measurement).or_default().push(score);
    }
    Ok(groups)
}
