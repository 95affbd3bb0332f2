//! Labels of the table's own items.

use std::collections::BTreeMap;

use assay_stats::judge::{Calibration, Corrected, CorrectionError, Judged};
use assay_stats::prediction_powered::{PoweredItem, PredictionPowered, SampledLabel};

use super::rates::{ALL, CorrectedRates, Difference, Estimator, RateCorrection, RateCorrectionError};
use crate::verdicts::VerdictRow;

/// What names an item: its group, its cluster and its name. Labels without groups are of the item with this cluster and
/// name, if there is one only.
type Key<'a> = (Option<&'a str>, Option<usize>, &'a str);

/// Items of the table with the labels that are of them.
pub(super) struct OwnLabels {
    /// The names of the groups, in order.
    names: Vec<String>,
    items: Vec<PoweredItem>,
    /// Labels of other items.
    others: usize,
}

fn key(row: &VerdictRow) -> Option<Key<'_>> {
    Some((row.by.as_deref(), row.cluster, row.item.as_deref()?))
}

impl OwnLabels {
    /// The labels that are of items in the table, which is known by group, cluster and item. `None` if none is. A name that
    /// occurs twice names no item.
    ///
    /// # Errors
    /// A label's item has another verdict in the table.
    pub(super) fn find(
        input: &RateCorrection<'_>,
        judged: (&[VerdictRow], &str),
        labelled: (&[VerdictRow], &str),
    ) -> Result<Option<Self>, RateCorrectionError> {
        let mut by_key = BTreeMap::<Key<'_>, Option<usize>>::new();
        for (at, row) in judged.0.iter().enumerate() {
            let Some(key) = key(row) else { continue };
            for key in [Some(key), key.0.map(|_| (None, key.1, key.2))].into_iter().flatten() {
                by_key.entry(key).and_modify(|known| *known = None).or_insert(Some(at));
            }
        }
        let mut labels = BTreeMap::<usize, SampledLabel>::new();
        let mut others = 0;
        for row in labelled.0 {
            let Some(label) = &row.label else { continue };
            let Some((key, at)) = key(row).and_then(|key| Some((key, (*by_key.get(&key)?)?))) else {
                others += 1;
                continue;
            };
            let met = |row: &VerdictRow, word: &str| row.verdict.as_ref().map(|verdict| verdict == word);
            if met(row, labelled.1).is_some_and(|verdict| met(&judged.0[at], judged.1) != Some(verdict)) {
                return Err(RateCorrectionError::OtherVerdict {
                    table: input.table.to_owned(),
                    calibration: input.calibration.to_owned(),
                    group: key.0.unwrap_or(ALL).to_owned(),
                    item: key.2.to_owned(),
                });
            }
            let label = SampledLabel { met: label == labelled.1, weight: row.weight.unwrap_or(1.0) };
            labels.insert(at, label);
        }
        if labels.is_empty() {
            return Ok(None);
        }
        let group_of = |row: &VerdictRow| row.by.clone().unwrap_or_else(|| ALL.to_owned());
        let mut names: Vec<String> =
            judged.0.iter().filter(|row| row.verdict.is_some()).map(group_of).collect();
        names.sort();
        names.dedup();
        let item = |(at, row): (usize, &VerdictRow)| {
            Some(PoweredItem {
                group: names.binary_search(&group_of(row)).ok()?,
                verdict: row.verdict.as_ref()? == judged.1,
                share: 1.0,
                cluster: row.cluster,
                label: labels.get(&at).copied(),
            })
        };
        let items = judged.0.iter().enumerate().filter_map(item).collect();
        Ok(Some(Self { names, items, others }))
    }

    /// Rates and differences by prediction-powered estimates.
    ///
    /// # Errors
    /// A group has too few labels, or there is one cluster.
    pub(super) fn correct(self, input: &RateCorrection<'_>) -> Result<CorrectedRates, RateCorrectionError> {
        let powered = PredictionPowered::new(&self.items, self.names.len());
        let refused = |group: usize| {
            let group = self.names[group].clone();
            move |error| match error {
                CorrectionError::FewLabels { .. } => RateCorrectionError::RefusedGroup {
                    calibration: input.calibration.to_owned(),
                    group,
                    error,
                },
                _ => RateCorrectionError::Refused { calibration: input.calibration.to_owned(), error },
            }
        };
        let judged = |group: usize| -> Vec<Judged> {
            let own = self.items.iter().filter(|item| item.group == group);
            own.map(|item| Judged { verdict: item.verdict, cluster: item.cluster }).collect()
        };
        // The rates as judged are those of a judge without errors.
        let trusted = Calibration::known(1.0, 1.0);
        let mut groups = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            let items = judged(at);
            let corrected = powered.rate(at).map_err(refused(at))?;
            let raw = trusted.rate(&items).map_err(refused(at))?.raw;
            groups.push((name.clone(), items.len(), Corrected { raw, corrected }));
        }
        let mut differences = Vec::new();
        for a in 0..self.names.len() {
            for b in a + 1..self.names.len() {
                let raw = trusted.difference(&judged(a), &judged(b)).map_err(refused(a))?.raw;
                let corrected = powered.difference(a, b).map_err(refused(a))?;
                differences.push(Difference {
                    a: self.names[a].clone(),
                    b: self.names[b].clone(),
                    figures: Corrected { raw, corrected },
                    estimator: Estimator::PredictionPowered {
                        lambda: powered.lambda(&[a, b]).unwrap_or(1.0),
                        labels: powered.labels(a) + powered.labels(b),
                    },
                });
            }
        }
        let all: Vec<usize> = (0..self.names.len()).collect();
        let labels = all.iter().map(|group| powered.labels(*group)).sum();
        let [sensitivity, specificity] = [true, false].map(|met| self.share_judged_right(met));
        Ok(CorrectedRates {
            separate: false,
            cluster: None,
            labeled: labels,
            others: self.others,
            sensitivity,
            specificity,
            estimator: Estimator::PredictionPowered { lambda: powered.lambda(&all).unwrap_or(1.0), labels },
            labels_by_group: all.iter().map(|group| powered.labels(*group)).collect(),
            groups,
            differences,
        })
    }

    /// The share of the items with a label that the judge calls what they are, among those that are met or not.
    fn share_judged_right(&self, met: bool) -> Option<f64> {
        let of = self.items.iter().filter_map(|item| item.label.map(|label| (item.verdict, label)));
        let (mut right, mut all) = (0.0, 0.0);
        for (verdict, label) in of.filter(|(_, label)| label.met == met) {
            all += label.weight;
            right += if verdict == met { label.weight } else { 0.0 };
        }
        (all > 0.0).then(|| right / all)
    }
}
