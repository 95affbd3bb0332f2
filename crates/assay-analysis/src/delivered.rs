//! The share of trials with their treatment: a comparison with a treatment that was not delivered shows nothing about
//! it.

use assay_stats::{Reason, VerdictKind};
use assay_store::RunFolder;
use assay_trace::Disclosure;

use crate::delivery::WrittenSkills;
use crate::model::{Comparison, GeneratedShares};
use crate::result::TrialResult;

/// A comparison needs a treatment that was delivered in at least this share of the condition's valid trials.
pub const LEAST_DELIVERED: f64 = 0.5;

/// The share of a condition's valid trials in which its treatment was there for the agent, among those of which this is
/// known; `None` without any, and for conditions without a treatment.
pub(crate) fn delivered_share<'a>(
    run: &RunFolder,
    condition: &str,
    valid: impl Iterator<Item = &'a TrialResult>,
) -> Option<f64> {
    let treatment = run.role_of(condition).treatment();
    let eager = run.disclosure_of(condition) == Disclosure::Eager.word();
    let known: Vec<bool> = valid.filter_map(|result| result.delivery.delivered(treatment, eager)).collect();
    let delivered = known.iter().filter(|delivered| **delivered).count();
    (!known.is_empty()).then(|| delivered as f64 / known.len() as f64)
}

/// Whether a share is too small for a comparison. Unknown delivery blocks nothing.
pub(crate) fn is_undelivered(share: Option<f64>) -> bool {
    share.is_some_and(|share| share < LEAST_DELIVERED)
}

/// Takes back the verdict of a comparison whose treatment was not delivered.
pub(crate) fn block(comparison: &mut Comparison) {
    // Without a verdict there is nothing to take back.
    if comparison.verdict.is_some() && is_undelivered(comparison.delivered) {
        comparison.verdict = Some(VerdictKind::Inconclusive);
        comparison.reason = Some(Reason::NotDelivered);
        comparison.direction = None;
        comparison.tasks_needed = None;
        comparison.tasks_to_confirm = None;
    }
}

/// The skills that the agents of an arm wrote; `None` if no record says any.
pub(crate) fn generated_shares<'a>(valid: impl Iterator<Item = &'a TrialResult>) -> Option<GeneratedShares> {
    let written: Vec<WrittenSkills> = valid.filter_map(|result| result.delivery.written).collect();
    if written.is_empty() {
        return None;
    }
    let skills: usize = written.iter().map(|one| one.skills).sum();
    let bytes: Option<u64> = written.iter().map(|one| one.bytes).sum();
    let opened: Option<Vec<bool>> = written.iter().map(|one| one.opened).collect();
    Some(GeneratedShares {
        trials: written.len(),
        trials_with_skills: written.iter().filter(|one| one.skills > 0).count(),
        skills,
        bytes_each: bytes.filter(|_| skills > 0).map(|bytes| bytes as f64 / skills as f64),
        opened: opened.map(|opened| opened.iter().filter(|opened| **opened).count()),
    })
}
