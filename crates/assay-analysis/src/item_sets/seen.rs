//! Whether each item is met in each trial of two conditions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_store::{Outcome, RunFolder};

use crate::checks::SetCheck;
use crate::judged::Pair;
use crate::result::TrialResult;
use crate::table::{Slot, Table};

/// Whether an item is met in a valid trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// It is.
    Yes,
    /// It is not: its check failed, or the trial ended without a result that could be checked.
    No,
    /// Unknown: the check was skipped, or a trial that passed does not report it.
    Unknown,
}

impl Met {
    /// 1 or 0; `None` if unknown.
    pub(super) fn score(self) -> Option<f64> {
        match self {
            Self::Yes => Some(1.0),
            Self::No => Some(0.0),
            Self::Unknown => None,
        }
    }
}

/// The check of an item in a trial, if its verifier reports it.
pub(super) fn find_check<'a>(result: &'a TrialResult, item: &SetCheck) -> Option<&'a SetCheck> {
    result.set_checks.iter().find(|check| check.label.set == item.label.set && check.key == item.key)
}

/// Whether an item of a task is met in a valid trial.
///
/// A trial that ran out of time or was tampered with meets nothing, as its score is 0. One that did not pass and does not
/// report the item does not meet it either: a verifier that ends early must not raise the share of what it still checks.
pub(super) fn is_met(result: &TrialResult, item: &SetCheck) -> Met {
    if matches!(result.outcome, Outcome::TimedOut | Outcome::Tampered) {
        return Met::No;
    }
    match find_check(result, item).map(|check| check.passed) {
        Some(Some(true)) => Met::Yes,
        Some(Some(false)) => Met::No,
        Some(None) => Met::Unknown,
        // It passed, whatever it does not say.
        None => {
            if result.outcome == Outcome::Passed {
                Met::Unknown
            } else {
                Met::No
            }
        }
    }
}

/// A task of two conditions, with its items.
pub(super) struct ViewedTask<'a> {
    pub(super) name: &'a str,
    /// The number of its cluster; its own where it declares none.
    pub(super) cluster: u64,
    /// Whether it counts: it has a valid trial in every arm of the table.
    pub(super) counts: bool,
    /// Without and with.
    pub(super) slots: [&'a Slot; 2],
    /// Each item that a trial of the task reports under any condition, as first reported in the plan's order of conditions.
    pub(super) items: Vec<&'a SetCheck>,
}

/// Two conditions of an agent with the items of their tasks.
pub(super) struct PairView<'a> {
    pub(super) table: Cow<'a, Table>,
    pub(super) pair: Pair,
    conditions: Vec<String>,
    clusters: BTreeMap<String, u64>,
    /// Whether the comparison is decided after rounds.
    pub(super) is_sequential: bool,
}

impl<'a> PairView<'a> {
    /// The view on a pair, with the trials that its comparison of scores reads.
    pub(super) fn of(run: &RunFolder, table: &'a Table, pair: Pair) -> Self {
        let look = table.looks.get(&pair.condition);
        let declared = crate::comparisons::clusters(run);
        let own = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
        let clusters = run.tasks.iter().enumerate().map(|(at, task)| {
            let cluster = declared.get(task.name.as_str()).copied().unwrap_or_else(|| own(at));
            (task.name.clone(), cluster)
        });
        Self {
            table: look.map_or(Cow::Borrowed(table), |look| Cow::Owned(table.as_read_by(look))),
            pair,
            conditions: run.conditions.clone(),
            clusters: clusters.collect(),
            is_sequential: look.is_some(),
        }
    }

    /// The executed tasks of both conditions, in order of name.
    pub(super) fn tasks(&self) -> Vec<ViewedTask<'_>> {
        let (Some(base), Some(arm)) =
            (self.table.cells.get(&self.pair.baseline), self.table.cells.get(&self.pair.condition))
        else {
            return Vec::new();
        };
        let (shared, executed) = (self.table.shared_tasks(), self.table.executed_tasks());
        let tasks = arm.iter().filter(|(task, _)| executed.contains(task.as_str()));
        tasks
            .filter_map(|(task, slot)| {
                Some(ViewedTask {
                    name: task,
                    cluster: self.clusters.get(task).copied().unwrap_or(u64::MAX),
                    counts: shared.contains(task.as_str()),
                    slots: [base.get(task)?, slot],
                    items: self.items(task),
                })
            })
            .collect()
    }

    fn items(&self, task: &str) -> Vec<&SetCheck> {
        let mut found: Vec<&SetCheck> = Vec::new();
        let slots = self.conditions.iter().filter_map(|name| self.table.cells.get(name)?.get(task));
        for check in slots.flat_map(Slot::valid).flat_map(|result| &result.set_checks) {
            let is_same = |known: &&SetCheck| known.label.set == check.label.set && known.key == check.key;
            if !found.iter().any(&is_same) {
                found.push(check);
            }
        }
        found
    }
}
