//! Labels of the items of the run itself.

use std::collections::BTreeMap;

use assay_stats::judge::{CorrectionError, Figure};
use assay_stats::prediction_powered::{FEWEST_LABELS, PoweredItem, PredictionPowered, SampledLabel};

use super::basis::{CorrectionBasis, PREDICTION_POWERED, item_weight, judged_score};
use super::pair::Pair;
use crate::calibration::CalibrationSet;
use crate::result::TrialResult;
use crate::table::{Slot, Table};

/// The judged items of a baseline, group 0, and of a condition, group 1, with the labels of some.
pub(super) struct OwnLabels {
    items: Vec<PoweredItem>,
    powered: PredictionPowered,
}

impl OwnLabels {
    /// The items of `tasks` that make up the judged score, with their weights in its mean. `None` if no label is of one.
    pub(super) fn find<'a>(
        calibration: &CalibrationSet,
        table: &Table,
        pair: &Pair,
        tasks: impl Iterator<Item = &'a str>,
        clusters: &BTreeMap<&str, u64>,
    ) -> Option<Self> {
        let labels: BTreeMap<&str, SampledLabel> = { calibration.items.iter() }
            .filter_map(|item| {
                let label = SampledLabel { met: item.label, weight: item.weight.unwrap_or(1.0) };
                Some((item.item.as_deref()?, label))
            })
            .collect();
        if labels.is_empty() {
            return None;
        }
        let mut items = Vec::new();
        for (number, task) in tasks.enumerate() {
            // Numbers of clusters and of tasks without one do not meet.
            let cluster = clusters.get(task).and_then(|cluster| usize::try_from(*cluster).ok());
            let cluster = cluster.map_or(2 * number, |cluster| cluster.wrapping_mul(2) | 1);
            for (group, condition) in [&pair.baseline, &pair.condition].into_iter().enumerate() {
                let slot = table.cells.get(condition).and_then(|tasks| tasks.get(task));
                let trials: Vec<&TrialResult> = { slot.into_iter().flat_map(Slot::valid) }
                    .filter(|trial| trial.judgement.as_deref().and_then(judged_score).is_some())
                    .collect();
                for trial in &trials {
                    add_items(&mut items, trial, trials.len(), |item, verdict, share| PoweredItem {
                        group,
                        verdict,
                        share,
                        cluster: Some(cluster),
                        label: { labels.get(format!("{}/{condition}/{item}", trial.trial.short()).as_str()) }
                            .copied(),
                    });
                }
            }
        }
        if items.iter().all(|item| item.label.is_none()) {
            return None;
        }
        let powered = PredictionPowered::new(&items, 2);
        Some(Self { items, powered })
    }

    /// The lift with its 95% CI, or why there is none.
    pub(super) fn lift(&self, pair: &Pair) -> Result<Figure, NoLift> {
        for (group, condition) in [&pair.baseline, &pair.condition].into_iter().enumerate() {
            let labels = self.powered.labels(group);
            if labels < FEWEST_LABELS {
                return Err(NoLift::FewLabels { condition: condition.clone(), labels });
            }
        }
        Ok(self.powered.difference(1, 0)?)
    }

    pub(super) fn basis(&self) -> CorrectionBasis {
        CorrectionBasis {
            estimator: PREDICTION_POWERED,
            lambda: self.powered.lambda(&[0, 1]),
            labels: self.powered.labels(0) + self.powered.labels(1),
            bias_if_unequal: None,
        }
    }

    /// The shares of met items that the judge calls met, and of others that it calls not met, over both conditions.
    pub(super) fn error_rates(&self) -> [Option<f64>; 2] {
        [true, false].map(|met| {
            let (mut right, mut all) = (0.0, 0.0);
            for item in &self.items {
                let Some(label) = item.label.filter(|label| label.met == met) else { continue };
                all += label.weight;
                right += if item.verdict == met { label.weight } else { 0.0 };
            }
            (all > 0.0).then(|| right / all)
        })
    }
}

/// Why labels of the run's items give no corrected lift.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoLift {
    #[error(
        "{labels} of the items of `{condition}` have a label and {FEWEST_LABELS} are needed: {} are missing",
        FEWEST_LABELS - labels
    )]
    FewLabels { condition: String, labels: usize },
    #[error(transparent)]
    Correction(#[from] CorrectionError),
}

/// Adds the items of a trial that its judged score is the mean of, one of `trials` of its cell: all trials of a cell
/// count 1 together.
fn add_items(
    items: &mut Vec<PoweredItem>,
    trial: &TrialResult,
    trials: usize,
    item_of: impl Fn(&str, bool, f64) -> PoweredItem,
) {
    let Some(judgement) = trial.judgement.as_deref() else { return };
    let plain = || judgement.items.iter().filter(|item| item.is_plain);
    let total: f64 = plain().map(|item| item_weight(judgement, item)).sum();
    for item in plain() {
        let share = item_weight(judgement, item) / total / trials as f64;
        items.push(item_of(&item.id, item.score.is_some_and(|score| score > 0.5), share));
    }
}
