//! The question of a run, and what earlier runs found.

use assay_stats::VerdictKind;
use assay_store::{EarlierKind, EarlierRun, RunFolder, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::INTERIM;

/// The question that a run asks, and the earlier runs of the store that asked the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AskedQuestion {
    /// The same in all runs that ask the same.
    pub id: String,
    /// Earlier runs with trials that this one did not make: trials of their own, or a part of this run's. Oldest first.
    pub earlier: Vec<String>,
    /// Of `earlier`, those whose trials are all part of this run, which executed more.
    pub extends: Vec<String>,
    /// Earlier runs with the same trials, which this run analyzes again: with another margin, primary condition or rule.
    pub reanalyzes: Vec<String>,
    /// What was found by the runs of `earlier` and `reanalyzes`, in this order.
    #[serde(skip)]
    pub past: Vec<PastRun>,
}

/// An earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    /// Its name.
    pub run: String,
    /// Its last verdicts on the question, by the store's history; empty if that has none.
    pub words: Vec<String>,
    /// How its trials are related to those of the later run.
    pub kind: EarlierKind,
}

impl AskedQuestion {
    /// The most that the chance of a false verdict in a series of this run and the earlier ones can be, if they are
    /// independent: 1 − .95^k.
    pub fn false_share(&self) -> f64 {
        let runs = i32::try_from(self.earlier.len()).unwrap_or(i32::MAX - 1) + 1;
        1.0 - 0.95_f64.powi(runs)
    }
}

/// The question of a run; `None` if it compares nothing.
///
/// # Errors
/// The history cannot be read.
pub fn question(store: &Store, run: &RunFolder) -> Result<Option<AskedQuestion>, StoreError> {
    let (asked, runs) = store.earlier_runs(run);
    if asked.parts.is_empty() {
        return Ok(None);
    }
    let named = |holds: fn(EarlierKind) -> bool| -> Vec<String> {
        runs.iter().filter(|earlier| holds(earlier.kind)).map(|earlier| earlier.run.clone()).collect()
    };
    let history = if runs.is_empty() { Vec::new() } else { store.history()? };
    let mut past: Vec<PastRun> = runs
        .iter()
        .map(|earlier| PastRun {
            run: earlier.run.clone(),
            words: words(&history, earlier),
            kind: earlier.kind,
        })
        .collect();
    // Stable: the oldest first among each.
    past.sort_by_key(|earlier| earlier.kind == EarlierKind::Reanalyzed);
    Ok(Some(AskedQuestion {
        id: asked.id,
        earlier: named(|kind| kind != EarlierKind::Reanalyzed),
        extends: named(|kind| kind == EarlierKind::Extended),
        reanalyzes: named(|kind| kind == EarlierKind::Reanalyzed),
        past,
    }))
}

/// The last verdicts of an earlier run by the history of the store, each word once.
fn words(history: &[Value], earlier: &EarlierRun) -> Vec<String> {
    let is_own = |line: &&Value| line.get("run").and_then(Value::as_str) == Some(&earlier.run);
    let last = history.iter().rev().find(is_own);
    let verdicts = last.and_then(|line| line.get("verdicts")).and_then(Value::as_array);
    let mut words: Vec<String> = Vec::new();
    let mut add = |word: &str| {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    };
    for verdict in verdicts.into_iter().flatten() {
        let condition = verdict.get("condition").and_then(Value::as_str).unwrap_or_default();
        if !earlier.conditions.iter().any(|known| known == condition) {
            continue;
        }
        if verdict.get("stopped").and_then(Value::as_bool) == Some(true) {
            add("stopped");
        }
        // Lines of 0.1.0 have other words.
        match verdict.get("verdict").filter(|word| !word.is_null()) {
            Some(word) => match VerdictKind::deserialize(word) {
                Ok(kind) => add(kind.word()),
                Err(_) => add(word.as_str().unwrap_or(INTERIM)),
            },
            None => add(INTERIM),
        }
    }
    words
}
