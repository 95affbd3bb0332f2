//! Lifts corrected for the errors of the judge.

use std::collections::BTreeMap;

use assay_stats::judge::{Calibration, CorrectionError, Figure, Judged, Labelled, equal_errors};
use assay_stats::{PairedTask, Reason};
use assay_store::RunFolder;
use serde::Serialize;

use super::basis::{BiasIfUnequal, CorrectionBasis, ROGAN_GLADEN, judged_score};
use super::own_labels::OwnLabels;
use super::pair::{Pair, means, paired, pairs, undelivered_share};
use crate::calibration::CalibrationSet;
use crate::model::Comparison;
use crate::table::{Slot, Table};

/// Below this p-value error rates count as different between conditions.
const DIFFERENT: f64 = 0.01;

/// The change of an error rate whose effect on the lift is reported.
const UNEQUAL: f64 = 0.1;

/// The seed of the permutation test, which has no other use of chance.
const SEED: u64 = 1;

/// The labelled items of a condition, or all of them.
fn labelled<'a>(set: &'a CalibrationSet, condition: Option<&'a str>) -> impl Iterator<Item = Labelled> + 'a {
    let own =
        set.items.iter().filter(move |item| condition.is_none() || item.condition.as_deref() == condition);
    own.filter_map(|item| {
        let judged = Judged { verdict: item.verdict?, cluster: item.cluster };
        Some(Labelled { label: item.label, judged })
    })
}

/// A lift with and without the errors of the judge, on the items that it decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorrectedLift {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// Tasks with judged items under both.
    pub tasks: usize,
    /// Mean judged score without, in [0, 1].
    pub without: f64,
    /// Mean judged score with.
    pub with: f64,
    /// The difference as judged.
    pub raw: f64,
    /// Its 95% CI.
    pub raw_ci95: Option<[f64; 2]>,
    /// The corrected difference; `null` if it is refused.
    pub corrected: Option<f64>,
    /// Its 95% CI, with the uncertainty of the calibration.
    pub ci95: Option<[f64; 2]>,
    /// Why there is no corrected difference.
    pub refused: Option<String>,
    /// `not-delivered`, if that is why.
    pub reason: Option<Reason>,
    /// How it is corrected.
    pub judge: CorrectionBasis,
    /// Sensitivity in the calibration set.
    pub sensitivity: Option<f64>,
    /// Specificity in the calibration set.
    pub specificity: Option<f64>,
    /// Who wrote the labels.
    pub labels_by: String,
    /// Share of the score, over all judged trials, that the corrected items decide.
    pub share: f64,
}

impl BiasIfUnequal {
    fn of(rates: &Calibration, with: f64) -> Self {
        let bias = rates.bias_if_unequal(rates.corrected_rate(with));
        let [specificity, sensitivity] = bias.map(|per_unit| UNEQUAL * per_unit);
        Self { by: UNEQUAL, specificity, sensitivity }
    }
}

/// The corrected lift of each condition.
pub(super) fn lifts(
    run: &RunFolder,
    tables: &[Table],
    comparisons: &[Comparison],
    calibration: &CalibrationSet,
    clusters: &BTreeMap<&str, u64>,
) -> Vec<CorrectedLift> {
    let all: Vec<Labelled> = labelled(calibration, None).collect();
    let rates = Calibration::new(&all);
    let unequal = unequal_errors(run, calibration);
    pairs(run, tables)
        .into_iter()
        .filter_map(|(table, pair)| {
            let tasks = paired(table, &pair.baseline, &pair.condition, |result| {
                let own = result.judgement.as_deref()?;
                judged_score(own).map(|found| found.0)
            });
            let [without, with] = means(&tasks)?;
            let units: Vec<PairedTask> = tasks
                .iter()
                .map(|(task, [base, arm])| PairedTask {
                    arm: arm.clone(),
                    base: base.clone(),
                    cluster: clusters.get(task).copied(),
                })
                .collect();
            let lift = assay_stats::lift(&units, 0.95)?;
            let raw = Figure { value: lift.mean, interval: lift.interval };
            let number = lift.clusters.unwrap_or(tasks.len());
            let missing = undelivered_share(comparisons, &pair);
            let own = OwnLabels::find(calibration, table, &pair, tasks.keys().copied(), clusters);
            let found = match (missing, &own, &rates, &unequal) {
                (Some(share), ..) => {
                    Err(format!("its treatment was available in {:.0}% of its trials only", 100.0 * share))
                }
                (None, None, Err(error), _) => Err(error.to_string()),
                (None, None, _, Some(reason)) => Err(reason.clone()),
                (None, ..) if lift.interval.is_none() => {
                    Err("at least 5 tasks or effective clusters are needed".to_owned())
                }
                (None, Some(own), ..) => own.lift(&pair).map_err(|error| error.to_string()),
                (None, None, Ok(rates), None) => rates
                    .score_difference(raw, number)
                    .map(|found| found.corrected)
                    .map_err(|error: CorrectionError| error.to_string()),
            };
            let ends = |figure: Figure| figure.interval.map(|interval| [interval.low, interval.high]);
            let corrected = found.as_ref().ok().copied();
            let [sensitivity, specificity] = match &own {
                Some(own) => own.error_rates(),
                None => [Calibration::sensitivity, Calibration::specificity]
                    .map(|rate| rates.as_ref().ok().map(rate)),
            };
            let judge = own.as_ref().map_or_else(
                || CorrectionBasis {
                    estimator: ROGAN_GLADEN,
                    lambda: None,
                    labels: all.len(),
                    bias_if_unequal: rates.as_ref().ok().map(|rates| BiasIfUnequal::of(rates, with)),
                },
                OwnLabels::basis,
            );
            Some(CorrectedLift {
                share: share(table, &pair),
                pair,
                tasks: tasks.len(),
                without,
                with,
                raw: raw.value,
                raw_ci95: ends(raw),
                corrected: corrected.map(|figure| figure.value),
                ci95: corrected.and_then(ends),
                refused: found.err(),
                reason: missing.map(|_| Reason::NotDelivered),
                judge,
                sensitivity,
                specificity,
                labels_by: calibration.labels_by.clone(),
            })
        })
        .collect()
}

/// Why the labels do not allow to pool conditions, if they have any.
fn unequal_errors(run: &RunFolder, calibration: &CalibrationSet) -> Option<String> {
    let groups: Vec<Vec<Labelled>> = run
        .conditions
        .iter()
        .map(|condition| labelled(calibration, Some(condition)).collect::<Vec<_>>())
        .filter(|group| !group.is_empty())
        .collect();
    let p = equal_errors(&groups, SEED).filter(|p| *p < DIFFERENT)?;
    Some(format!("the judge errs differently in different conditions (p = {p:.4})"))
}

fn share(table: &Table, pair: &Pair) -> f64 {
    let slots = [&pair.baseline, &pair.condition].into_iter().filter_map(|name| table.cells.get(name));
    let results = slots.flat_map(BTreeMap::values).flat_map(Slot::valid);
    let shares: Vec<f64> = results
        .filter_map(|result| result.judgement.as_deref())
        .map(|one| judged_score(one).map_or(0.0, |found| found.1))
        .collect();
    if shares.is_empty() { 0.0 } else { shares.iter().sum::<f64>() / shares.len() as f64 }
}
