//! Skills that were never opened: a bound of their effect without a baseline (docs/STATISTICS.md, "Never opened").

use std::collections::BTreeMap;

use assay_stats::{VerdictKind, opened_share_bound};
use assay_store::{ArmRole, AttemptEnd, ToolResults};

use super::document::{AppraisedComparison, ExposureFigures};

/// How often the skill was opened in the attempts with it; `None` if that is not known of any.
///
/// The bound needs every attempt: one that errored, or whose transcript is missing, may have opened it.
pub(super) fn exposure_figures(
    results: &ToolResults,
    lone: Option<usize>,
    comparisons: &[AppraisedComparison],
) -> Option<ExposureFigures> {
    let first = comparisons.first().and_then(|comparison| comparison.ours.arms.first());
    let arm = lone
        .or_else(|| results.arms.iter().position(|arm| Some(&arm.name) == first.map(|first| &first.name)))?;
    if results.arms[arm].role == ArmRole::Baseline {
        return None;
    }
    let mut cases: BTreeMap<&str, bool> = BTreeMap::new();
    let (mut attempts, mut known, mut opened) = (0, 0, 0);
    for attempt in results.attempts.iter().filter(|attempt| attempt.arm == arm) {
        attempts += 1;
        let was = attempt.opened == Some(true);
        // One that broke ended before it could open anything.
        known += usize::from(was || attempt.opened.is_some() && attempt.end == AttemptEnd::Graded);
        opened += usize::from(was);
        *cases.entry(&attempt.case).or_default() |= was;
    }
    if known == 0 {
        return None;
    }
    let tasks_opened = cases.values().filter(|opened| **opened).count();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let bound = (known == attempts).then(|| opened_share_bound(count(tasks_opened), count(cases.len())));
    Some(ExposureFigures { attempts, known, opened, tasks: cases.len(), tasks_opened, bound })
}

/// The verdict of a skill that was never opened: negligible, if the bound is below the margin and the comparison with a baseline
/// shows nothing else.
pub(super) fn apply_bound(
    comparison: &mut AppraisedComparison,
    exposure: Option<&ExposureFigures>,
    margin: f64,
) {
    let Some(exposure) = exposure.filter(|exposure| exposure.opened == 0) else { return };
    let shown = [VerdictKind::Helps, VerdictKind::Harms].map(VerdictKind::word);
    let contradicted = comparison.ours.verdict.is_some_and(|verdict| shown.contains(&verdict));
    if exposure.bound.is_some_and(|bound| bound < margin) && !contradicted {
        comparison.ours.verdict = Some(VerdictKind::Negligible.word());
        comparison.ours.reason = Some("never-opened");
    }
}
