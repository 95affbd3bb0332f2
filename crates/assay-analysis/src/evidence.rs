//! The paired results of a run, for decisions other than a report's.

use assay_stats::PairedTask;
use assay_store::{RunFolder, Selection, Store, StoreError, TrialId};
use serde_json::json;

use crate::comparisons::{clusters, compared_tasks};
use crate::gather::Gathered;
use crate::model::AgentKey;
use crate::table::{Slot, Table};

/// The results of a condition and its baseline on the tasks that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Agent, model and sandbox.
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition.
    pub condition: String,
    /// The tasks' scores.
    pub tasks: Vec<PairedTask>,
    /// A hash of the trials and their outcomes.
    pub digest: String,
}

/// The evidence of every comparison of a run with its baseline.
///
/// # Errors
/// Records that cannot be read, or are of another version.
pub fn evidence(store: &Store, run: &RunFolder) -> Result<Vec<Evidence>, StoreError> {
    let Some(baseline) = run.conditions.first() else { return Ok(Vec::new()) };
    evidence_against(store, run, baseline)
}

/// The evidence of every comparison of the other conditions of a run with this one.
///
/// # Errors
/// As [`evidence`].
pub fn evidence_against(store: &Store, run: &RunFolder, baseline: &str) -> Result<Vec<Evidence>, StoreError> {
    let gathered = Gathered::read(store, run, &Selection::default())?;
    let others: Vec<&String> = run.conditions.iter().filter(|other| *other != baseline).collect();
    let clusters = clusters(run);
    let mut found = Vec::new();
    for table in gathered.tables.iter().filter(|table| table.cells.contains_key(baseline)) {
        for condition in others.iter().filter(|other| table.cells.contains_key(other.as_str())) {
            let (tasks, _) = compared_tasks(table, baseline, condition, &clusters);
            found.push(Evidence {
                who: table.who.clone(),
                baseline: baseline.to_owned(),
                condition: (*condition).clone(),
                tasks,
                digest: digest(table, [baseline, condition.as_str()]),
            });
        }
    }
    Ok(found)
}

fn digest(table: &Table, conditions: [&str; 2]) -> String {
    let cells = conditions.into_iter().filter_map(|name| table.cells.get(name));
    let slots = cells.flat_map(|tasks| tasks.values()).flat_map(|slot: &Slot| &slot.results);
    let mut results: Vec<String> = slots
        .map(|result| format!("{} {} {:?}", result.trial.as_str(), result.outcome.word(), result.score))
        .collect();
    results.sort_unstable();
    format!("blake3:{}", TrialId::of(&json!(results)).as_str())
}
