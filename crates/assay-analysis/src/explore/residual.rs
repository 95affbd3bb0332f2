//! Failures that remain under a condition: which checks, in which trials.

use std::collections::BTreeMap;

use assay_store::{ConditionRole, Outcome, RunFolder, TrialId};
use serde::Serialize;

use crate::model::AgentKey;
use crate::table::{Slot, Table};

/// One check of a task that fails in trials of a condition other than the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResidualFailure {
    /// The condition.
    pub condition: String,
    /// Whose trials these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The task.
    pub task: String,
    /// The check, as the verifier calls it; `null` for trials that did not pass although no
    /// reported check failed, or without a report of checks.
    pub test: Option<String>,
    /// Valid trials in which it failed.
    pub failed: usize,
    /// Valid trials of the task under the condition.
    pub trials: usize,
    /// The trials in which it failed, in order of repetition.
    pub failed_trials: Vec<TrialId>,
}

/// A task that is not passed in all trials of a condition other than the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailingTask {
    /// The task.
    pub task: String,
    /// Whose trials these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The conditions under which it fails: the primary one first, and controls last.
    pub conditions: Vec<FailingCondition>,
}

/// A condition under which a task fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailingCondition {
    /// The condition.
    pub condition: String,
    /// Whether it is a control, which should not help: a placebo, or a skill that is not about the task.
    pub control: bool,
    /// Valid trials that did not pass.
    pub failed: usize,
    /// Valid trials of the task under the condition.
    pub trials: usize,
    /// The checks that failed, those of most trials first; empty if none was reported.
    pub checks: Vec<String>,
    /// The trials that did not pass.
    pub failed_trials: Vec<TrialId>,
}

impl FailingTask {
    /// Whether it fails under controls only.
    pub fn is_of_controls(&self) -> bool {
        self.conditions.iter().all(|condition| condition.control)
    }
}

/// The failures of [`failures`], in its order, by task.
pub(super) fn by_task(run: &RunFolder, failures: &[ResidualFailure]) -> Vec<FailingTask> {
    let mut tasks: Vec<FailingTask> = Vec::new();
    let mut places: BTreeMap<(&str, &AgentKey), usize> = BTreeMap::new();
    for row in failures {
        let at = *places.entry((&row.task, &row.who)).or_insert_with(|| {
            tasks.push(FailingTask { task: row.task.clone(), who: row.who.clone(), conditions: Vec::new() });
            tasks.len() - 1
        });
        let conditions = &mut tasks[at].conditions;
        let known = conditions.iter().position(|known| known.condition == row.condition);
        let at = known.unwrap_or_else(|| {
            conditions.push(FailingCondition {
                condition: row.condition.clone(),
                control: is_control(run, &row.condition),
                failed: 0,
                trials: row.trials,
                checks: Vec::new(),
                failed_trials: Vec::new(),
            });
            conditions.len() - 1
        });
        let condition = &mut conditions[at];
        condition.checks.extend(row.test.clone());
        for trial in &row.failed_trials {
            if !condition.failed_trials.contains(trial) {
                condition.failed_trials.push(trial.clone());
            }
        }
        condition.failed = condition.failed_trials.len();
    }
    tasks
}

/// Whether a condition is one that should not help.
fn is_control(run: &RunFolder, condition: &str) -> bool {
    let role = run.role_of(condition);
    run.primary.as_deref() != Some(condition)
        && matches!(role, ConditionRole::Placebo | ConditionRole::Negative)
}

/// All of them: those of the primary condition first and those of controls last, each with most failed trials first,
/// then by the share of trials, condition, task and check. Lists are cut, and the failures of a placebo are expected.
pub(super) fn failures(run: &RunFolder, tables: &[Table]) -> Vec<ResidualFailure> {
    let mut found = Vec::new();
    for condition in run.conditions.iter().skip(1) {
        for table in tables {
            for (task, slot) in table.cells.get(condition).into_iter().flatten() {
                let trials = slot.valid().count();
                found.extend(by_check(slot).into_iter().map(|(test, failed_trials)| ResidualFailure {
                    condition: condition.clone(),
                    who: table.who.clone(),
                    task: task.clone(),
                    test: test.map(str::to_owned),
                    failed: failed_trials.len(),
                    trials,
                    failed_trials,
                }));
            }
        }
    }
    // Stable: equal ones stay in order of condition, agent, task and check.
    found.sort_by(|one, other| {
        let share = |row: &ResidualFailure| row.failed as f64 / row.trials as f64;
        let rank = |row: &ResidualFailure| match run.primary.as_ref() {
            Some(primary) if *primary == row.condition => 0,
            _ if is_control(run, &row.condition) => 2,
            _ => 1,
        };
        let by_failures = other.failed.cmp(&one.failed);
        rank(one).cmp(&rank(other)).then(by_failures).then(share(other).total_cmp(&share(one)))
    });
    found
}

/// The failed trials of a cell by check.
fn by_check(slot: &Slot) -> BTreeMap<Option<&str>, Vec<TrialId>> {
    let mut found: BTreeMap<Option<&str>, Vec<TrialId>> = BTreeMap::new();
    for result in slot.valid().filter(|result| result.outcome != Outcome::Passed) {
        let failed: Vec<&str> =
            result.tests.iter().filter(|(_, passed)| !**passed).map(|(name, _)| name.as_str()).collect();
        if failed.is_empty() {
            found.entry(None).or_default().push(result.trial.clone());
        }
        for name in failed {
            found.entry(Some(name)).or_default().push(result.trial.clone());
        }
    }
    found
}
