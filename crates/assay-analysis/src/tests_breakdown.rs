//! Which of the verifiers' tests fail, arm by arm, and which ones a condition turns.

use std::collections::{BTreeMap, BTreeSet};

use assay_trial::RunFolder;
use serde::Serialize;
use serde_json::Value;

use crate::gather::{Slot, Table};

/// Tests of one trial that are looked at; a report that names more is not about tests.
const MOST: usize = 2_000;

/// A test's name is cut here.
const NAME: usize = 200;

/// One test of one task under one agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestRow {
    /// The task.
    pub task: String,
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: String,
    /// The test, as the verifier calls it.
    pub test: String,
    /// By condition, in the plan's order; only where a trial reports the test.
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
    /// Difference of the shares passed, to the baseline; `null` for the baseline itself and where it has no such test.
    pub lift: Option<f64>,
    /// `failed_to_passed` where the test passes in fewer than half of the baseline's trials and in at least half of these;
    /// `passed_to_failed` the other way round.
    pub change: Option<&'static str>,
}

impl TestArm {
    fn share(&self) -> f64 {
        self.passed as f64 / (self.passed + self.failed) as f64
    }
}

/// Whether each test of a CTRF report passed, by name. One that was skipped or never ended says nothing; of several with one
/// name, all have to pass.
pub(crate) fn verdicts(ctrf: &Value) -> BTreeMap<String, bool> {
    let mut verdicts = BTreeMap::new();
    let tests = ctrf.get("tests").and_then(Value::as_array);
    for test in tests.into_iter().flatten().take(MOST) {
        let text = |key: &str| test.get(key).and_then(Value::as_str);
        let passed = match text("status") {
            Some("passed") => true,
            Some("failed") => false,
            _ => continue,
        };
        let Some(name) = text("name").filter(|name| !name.is_empty()) else { continue };
        let name: String = name.chars().take(NAME).collect();
        verdicts.entry(name).and_modify(|all| *all &= passed).or_insert(passed);
    }
    verdicts
}

/// Every test of a run, table by table, in order of task and name.
pub(crate) fn rows(run: &RunFolder, tables: &[Table]) -> Vec<TestRow> {
    let mut rows = Vec::new();
    for table in tables {
        let who = &run.agents[table.agent];
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
                    agent: who.name().to_owned(),
                    model: who.label.model.clone(),
                    sandbox: table.sandbox.clone(),
                    test: test.to_owned(),
                    arms: row(run, test, &arms),
                });
            }
        }
    }
    rows
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
            (false, true) => Some("failed_to_passed"),
            (true, false) => Some("passed_to_failed"),
            _ => None,
        };
    }
    found
}
