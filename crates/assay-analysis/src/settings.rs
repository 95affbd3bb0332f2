//! Settings that differ between two runs, so that their difference is not that of the skills alone.

use std::collections::BTreeMap;

use assay_store::{RunFolder, Store, StoreError, TrialId};
use serde_json::Value;

use crate::matching::MatchedCondition;
use crate::note::Note;

/// The settings of a trial that both runs should share, by their place in `trial.json`.
const SETTINGS: [(&str, &str); 8] = [
    ("/sandbox", "sandbox"),
    ("/limits/agent_seconds", "time limit of the agent in seconds"),
    ("/limits/verifier_seconds", "time limit of the verifier in seconds"),
    ("/limits/resources/cpus", "CPUs"),
    ("/limits/resources/memory_bytes", "bytes of memory"),
    ("/limits/resources/storage_bytes", "bytes of storage"),
    ("/limits/resources/pids", "processes"),
    ("/network/agent", "network of the agent"),
];

/// Differences that the plans show: disclosure, and placement by agent.
pub(crate) fn planned_differences(
    first: &RunFolder,
    second: &RunFolder,
    matched: &[MatchedCondition],
) -> Vec<Note> {
    let mut notes = Vec::new();
    for MatchedCondition { first: old, second: new, .. } in matched {
        let mut differs = |setting, first: String, second: String| {
            if first != second {
                notes.push(Note::SettingDiffers { setting, first, second, tasks: None });
            }
        };
        differs("condition", first.condition_of(old).to_owned(), second.condition_of(new).to_owned());
        differs("disclosure", first.disclosure_of(old).to_owned(), second.disclosure_of(new).to_owned());
    }
    let placement = |run: &RunFolder| -> BTreeMap<(String, Option<String>), &'static str> {
        let agents = run.agents.iter().filter_map(|agent| {
            Some(((agent.name().to_owned(), agent.label.model.clone()), agent.placement?.word()))
        });
        agents.collect()
    };
    let (before, after) = (placement(first), placement(second));
    for (agent, old) in &before {
        if let Some(new) = after.get(agent).filter(|new| *new != old) {
            notes.push(Note::SettingDiffers {
                setting: "placement of skills",
                first: (*old).to_owned(),
                second: (*new).to_owned(),
                tasks: None,
            });
        }
    }
    let mut unique: Vec<Note> = Vec::new();
    for note in notes {
        if !unique.contains(&note) {
            unique.push(note);
        }
    }
    unique
}

/// Differences that only the trials show: limits, network, sandbox. Imported trials have none of
/// these.
///
/// # Errors
/// A `trial.json` that is there and cannot be read.
pub(crate) fn executed(
    store: &Store,
    first: &RunFolder,
    second: &RunFolder,
) -> Result<Vec<Note>, StoreError> {
    let (before, after) = (first_trials(first), first_trials(second));
    // By setting and the two values: on how many tasks.
    let mut found: BTreeMap<(usize, String, String), usize> = BTreeMap::new();
    for (task, old) in &before {
        let Some(new) = after.get(task).filter(|new| *new != old) else { continue };
        let (Some(old), Some(new)) = (store.specification(old)?, store.specification(new)?) else { continue };
        for (number, (pointer, _)) in SETTINGS.iter().enumerate() {
            let (Some(old), Some(new)) = (old.pointer(pointer), new.pointer(pointer)) else { continue };
            if old != new {
                *found.entry((number, word(old), word(new))).or_default() += 1;
            }
        }
    }
    let note = |((number, first, second), tasks): ((usize, String, String), usize)| Note::SettingDiffers {
        setting: SETTINGS[number].1,
        first,
        second,
        tasks: Some(tasks),
    };
    Ok(found.into_iter().map(note).collect())
}

/// One trial of each task: tasks do not change their limits from trial to trial.
fn first_trials(run: &RunFolder) -> BTreeMap<&str, &TrialId> {
    let mut trials = BTreeMap::new();
    for cell in &run.cells {
        trials.entry(cell.task.as_str()).or_insert(&cell.trial);
    }
    trials
}

/// A setting as text: `none` where there is no limit.
fn word(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
