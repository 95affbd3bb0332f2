//! Shared by the exploratory analyses: a condition and its baseline.

use std::collections::BTreeMap;

use assay_stats::{Interval, PairedTask};
use assay_store::RunFolder;

use crate::model::AgentKey;
use crate::result::TrialResult;
use crate::table::{Slot, Table};

/// A condition and its baseline under one agent in one sandbox, on the tasks that count.
pub(super) struct Pair<'a> {
    /// Index into the run's agents.
    pub(super) agent: usize,
    pub(super) who: &'a AgentKey,
    pub(super) baseline: &'a str,
    pub(super) condition: &'a str,
    /// Task, arm, baseline.
    pub(super) tasks: Vec<(&'a str, &'a Slot, &'a Slot)>,
}

/// All of them, in the order of the comparisons.
pub(super) fn pairs<'a>(run: &'a RunFolder, tables: &'a [Table]) -> Vec<Pair<'a>> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let mut pairs = Vec::new();
    for table in tables {
        let Some(bases) = table.cells.get(baseline) else { continue };
        let shared = table.shared_tasks();
        for condition in others {
            let Some(arms) = table.cells.get(condition) else { continue };
            if !table.is_usable(baseline) || !table.is_usable(condition) {
                continue;
            }
            let tasks =
                shared.iter().filter_map(|task| Some((*task, arms.get(*task)?, bases.get(*task)?))).collect();
            pairs.push(Pair { agent: table.agent, who: &table.who, baseline, condition, tasks });
        }
    }
    pairs
}

/// A task as the estimators take it.
pub(super) fn paired(task: &str, arm: &Slot, base: &Slot, clusters: &BTreeMap<&str, u64>) -> PairedTask {
    PairedTask { arm: arm.scores(), base: base.scores(), cluster: clusters.get(task).copied() }
}

/// A number of a cell's scored trials, in the order of their scores, if it is known of all of them.
pub(super) fn values_of_scored(slot: &Slot, value: impl Fn(&TrialResult) -> Option<f64>) -> Option<Vec<f64>> {
    slot.valid().filter(|result| result.score.is_some()).map(value).collect()
}

/// The difference of a task's mean scores.
pub(super) fn difference(arm: &Slot, base: &Slot) -> Option<f64> {
    arm.score().zip(base.score()).map(|(arm, base)| arm - base)
}

/// The shrunk difference of each task of a pair, in their order; `None` where it is unknown.
pub(super) fn shrunk_lifts(pair: &Pair<'_>) -> Vec<Option<f64>> {
    let tasks: Vec<PairedTask> =
        pair.tasks.iter().map(|(task, arm, base)| paired(task, arm, base, &BTreeMap::new())).collect();
    assay_stats::shrunk_lifts(&tasks).unwrap_or_else(|| vec![None; tasks.len()])
}

pub(super) fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}
