//! Which of the verifiers' tests fail, arm by arm, and which ones a condition turns.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{RunFolder, TrialId};
use serde::Serialize;

use crate::model::AgentKey;
use crate::table::{Slot, Table};

/// One test of one task under one agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestRow {
    /// The task.
    pub task: String,
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The test, as the verifier calls it.
    pub test: String,
    /// The first trial in which it failed, in the plan's order of conditions; `null` if it never did.
    pub first_failed: Option<TrialId>,
    /// By condition, in the plan's order; only if a trial reports the test.
    pub arms: Vec<TestArm>,
}

/// One test in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestArm {
    /// The condition.
    pub condition: String,
    /// Valid trials in which it passed.
    pub passed: usize,
    /// Valid trials in which it failed.
    pub failed: usize,
    /// Difference of the shares passed, to the baseline; `null` for the baseline itself and if it
    /// has no such test.
    pub lift: Option<f64>,
    /// `failed_to_passed` if the test passes in fewer than half of the baseline's trials and in at
    /// least half of these; `passed_to_failed` in the opposite case.
    pub change: Option<TestChange>,
}

/// The result of a test under a condition, if it differs from the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestChange {
    /// It failed in most trials of the baseline.
    FailedToPassed,
    /// It passed in most trials of the baseline.
    PassedToFailed,
}

impl TestArm {
    fn share(&self) -> f64 {
        self.passed as f64 / (self.passed + self.failed) as f64
    }
}

/// Every test of a run, table by table, in order of task and name.
pub(super) fn rows(run: &RunFolder, tables: &[Table]) -> Vec<TestRow> {
    let mut rows = Vec::new();
    for table in tables {
        for task in &run.tasks {
            let arms: Vec<(&str, BTreeMap<&str, [usize; 2]>)> = run
                .conditions
                .iter()
                .filter_map(|condition| {
                    Some((condition.as_str(), counts(table.cells.get(condition)?.get(&task.name)?)))
                })
                .collect();
            let tests: BTreeSet<&str> = arms.iter().flat_map(|(_, tests)| tests.keys().copied()).collect();
            for test in tests {
                rows.push(TestRow {
                    task: task.name.clone(),
                    who: table.who.clone(),
                    test: test.to_owned(),
                    first_failed: first_failed(run, table, &task.name, test),
                    arms: row(run, test, &arms),
                });
            }
        }
    }
    rows
}

/// The first trial of a task in which a test failed.
fn first_failed(run: &RunFolder, table: &Table, task: &str, test: &str) -> Option<TrialId> {
    let slots = run.conditions.iter().filter_map(|condition| table.cells.get(condition)?.get(task));
    let mut results = slots.flat_map(Slot::valid);
    let failed = results.find(|result| result.tests.get(test) == Some(&false));
    failed.map(|result| result.trial.clone())
}

/// How often each test failed and passed in the valid trials of a cell.
fn counts(slot: &Slot) -> BTreeMap<&str, [usize; 2]> {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (test, passed) in slot.valid().flat_map(|result| &result.tests) {
        counts.entry(test).or_default()[usize::from(*passed)] += 1;
    }
    counts
}

fn row(run: &RunFolder, test: &str, arms: &[(&str, BTreeMap<&str, [usize; 2]>)]) -> Vec<TestArm> {
    let mut found: Vec<TestArm> = arms
        .iter()
        .filter_map(|(condition, tests)| {
            let [failed, passed] = *tests.get(test)?;
            Some(TestArm { condition: (*condition).to_owned(), passed, failed, lift: None, change: None })
        })
        .collect();
    let baseline = run.conditions.first();
    let base = found.iter().find(|arm| Some(&arm.condition) == baseline).map(TestArm::share);
    for arm in found.iter_mut().filter(|arm| Some(&arm.condition) != baseline) {
        let Some(base) = base else { continue };
        let own = arm.share();
        arm.lift = Some(own - base);
        arm.change = match (base >= 0.5, own >= 0.5) {
            (false, true) => Some(TestChange::FailedToPassed),
            (true, false) => Some(TestChange::PassedToFailed),
            _ => None,
        };
    }
    found
}
