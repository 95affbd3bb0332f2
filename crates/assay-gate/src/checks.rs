//! Checks of verifiers under the baseline and under the skill.

use std::collections::BTreeMap;

use assay_analysis::Report;
use serde::Serialize;

/// Checks by whether they changed: a check passes under a condition if it does so in at least half of the trials.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct CheckChanges {
    pub(crate) fixed: Vec<String>,
    pub(crate) newly_failing: Vec<String>,
    pub(crate) still_passing: usize,
    pub(crate) still_failing: usize,
}

impl CheckChanges {
    /// The checks of a report under its baseline and under a condition. A task whose verifier reports no tests is one check.
    pub(crate) fn of(report: &Report, condition: &str) -> Self {
        let mut checks: BTreeMap<String, [[usize; 2]; 2]> = BTreeMap::new();
        let conditions: Vec<&str> = report.arms.iter().map(|arm| arm.condition.as_str()).collect();
        let Some(baseline) = conditions.first() else { return Self::default() };
        let skill = condition;
        let at = |condition: &str| {
            (condition == *baseline).then_some(0).or_else(|| (condition == skill).then_some(1))
        };
        for row in &report.exploration.tests {
            let counts = checks.entry(format!("{}: {}", row.task, row.test)).or_default();
            for arm in &row.arms {
                let Some(at) = at(&arm.condition) else { continue };
                let [passed, all] = &mut counts[at];
                *passed += arm.passed;
                *all += arm.passed + arm.failed;
            }
        }
        for row in &report.tasks {
            if report.exploration.tests.iter().any(|test| test.task == row.task) {
                continue;
            }
            let counts = checks.entry(row.task.clone()).or_default();
            for arm in &row.arms {
                let Some(at) = at(&arm.condition) else { continue };
                let [passed, all] = &mut counts[at];
                *passed += arm.passed;
                *all += arm.trials;
            }
        }
        let mut changes = Self::default();
        for (check, counts) in checks {
            let passes = |[passed, all]: [usize; 2]| all > 0 && 2 * passed >= all;
            match counts.map(passes) {
                [false, true] => changes.fixed.push(check),
                [true, false] => changes.newly_failing.push(check),
                [true, true] => changes.still_passing += 1,
                [false, false] => changes.still_failing += 1,
            }
        }
        changes
    }

    /// One line.
    pub(crate) fn summarize(&self) -> String {
        format!(
            "{} fixed, {} newly failing, {} still passing, {} still failing",
            self.fixed.len(),
            self.newly_failing.len(),
            self.still_passing,
            self.still_failing
        )
    }
}
