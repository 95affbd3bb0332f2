//! Conclusions that need a treatment which was not delivered.

use crate::contrasts::{Contrast, ContrastVerdict};
use crate::delivered::is_undelivered;
use crate::metrics::{GuardWord, MetricComparison, MetricWord};
use crate::model::{AgentKey, Comparison};

/// Takes back what contrasts and metrics say of arms whose treatments were not delivered.
pub(crate) fn block_others(
    comparisons: &[Comparison],
    contrasts: &mut [Contrast],
    metrics: &mut [MetricComparison],
) {
    let is_blocked = |who: &AgentKey, condition: &str| {
        comparisons
            .iter()
            .any(|found| is_undelivered(found.delivered) && found.who == *who && found.condition == condition)
    };
    for contrast in contrasts {
        let arms = [&contrast.first, &contrast.second];
        let conditions = [&contrast.condition, &contrast.baseline];
        if arms.iter().any(|who| conditions.iter().any(|condition| is_blocked(who, condition))) {
            contrast.verdict = contrast.verdict.map(|_| ContrastVerdict::Inconclusive);
        }
    }
    for metric in metrics.iter_mut().filter(|metric| is_blocked(&metric.who, &metric.condition)) {
        metric.verdict = metric.verdict.map(|_| MetricWord::Inconclusive);
        metric.guard_verdict = metric.guard_verdict.map(|_| GuardWord::Inconclusive);
    }
}
