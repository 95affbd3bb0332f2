//! Checks of the verifiers that changed against the baseline.

use assay_analysis::explore::{TestArm, TestChange, TestRow};
use assay_analysis::{ConditionRole, Report};

use crate::cells::{in_cell, link_last, or_none};
use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::links::Target;
use crate::text::{clean, counted};

/// Checks of the verifiers that changed against the baseline.
pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let reported = report.exploration.tests.len();
    let compared =
        report.exploration.tests.iter().flat_map(|row| &row.arms).filter(|arm| arm.lift.is_some()).count();
    let (grid, changed) = check_grid(&report.exploration.tests, report, labels);
    let text = match (reported, changed) {
        (0, _) => None,
        (_, 0) => Some(format!(
            "No check has a different result under a condition than under the baseline (the verifiers report {}).",
            counted(reported, "check", "checks")
        )),
        (_, changed) => {
            let shown = grid.as_ref().map_or(0, |grid| grid.rows.len());
            let rest = match changed - shown {
                0 => String::new(),
                _ => format!(
                    " Only {} shown, those of controls last and the largest first; the report as JSON (`--format json`) lists all.",
                    counted(shown, "difference is", "differences are")
                ),
            };
            Some(format!(
                "For exploration only. The verifiers report {}. Each check is compared between each condition and the baseline, \
                 which gives {}. In {changed} of these comparisons, the check passed in at least half of the \
                 condition's trials but in fewer than half of the baseline's trials, or the reverse.{rest}",
                counted(reported, "check", "checks"),
                counted(compared, "comparison", "comparisons")
            ))
        }
    };
    let blocks = text.map(Block::Text).into_iter().chain(grid.map(Block::Grid)).collect();
    Section { title: "Checks whose result differs from the baseline", level: Level::Tests, blocks }
}

/// The most checks in a table; the JSON has all.
const TESTS: usize = 40;

/// The checks that changed between failed and passed, and their number. Those of the primary condition come first and
/// those of controls last, each with the largest change first: the table is cut.
fn check_grid(tests: &[TestRow], report: &Report, labels: &Labels) -> (Option<Grid>, usize) {
    let mut changed: Vec<(&TestRow, &TestArm)> = tests
        .iter()
        .flat_map(|row| row.arms.iter().map(move |arm| (row, arm)))
        .filter(|(_, arm)| arm.change.is_some())
        .collect();
    let moved = |arm: &TestArm| arm.lift.unwrap_or_default().abs();
    let rank = |arm: &TestArm| {
        let role = report.arms.iter().find(|known| known.condition == arm.condition).map(|known| known.role);
        match role {
            _ if report.primary.as_ref() == Some(&arm.condition) => 0,
            Some(ConditionRole::Placebo | ConditionRole::Negative) => 2,
            _ => 1,
        }
    };
    // Stable, so that equal moves stay in order of task and name.
    changed.sort_by(|(_, one), (_, other)| {
        rank(one).cmp(&rank(other)).then(moved(other).total_cmp(&moved(one)))
    });
    let share = |arm: &TestArm| format!("{}/{}", arm.passed, arm.passed + arm.failed);
    let words = ["task", "check", "most trials"];
    let mut grid = labels.grid("", &words, &["baseline passed", "passed"]);
    grid.grouped = false;
    for (row, arm) in changed.iter().take(TESTS) {
        let baseline = row.arms.iter().find(|other| other.lift.is_none());
        let to_passed = arm.change == Some(TestChange::FailedToPassed);
        let mut cells = labels.cells(&row.who, &arm.condition);
        cells.extend([
            Cell::Name(clean(&row.task)),
            match &row.first_failed {
                Some(trial) => Cell::Name(clean(&row.test))
                    .link(Target::Trial { trial: trial.clone(), check: Some(row.test.clone()) }),
                None => Cell::Name(clean(&row.test)),
            },
            if to_passed { "failed → passed" } else { "passed → failed" }.into(),
            or_none(baseline, share),
            share(arm).into(),
        ]);
        if let Some(baseline) = baseline {
            link_last(&mut cells, 2, in_cell(&row.task, &row.who, &baseline.condition));
        }
        link_last(&mut cells, 1, in_cell(&row.task, &row.who, &arm.condition));
        grid.rows.push(cells);
    }
    ((!grid.rows.is_empty()).then_some(grid), changed.len())
}
