//! What single checks decided under the two arms.

use std::collections::BTreeMap;

use assay_store::{AttemptEnd, ToolResults};

use super::document::{AppraisedCheck, AppraisedComparison};

/// Most checks of a document: those that differ most between the arms.
const MOST: usize = 100;

/// The checks of a comparison by name, over all its cases, the largest difference first. Attempts without a result are left out.
pub(super) fn appraised_checks(results: &ToolResults, first: &AppraisedComparison) -> Vec<AppraisedCheck> {
    let sides: Vec<Option<usize>> =
        first.ours.arms.iter().map(|own| results.arms.iter().position(|arm| arm.name == own.name)).collect();
    let mut checks: BTreeMap<&str, AppraisedCheck> = BTreeMap::new();
    for attempt in results.attempts.iter().filter(|attempt| attempt.end == AttemptEnd::Graded) {
        let Some(side) = sides.iter().position(|side| *side == Some(attempt.arm)) else { continue };
        for check in &attempt.checks {
            let entry = checks
                .entry(&check.name)
                .or_insert_with(|| AppraisedCheck { name: check.name.clone(), ..AppraisedCheck::default() });
            let counts = if side == 0 { &mut entry.arm } else { &mut entry.baseline };
            counts[0] += usize::from(check.passed);
            counts[1] += 1;
            entry.judged |= check.judged;
            if side == 0 && !check.passed && entry.reason.is_none() {
                entry.reason.clone_from(&check.reason);
            }
        }
    }
    let rate = |[passed, all]: [usize; 2]| if all == 0 { 0.0 } else { passed as f64 / all as f64 };
    let mut checks: Vec<AppraisedCheck> = checks.into_values().collect();
    checks.sort_by(|one, other| {
        let size = |check: &AppraisedCheck| (rate(check.arm) - rate(check.baseline)).abs();
        size(other).total_cmp(&size(one)).then_with(|| one.name.cmp(&other.name))
    });
    checks.truncate(MOST);
    checks
}
