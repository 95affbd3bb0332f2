//! The judged items of a run, or its pairs of results, as tables.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

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

/// The rows of a run's table. With a `sample` so many of them, drawn by its seed, in their order.
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
    let mut ranked: Vec<(blake3::Hash, usize)> = (0..rows.len())
        .map(|at| (blake3::hash(format!("{seed} {at} {}", rows[at]["item"]).as_bytes()), at))
        .collect();
    ranked.sort_by_key(|(hash, at)| (*hash.as_bytes(), *at));
    let mut kept: Vec<usize> = ranked.into_iter().take(sample).map(|(_, at)| at).collect();
    kept.sort_unstable();
    let mut rows: Vec<Option<Value>> = rows.into_iter().map(Some).collect();
    kept.into_iter().filter_map(|at| rows[at].take()).collect()
}
