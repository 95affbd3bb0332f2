//! What a corrected lift rests on: an estimator, and the items that the judge decides.

use assay_store::{JudgedItem, Judgement};
use serde::Serialize;

/// What a corrected lift rests on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CorrectionBasis {
    /// [`PREDICTION_POWERED`] with labels of the run's own items, [`ROGAN_GLADEN`] with labels from elsewhere.
    pub estimator: &'static str,
    /// How far the verdicts are relied upon beside the labels, in [0, 1]; `null` with labels from elsewhere.
    pub lambda: Option<f64>,
    /// Labels that are used.
    pub labels: usize,
    /// With labels from elsewhere: what it would do to the lift if the judge erred differently with the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias_if_unequal: Option<BiasIfUnequal>,
}

/// The estimator for labels of the run's own items.
pub const PREDICTION_POWERED: &str = "prediction-powered";

/// The estimator for labels from elsewhere.
pub const ROGAN_GLADEN: &str = "rogan-gladen";

/// By how much a corrected lift is too high if an error rate of the judge differs under the condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BiasIfUnequal {
    /// The difference of the rate.
    pub by: f64,
    /// If the specificity is lower by so much.
    pub specificity: f64,
    /// If the sensitivity is higher by so much.
    pub sensitivity: f64,
}

/// The mean of the items whose verdict is the score up to the judge's errors, weighted by what they decide, and
/// their share of the whole score. `None` without such an item.
pub(super) fn judged_score(judgement: &Judgement) -> Option<(f64, f64)> {
    let total: f64 = judgement.sets.iter().filter(|set| set.score.is_some()).map(|set| set.weight).sum();
    let (mut sum, mut of) = (0.0, 0.0);
    for item in judgement.items.iter().filter(|item| item.is_plain) {
        let own = item_weight(judgement, item);
        sum += own * item.score?;
        of += own;
    }
    (of > 0.0 && total > 0.0).then(|| (sum / of, of / total))
}

/// What an item counts in the score of its trial, of all items together the weights of their sets.
pub(super) fn item_weight(judgement: &Judgement, item: &JudgedItem) -> f64 {
    let set = judgement.sets.iter().find(|one| one.name == item.set);
    item.share * set.map_or(0.0, |set| set.weight)
}
