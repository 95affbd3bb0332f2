//! Rates without the errors of the judge.
//!
//! Labels of the table's own items correct it by prediction-powered estimates, whatever errors the judge makes in each
//! group. Labels from elsewhere tell error rates, which the items at hand are assumed to share.

mod own_labels;
mod rates;

use std::collections::BTreeMap;
use std::path::Path;

use assay_stats::judge::{Calibration, Corrected, Judged, Labelled, equal_errors, separate_difference};
use serde_json::{Value, json};

use self::own_labels::OwnLabels;
use self::rates::{ALL, Difference, Estimator, UNEQUAL};
pub use self::rates::{CorrectedRates, RateCorrection, RateCorrectionError};
use crate::figures::{figure_cell, interval_ends};
use crate::verdicts::{
    ClusterNumbers, VerdictColumns, VerdictRow, VerdictTableError, has_column, positive_category,
    read_verdicts, use_booleans,
};

/// Below this p-value error rates count as different between groups.
const DIFFERENT: f64 = 0.01;

/// The seed of the permutation test, which has no other use of chance.
const SEED: u64 = 1;

/// The column of both tables that names an item.
const ITEM: &str = "item";

/// The column of the calibration set that says how many items a label counts for.
const WEIGHT: &str = "weight";

/// The groups by name.
type Groups<T> = BTreeMap<String, Vec<T>>;

/// Corrects the rates of a table for the errors of the judge.
///
/// # Errors
/// A table cannot be used, or the calibration set says too little about the errors.
pub fn correct_rates(input: &RateCorrection<'_>) -> Result<CorrectedRates, RateCorrectionError> {
    let has = |table: &Path, name: &str| has_column(table, name).map_err(VerdictTableError::from);
    let by = match input.by {
        Some(by) => Some(by),
        None => has(input.table, "condition")?.then_some("condition"),
    };
    let cluster = match input.cluster {
        Some(cluster) => Some(cluster),
        None => (has(input.table, "task")? && has(input.calibration, "task")?).then_some("task"),
    };
    let item = (has(input.table, ITEM)? && has(input.calibration, ITEM)?).then_some(ITEM);
    let mut columns = VerdictColumns {
        verdict: input.verdict,
        by: by.into_iter().collect(),
        cluster,
        item,
        ..VerdictColumns::default()
    };
    let mut clusters = ClusterNumbers::new();
    let mut judged_rows = read_verdicts(input.table, &columns, &mut clusters)?;
    columns.label = Some(input.label);
    columns.weight = has(input.calibration, WEIGHT)?.then_some(WEIGHT);
    // A calibration set without groups is one for all of them.
    columns.optional = if input.separate { Vec::new() } else { columns.by.clone() };
    let mut labelled_rows = read_verdicts(input.calibration, &columns, &mut clusters)?;
    let judged_met = met(input.table, &mut judged_rows)?;
    let labelled_met = met(input.calibration, &mut labelled_rows)?;
    let own = OwnLabels::find(input, (&judged_rows, judged_met), (&labelled_rows, labelled_met))?;
    if let Some(own) = own.filter(|_| !input.separate) {
        let cluster = cluster.map(str::to_owned);
        return Ok(CorrectedRates { cluster, ..own.correct(input)? });
    }
    let judged = judged(input, judged_rows, judged_met)?;
    let labelled = labelled(labelled_rows, labelled_met);
    let pooled: Vec<Labelled> = labelled.values().flatten().copied().collect();
    let refused = |error| RateCorrectionError::Refused { calibration: input.calibration.to_owned(), error };
    let shared = Calibration::new(&pooled).map_err(refused)?;
    let separate: BTreeMap<&str, Calibration> = if input.separate {
        judged
            .keys()
            .map(|by| {
                let own = labelled.get(by).map_or(&[][..], Vec::as_slice);
                let own = Calibration::new(own).map_err(|error| RateCorrectionError::RefusedGroup {
                    calibration: input.calibration.to_owned(),
                    group: by.clone(),
                    error,
                });
                Ok((by.as_str(), own?))
            })
            .collect::<Result<_, RateCorrectionError>>()?
    } else {
        check_equal_errors(input, &labelled)?;
        BTreeMap::new()
    };
    let of = |by: &str| separate.get(by).unwrap_or(&shared);
    let mut groups = Vec::new();
    for (by, items) in &judged {
        groups.push((by, items, of(by).rate(items).map_err(refused)?));
    }
    let mut differences = Vec::new();
    for (number, (a, items_a, of_a)) in groups.iter().enumerate() {
        for (b, items_b, of_b) in &groups[number + 1..] {
            let paired = of(a).difference(items_a, items_b).map_err(refused)?;
            let found = if input.separate {
                Corrected { raw: paired.raw, corrected: separate_difference(of_a.corrected, of_b.corrected) }
            } else {
                paired
            };
            let bias = of(a).bias_if_unequal(of_a.corrected.value).map(|per_unit| UNEQUAL * per_unit);
            let estimator = Estimator::RoganGladen { labels: pooled.len(), bias: Some(bias) };
            let (a, b) = ((*a).clone(), (*b).clone());
            differences.push(Difference { a, b, figures: found, estimator });
        }
    }
    Ok(CorrectedRates {
        separate: input.separate,
        cluster: cluster.map(str::to_owned),
        labeled: pooled.len(),
        others: 0,
        sensitivity: Some(shared.sensitivity()),
        specificity: Some(shared.specificity()),
        estimator: Estimator::RoganGladen { labels: pooled.len(), bias: None },
        labels_by_group: Vec::new(),
        groups: groups.into_iter().map(|(by, items, found)| (by.clone(), items.len(), found)).collect(),
        differences,
    })
}

impl CorrectedRates {
    /// As `assay.judge-correction/1`.
    pub fn to_json(&self) -> Value {
        let group = |(by, n, found): &(String, usize, Corrected)| {
            json!({"by": by, "n": n, "raw": found.raw.value, "raw_ci95": interval_ends(found.raw.interval),
                   "corrected": found.corrected.value, "ci95": interval_ends(found.corrected.interval)})
        };
        let difference = |difference: &Difference| {
            let found = difference.figures;
            json!({"a": difference.a, "b": difference.b, "raw": found.raw.value,
                   "raw_ci95": interval_ends(found.raw.interval), "corrected": found.corrected.value,
                   "ci95": interval_ends(found.corrected.interval), "judge": difference.estimator.to_json()})
        };
        json!({
            "schema": "assay.judge-correction/1", "separate": self.separate, "cluster": self.cluster,
            "calibration": {
                "n": self.labeled, "sensitivity": self.sensitivity, "specificity": self.specificity,
            },
            "judge": self.estimator.to_json(),
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "differences": self.differences.iter().map(difference).collect::<Vec<_>>(),
        })
    }

    /// A table of the groups and their differences.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.basis());
        let groups = self.groups.iter().map(|(by, _, found)| (by.clone(), found));
        let differences =
            self.differences.iter().map(|of| (format!("difference {} - {}", of.a, of.b), &of.figures));
        let rows: Vec<(String, &Corrected)> = groups.chain(differences).collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(5);
        text.push_str(&format!("{:<width$}  {:<26}  corrected\n", "Group", "as judged"));
        for (name, found) in rows {
            let (raw, corrected) = (figure_cell(Some(found.raw)), figure_cell(Some(found.corrected)));
            text.push_str(&format!("{name:<width$}  {raw:<26}  {corrected}\n"));
        }
        text.push_str(&self.sensitivity_to_errors());
        text
    }

    /// What the correction rests on.
    fn basis(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "unknown".to_owned(), |rate| format!("{rate:.3}"));
        let (sensitivity, specificity) = (rate(self.sensitivity), rate(self.specificity));
        let n = self.labeled;
        let rates = format!("Sensitivity {sensitivity}, specificity {specificity} on {n} labeled items\n");
        let Estimator::PredictionPowered { lambda, .. } = self.estimator else { return rates };
        let labels: Vec<String> = { self.labels_by_group.iter().zip(&self.groups) }
            .map(|(labels, (group, ..))| format!("{group} {labels}"))
            .collect();
        let mut text = format!(
            "{rates}Corrected by labels of the table's own items ({}), whatever errors the judge makes in each group: \
             prediction-powered, lambda {lambda:.2}\n",
            labels.join(", ")
        );
        if self.others > 0 {
            text.push_str(&format!(
                "Left out: labels of items that are not in the table ({})\n",
                self.others
            ));
        }
        text
    }

    /// What error rates that differ between groups would do to differences corrected by labels from elsewhere.
    fn sensitivity_to_errors(&self) -> String {
        let lines = self.differences.iter().filter_map(|difference| {
            let Estimator::RoganGladen { bias: Some([specificity, sensitivity]), .. } = difference.estimator
            else {
                return None;
            };
            let Difference { a, b, .. } = difference;
            Some(format!(
                "a specificity lower by .10 in {a} moves {a} - {b} by {:.0} points, a sensitivity higher by .10 by {:.0} \
                 points\n",
                100.0 * specificity,
                100.0 * sensitivity
            ))
        });
        let lines: String = lines.collect();
        if lines.is_empty() {
            return lines;
        }
        format!("\nLabels from elsewhere: the judge is assumed to err here as it does there\n{lines}")
    }
}

/// Refuses to pool labels if the judge errs differently in different groups.
fn check_equal_errors(
    input: &RateCorrection<'_>,
    labelled: &Groups<Labelled>,
) -> Result<(), RateCorrectionError> {
    let groups: Vec<Vec<Labelled>> = labelled.values().cloned().collect();
    let Some(p) = equal_errors(&groups, SEED).filter(|p| *p < DIFFERENT) else { return Ok(()) };
    let rates = |(by, items): (&String, &Vec<Labelled>)| {
        let share = |label: bool| {
            let of: Vec<_> = items.iter().filter(|item| item.label == label).collect();
            let right = of.iter().filter(|item| item.judged.verdict == label).count();
            format!("{right} of {}", of.len())
        };
        format!("{by}: {} positive and {} negative items judged correctly", share(true), share(false))
    };
    let rates = labelled.iter().map(rates).collect();
    Err(RateCorrectionError::UnequalErrors { calibration: input.calibration.to_owned(), p, rates })
}

fn judged(
    input: &RateCorrection<'_>,
    rows: Vec<VerdictRow>,
    positive: &str,
) -> Result<Groups<Judged>, VerdictTableError> {
    let mut groups = Groups::new();
    for row in rows {
        if let Some(verdict) = row.verdict {
            let judged = Judged { verdict: verdict == positive, cluster: row.cluster };
            groups.entry(row.by.unwrap_or_else(|| ALL.to_owned())).or_insert_with(Vec::new).push(judged);
        }
    }
    if groups.is_empty() {
        return Err(VerdictTableError::NoVerdicts { path: input.table.to_owned() });
    }
    Ok(groups)
}

fn labelled(rows: Vec<VerdictRow>, positive: &str) -> Groups<Labelled> {
    let mut groups = Groups::new();
    for row in rows {
        if let (Some(label), Some(verdict)) = (row.label, row.verdict) {
            let judged = Judged { verdict: verdict == positive, cluster: row.cluster };
            let item = Labelled { label: label == positive, judged };
            groups.entry(row.by.unwrap_or_else(|| ALL.to_owned())).or_insert_with(Vec::new).push(item);
        }
    }
    groups
}

/// The category for met.
fn met(path: &Path, rows: &mut [VerdictRow]) -> Result<&'static str, VerdictTableError> {
    let categories = use_booleans(rows);
    if categories.iter().all(|category| category == "false") {
        return Ok("true");
    }
    positive_category(&categories).ok_or_else(|| {
        let words = categories.iter().take(5).map(|word| format!("`{word}`")).collect();
        VerdictTableError::NotBoolean { path: path.to_owned(), words }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A row for each item: `n` of each group, with label and verdict.
    fn table(cells: &[(&str, bool, bool, usize)]) -> String {
        let rows =
            cells.iter().map(|(group, label, verdict, n)| format!("{group},{label},{verdict}\n").repeat(*n));
        format!("condition,label,verdict\n{}", rows.collect::<String>())
    }

    fn corrected(
        labels: &str,
        verdicts: &str,
        separate: bool,
    ) -> Result<CorrectedRates, RateCorrectionError> {
        let folder = tempfile::tempdir().unwrap();
        let [table, calibration] = ["verdicts.csv", "labels.csv"].map(|name| folder.path().join(name));
        fs::write(&table, verdicts).unwrap();
        fs::write(&calibration, labels).unwrap();
        let (table, calibration) = (&*table, &*calibration);
        let input = RateCorrection {
            table,
            calibration,
            label: "label",
            verdict: "verdict",
            by: None,
            cluster: None,
            separate,
        };
        correct_rates(&input)
    }

    #[test]
    fn rates_are_corrected_by_the_errors_of_the_judge() {
        // Sensitivity .9 and specificity .8: .62 and .48 as judged are .6 and .4.
        let cells = |a: &'static str| {
            [(a, true, true, 90), (a, true, false, 10), (a, false, false, 80), (a, false, true, 20)]
        };
        let verdicts = "condition,verdict\n".to_owned()
            + &"b,yes\n".repeat(62)
            + &"b,no\n".repeat(38)
            + &"a,yes\n".repeat(48)
            + &"a,no\n".repeat(52);
        for separate in [false, true] {
            let found = corrected(&table(&[cells("a"), cells("b")].concat()), &verdicts, separate).unwrap();
            let rates: Vec<_> = { found.groups.iter() }
                .map(|(by, n, rate)| (by.as_str(), *n, (rate.corrected.value * 1e6).round() / 1e6))
                .collect();
            assert_eq!(rates, [("a", 100, 0.4), ("b", 100, 0.6)]);
            assert!((found.differences[0].figures.corrected.value + 0.2).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn corrections_that_would_mislead_are_refused() {
        let check = |labels: &[(&str, bool, bool, usize)], separate, expected: &str| {
            let verdicts = "condition,verdict\na,true\na,false\nb,true\nb,false\n";
            let error = corrected(&table(labels), verdicts, separate).unwrap_err().to_string();
            assert!(error.contains("labels.csv: ") && error.contains(expected), "{error}");
        };
        let of = |group, [hit, missed, right, wrong]: [usize; 4]| {
            [
                (group, true, true, hit),
                (group, true, false, missed),
                (group, false, false, right),
                (group, false, true, wrong),
            ]
        };
        check(&of("a", [30, 20, 22, 28]), false, "is not distinguishable from 1");
        let differs = [of("a", [48, 2, 45, 5]), of("b", [30, 20, 45, 5])].concat();
        check(&differs, false, "differently in different groups (p = 0.0");
        check(&differs, false, "b: 30 of 50 positive and 45 of 50 negative items judged correctly");
        check(&of("a", [48, 2, 45, 5]), true, "group `b`: the calibration set has no");
        check(&[("a", true, true, 10)], false, "the calibration set has no negative items");
        let error = corrected("label,verdict\ntrue,true\n", "verdict\nmaybe\n", false).unwrap_err();
        assert!(error.to_string().ends_with("verdicts must be true or false, not `maybe`"), "{error}");
    }
}
