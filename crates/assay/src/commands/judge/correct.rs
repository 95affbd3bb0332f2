//! `assay judge correct`: rates without the errors of the judge.

use std::collections::BTreeMap;

use assay_stats::judge::{Calibration, Corrected, Judged, Labelled, equal_errors, separate_difference};
use serde_json::json;

use super::figures::{cell, ends};
use super::verdicts::{ClusterNumbers, VerdictColumns, VerdictRow, as_booleans, has_column, positive, read};
use crate::args::judge::CorrectArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Below this p-value error rates count as different between groups.
const DIFFERENT: f64 = 0.01;

/// The seed of the permutation test, which has no other use of chance.
const SEED: u64 = 1;

/// The groups by name.
type Groups<T> = BTreeMap<String, Vec<T>>;

pub(super) fn run(args: &CorrectArgs, ui: &Ui) -> Result<Status, Failure> {
    let by = match &args.by {
        Some(by) => Some(by.as_str()),
        None => has_column(&args.table, "condition")?.then_some("condition"),
    };
    let cluster = if let Some(cluster) = &args.cluster {
        Some(cluster.as_str())
    } else {
        let both = has_column(&args.table, "task")? && has_column(&args.calibration, "task")?;
        both.then_some("task")
    };
    let mut columns = VerdictColumns {
        verdict: &args.verdict,
        by: by.into_iter().collect(),
        cluster,
        ..VerdictColumns::default()
    };
    let mut clusters = ClusterNumbers::new();
    let judged = judged(args, read(&args.table, &columns, &mut clusters)?)?;
    columns.label = Some(&args.label);
    // A calibration set without groups is one for all of them.
    columns.optional = if args.separate { Vec::new() } else { columns.by.clone() };
    let labelled = labelled(args, read(&args.calibration, &columns, &mut clusters)?)?;
    let pooled: Vec<Labelled> = labelled.values().flatten().copied().collect();
    let shared = Calibration::new(&pooled).map_err(|error| invalid(args, &error.to_string()))?;
    let separate: BTreeMap<&str, Calibration> = if args.separate {
        judged
            .keys()
            .map(|by| {
                let own = labelled.get(by).map_or(&[][..], Vec::as_slice);
                let own = Calibration::new(own);
                Ok((by.as_str(), own.map_err(|error| invalid(args, &format!("group `{by}`: {error}")))?))
            })
            .collect::<Result<_, Failure>>()?
    } else {
        check_equal_errors(args, &labelled)?;
        BTreeMap::new()
    };
    let of = |by: &str| separate.get(by).unwrap_or(&shared);
    let refused = |error: &dyn std::fmt::Display| invalid(args, &error.to_string());
    let mut groups = Vec::new();
    for (by, items) in &judged {
        groups.push((by, items, of(by).rate(items).map_err(|error| refused(&error))?));
    }
    let mut differences = Vec::new();
    for (number, (a, items_a, of_a)) in groups.iter().enumerate() {
        for (b, items_b, of_b) in &groups[number + 1..] {
            let paired = of(a).difference(items_a, items_b).map_err(|error| refused(&error))?;
            let found = if args.separate {
                Corrected { raw: paired.raw, corrected: separate_difference(of_a.corrected, of_b.corrected) }
            } else {
                paired
            };
            differences.push((*a, *b, found));
        }
    }
    if ui.json() {
        let group = |(by, items, found): &(&String, &Vec<Judged>, Corrected)| {
            json!({"by": by, "n": items.len(), "raw": found.raw.value, "raw_ci95": ends(found.raw.interval),
                   "corrected": found.corrected.value, "ci95": ends(found.corrected.interval)})
        };
        let difference = |(a, b, found): &(&String, &String, Corrected)| {
            json!({"a": a, "b": b, "raw": found.raw.value, "raw_ci95": ends(found.raw.interval),
                   "corrected": found.corrected.value, "ci95": ends(found.corrected.interval)})
        };
        ui.document(&json!({
            "schema": "assay.judge-correction/1", "separate": args.separate, "cluster": cluster,
            "calibration": {"n": pooled.len(), "sensitivity": shared.sensitivity(), "specificity": shared.specificity()},
            "groups": groups.iter().map(group).collect::<Vec<_>>(),
            "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        }))?;
        return Ok(Status::Done);
    }
    let mut text = format!(
        "Sensitivity {:.3}, specificity {:.3} on {} labeled items\n\n",
        shared.sensitivity(),
        shared.specificity(),
        pooled.len()
    );
    let names: Vec<String> = groups
        .iter()
        .map(|(by, ..)| (*by).clone())
        .chain(differences.iter().map(|(a, b, _)| format!("{a} - {b}")))
        .collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
    text.push_str(&format!("{:<width$}  {:<26}  corrected\n", "Group", "as judged"));
    let found = groups.iter().map(|(.., found)| found).chain(differences.iter().map(|(.., found)| found));
    for (name, found) in names.iter().zip(found) {
        let (raw, corrected) = (cell(Some(found.raw)), cell(Some(found.corrected)));
        text.push_str(&format!("{name:<width$}  {raw:<26}  {corrected}\n"));
    }
    ui.out(&text)?;
    Ok(Status::Done)
}

/// Refuses to pool labels if the judge errs differently in different groups.
fn check_equal_errors(args: &CorrectArgs, labelled: &Groups<Labelled>) -> Result<(), Failure> {
    let groups: Vec<Vec<Labelled>> = labelled.values().cloned().collect();
    let Some(p) = equal_errors(&groups, SEED).filter(|p| *p < DIFFERENT) else { return Ok(()) };
    let rates = |(by, items): (&String, &Vec<Labelled>)| {
        let share = |label: bool| {
            let of: Vec<_> = items.iter().filter(|item| item.label == label).collect();
            let right = of.iter().filter(|item| item.judged.verdict == label).count();
            format!("{right} of {}", of.len())
        };
        format!("{by}: {} positive and {} negative items judged correctly", share(true), share(false))
    };
    let rates: Vec<String> = labelled.iter().map(rates).collect();
    let message =
        format!("the judge errs differently in different groups (p = {p:.4}): {}", rates.join("; "));
    Err(invalid(args, &message).hint("`--separate` corrects each group by its own error rates"))
}

fn invalid(args: &CorrectArgs, message: &str) -> Failure {
    Failure::bad_input(format!("{}: {message}", args.calibration.display()))
}

fn judged(args: &CorrectArgs, mut rows: Vec<VerdictRow>) -> Result<Groups<Judged>, Failure> {
    let positive = met(&args.table, &mut rows)?;
    let mut groups = Groups::new();
    for row in rows {
        if let Some(verdict) = row.verdict {
            let judged = Judged { verdict: verdict == positive, cluster: row.cluster };
            groups.entry(row.by.unwrap_or_else(|| "all".to_owned())).or_insert_with(Vec::new).push(judged);
        }
    }
    if groups.is_empty() {
        return Err(Failure::bad_input(format!("{}: no verdicts", args.table.display())));
    }
    Ok(groups)
}

fn labelled(args: &CorrectArgs, mut rows: Vec<VerdictRow>) -> Result<Groups<Labelled>, Failure> {
    let positive = met(&args.calibration, &mut rows)?;
    let mut groups = Groups::new();
    for row in rows {
        if let (Some(label), Some(verdict)) = (row.label, row.verdict) {
            let judged = Judged { verdict: verdict == positive, cluster: row.cluster };
            let item = Labelled { label: label == positive, judged };
            groups.entry(row.by.unwrap_or_else(|| "all".to_owned())).or_insert_with(Vec::new).push(item);
        }
    }
    Ok(groups)
}

/// The category for met.
fn met(path: &std::path::Path, rows: &mut [VerdictRow]) -> Result<&'static str, Failure> {
    let categories = as_booleans(rows);
    if categories.iter().all(|category| category == "false") {
        return Ok("true");
    }
    positive(&categories).ok_or_else(|| {
        let words: Vec<String> = categories.iter().take(5).map(|word| format!("`{word}`")).collect();
        let message = format!("{}: verdicts must be true or false, not {}", path.display(), words.join(", "));
        Failure::bad_input(message)
    })
}
