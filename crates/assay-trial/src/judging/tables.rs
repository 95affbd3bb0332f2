//! The judged items of a run, or its pairs of results, as tables.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use assay_stats::prediction_powered::allocate_labels;
use assay_store::{Record, RunFolder, Store, StoreError};
use serde_json::{Map, Value, json};

use super::inputs::judged_texts;
use super::regrade::is_kept;

/// What a row of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedRows {
    /// An item of a trial, with the judge's verdict.
    Items,
    /// Two results of a task, under the baseline and under another condition.
    Pairs,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgedTableError {
    /// No trial was judged.
    #[error("no trial of {run} was judged")]
    NotJudged {
        /// The run.
        run: String,
    },
    /// Trials were judged, and make no row.
    #[error("{run} has no such rows")]
    NoRows {
        /// The run.
        run: String,
    },
    /// What was judged cannot be read.
    #[error("cannot read what was judged of {trial}: {error}")]
    Read {
        /// The trial.
        trial: String,
        /// Why.
        error: io::Error,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A judged trial of a run.
struct JudgedTrial {
    record: Record,
    /// Which agent of the run.
    agent: usize,
    condition: String,
    instruction: String,
    material: Vec<(String, String)>,
}

/// The rows of a run's table. With a `sample` so many of them, drawn by its seed, in their order; items from each
/// condition and verdict, with the number of items that each counts for in `weight`.
///
/// # Errors
/// There are no rows, or the store cannot be read.
pub fn judged_rows(
    store: &Store,
    run: &RunFolder,
    kind: JudgedRows,
    sample: Option<(usize, u64)>,
) -> Result<Vec<Value>, JudgedTableError> {
    let trials = trials(store, run)?;
    if trials.is_empty() {
        return Err(JudgedTableError::NotJudged { run: run.run.clone() });
    }
    let rows = match kind {
        JudgedRows::Items => items(&trials),
        JudgedRows::Pairs => pairs(run, &trials),
    };
    if rows.is_empty() {
        return Err(JudgedTableError::NoRows { run: run.run.clone() });
    }
    Ok(match sample {
        Some((sample, seed)) if kind == JudgedRows::Items => stratified(rows, sample, seed),
        Some((sample, seed)) => drawn(rows, sample, seed),
        None => rows,
    })
}

fn trials(store: &Store, run: &RunFolder) -> Result<Vec<JudgedTrial>, JudgedTableError> {
    let kinds = run.judge.as_ref().map(|judge| judge.material.clone()).unwrap_or_default();
    let mut trials = Vec::new();
    for cell in &run.cells {
        let Some(record) = store.record(&cell.trial)? else { continue };
        if record.judgement.is_none() || !is_kept(store, &record) {
            continue;
        }
        let attempt: PathBuf =
            store.trial_folder(&cell.trial).join("attempts").join(record.attempt.to_string());
        let failed = |error| JudgedTableError::Read { trial: cell.trial.short().to_owned(), error };
        let (instruction, material) = judged_texts(&attempt, &kinds).map_err(failed)?;
        trials.push(JudgedTrial {
            record,
            agent: cell.agent,
            condition: cell.condition.clone(),
            instruction,
            material,
        });
    }
    Ok(trials)
}

/// A row for each item of each trial, with the judge's verdict.
fn items(trials: &[JudgedTrial]) -> Vec<Value> {
    let mut rows = Vec::new();
    for trial in trials {
        let id = trial.record.trial.short();
        let materials: Map<String, Value> =
            trial.material.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
        for item in trial.record.judgement.iter().flat_map(|judgement| &judgement.items) {
            // Nobody has to label what was decided without a judge, and scales have no two classes.
            if item.checked || item.verdict == "points" {
                continue;
            }
            let verdict = match item.verdict.as_str() {
                "met" => json!(true),
                "not-met" => json!(false),
                _ => Value::Null,
            };
            rows.push(json!({
                "item": format!("{id}/{}/{}", trial.condition, item.id), "task": trial.record.task,
                "cluster": trial.record.task, "condition": trial.condition, "model": trial.record.agent.model,
                "repetition": trial.record.repetition, "criterion": item.text, "instruction": trial.instruction,
                "materials": materials, "verdict": verdict, "quote": item.quote, "reason": item.reason,
                "undecided": item.undecided,
                "judge": trial.record.judgement.as_ref().map(|judgement| judgement.judges.join(", ")),
            }));
        }
    }
    rows
}

/// A row for each task, condition and repetition: `a` is the result under the baseline.
fn pairs(run: &RunFolder, trials: &[JudgedTrial]) -> Vec<Value> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    // Two agents may have one name and model.
    let key = |trial: &JudgedTrial| (trial.record.task.clone(), trial.agent, trial.record.repetition);
    let base: BTreeMap<_, &JudgedTrial> =
        trials.iter().filter(|trial| trial.condition == *baseline).map(|trial| (key(trial), trial)).collect();
    // People read them, too; `judge pairs` puts a mark around each.
    let text = |trial: &JudgedTrial| {
        let parts = trial.material.iter().map(|(name, text)| format!("--- {name}\n{text}\n"));
        parts.collect::<String>()
    };
    let mut rows = Vec::new();
    for trial in trials.iter().filter(|trial| others.contains(&trial.condition)) {
        let Some(base) = base.get(&key(trial)) else { continue };
        let model = &trial.record.agent.model;
        rows.push(json!({
            "task": trial.record.task, "repetition": trial.record.repetition, "instruction": trial.instruction,
            "a": text(base), "b": text(trial), "condition_a": baseline, "condition_b": trial.condition,
            "model_a": model, "model_b": model,
        }));
    }
    rows
}

/// A random sample of rows, in their order.
fn drawn(rows: Vec<Value>, sample: usize, seed: u64) -> Vec<Value> {
    let mut kept: Vec<usize> = shuffled(&rows, 0..rows.len(), seed).into_iter().take(sample).collect();
    kept.sort_unstable();
    let mut rows: Vec<Option<Value>> = rows.into_iter().map(Some).collect();
    kept.into_iter().filter_map(|at| rows[at].take()).collect()
}

/// Some rows in a random order.
fn shuffled(rows: &[Value], some: impl IntoIterator<Item = usize>, seed: u64) -> Vec<usize> {
    let rank = |at: usize| (blake3::hash(format!("{seed} {at} {}", rows[at]["item"]).as_bytes()), at);
    let mut ranked: Vec<(blake3::Hash, usize)> = some.into_iter().map(rank).collect();
    ranked.sort_by_key(|(hash, at)| (*hash.as_bytes(), *at));
    ranked.into_iter().map(|(_, at)| at).collect()
}

/// A random sample of items, in their order: as many of each condition, and of each verdict in proportion to its share of the
/// condition's items, which counts as a fifth if it is smaller. The column `weight` has 1/the probability of being
/// drawn.
fn stratified(mut rows: Vec<Value>, sample: usize, seed: u64) -> Vec<Value> {
    let mut conditions = BTreeMap::<String, BTreeMap<String, Vec<usize>>>::new();
    for (at, row) in rows.iter().enumerate() {
        let verdicts = conditions.entry(row["condition"].to_string()).or_default();
        verdicts.entry(row["verdict"].to_string()).or_default().push(at);
    }
    let sizes: Vec<Vec<usize>> =
        conditions.values().map(|verdicts| verdicts.values().map(Vec::len).collect()).collect();
    let mut kept = Vec::new();
    for (verdicts, own) in conditions.values().zip(allocate_labels(sample, &sizes)) {
        for (of, n) in verdicts.values().zip(own) {
            for at in shuffled(&rows, of.iter().copied(), seed).into_iter().take(n) {
                rows[at]["weight"] = json!(of.len() as f64 / n as f64);
                kept.push(at);
            }
        }
    }
    kept.sort_unstable();
    kept.into_iter().map(|at| rows[at].take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_items_of_each_condition_and_verdict() {
        // 90 of 100 met without, 5 of 20 with, and 3 undecided.
        let row = |at: usize| {
            let (condition, verdict) = match at {
                0..90 => ("a", json!(true)),
                90..100 => ("a", json!(false)),
                100..105 => ("b", json!(true)),
                105..120 => ("b", json!(false)),
                _ => ("b", Value::Null),
            };
            json!({"item": format!("i{at}"), "condition": condition, "verdict": verdict})
        };
        let rows: Vec<Value> = (0..123).map(row).collect();
        let check = |sample: usize, expected: &[(&str, Value, usize)]| {
            let found = stratified(rows.clone(), sample, 1);
            let mut weights = 0.0;
            let mut left = found.len();
            for (condition, verdict, n) in expected {
                let own: Vec<&Value> = { found.iter() }
                    .filter(|row| row["condition"] == *condition && row["verdict"] == *verdict)
                    .collect();
                assert_eq!(own.len(), *n, "{sample} {condition} {verdict}");
                weights += own.iter().map(|row| row["weight"].as_f64().unwrap()).sum::<f64>();
                left -= own.len();
            }
            assert_eq!(left, 0);
            assert!((weights - 123.0).abs() < 1e-9, "{weights}");
            let places: Vec<usize> =
                found.iter().map(|row| row["item"].as_str().unwrap()[1..].parse().unwrap()).collect();
            assert!(places.is_sorted());
        };
        let [met, not, open] = [json!(true), json!(false), Value::Null];
        check(
            40,
            &[
                ("a", met.clone(), 16),
                ("a", not.clone(), 4),
                ("b", met.clone(), 4),
                ("b", not.clone(), 13),
                ("b", open.clone(), 3),
            ],
        );
        // More than there are of one condition go to the other.
        check(
            80,
            &[("a", met.clone(), 47), ("a", not.clone(), 10), ("b", met, 5), ("b", not, 15), ("b", open, 3)],
        );
        assert_eq!(stratified(rows.clone(), 500, 1).len(), 123);
        assert_eq!(stratified(rows.clone(), 40, 1), stratified(rows.clone(), 40, 1));
        assert_ne!(stratified(rows.clone(), 40, 1), stratified(rows, 40, 2));
    }
}
