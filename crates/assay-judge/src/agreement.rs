//! How far the verdicts of a judge agree with labels.

use std::collections::BTreeMap;
use std::path::Path;

use assay_diagnostic::counted;
use assay_stats::judge::{Figure, clustered_alpha, clustered_kappa, proportion};
use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::{figure_cell, figure_ends, figure_value};
use crate::verdicts::{
    ClusterNumbers, VerdictColumns, VerdictRow, VerdictTableError, positive_category, read_verdicts,
    use_booleans,
};

/// Who wrote labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelSource {
    /// People.
    People,
    /// A language model.
    Model,
    /// Not recorded.
    Unknown,
}

impl LabelSource {
    /// Whether a judge counts as calibrated by such labels.
    pub fn calibrates(self) -> bool {
        self == Self::People
    }
}

/// How far verdicts agree with labels, by group.
#[derive(Debug)]
pub struct LabelAgreement {
    /// The category that means *met*.
    positive: Option<&'static str>,
    groups: Vec<GroupAgreement>,
}

/// The figures of one group.
#[derive(Debug)]
struct GroupAgreement {
    by: String,
    n: usize,
    left_out: usize,
    /// Share of labels that are positive.
    base_rate: Option<f64>,
    accuracy: Option<Figure>,
    accuracy_second: Option<Figure>,
    sensitivity: Option<Figure>,
    specificity: Option<Figure>,
    kappa: Option<Figure>,
    alpha: Option<Figure>,
    order_consistency: Option<Figure>,
}

/// Compares the verdicts of a table with its labels.
///
/// # Errors
/// The table cannot be read, or no row has both a label and a verdict.
pub fn measure_agreement(
    table: &Path,
    columns: &VerdictColumns<'_>,
) -> Result<LabelAgreement, VerdictTableError> {
    let mut rows = read_verdicts(table, columns, &mut ClusterNumbers::new())?;
    let categories = use_booleans(&mut rows);
    let positive = positive_category(&categories);
    let mut groups = BTreeMap::<String, Vec<&VerdictRow>>::new();
    for row in &rows {
        groups.entry(row.by.clone().unwrap_or_else(|| "all".to_owned())).or_default().push(row);
    }
    let groups: Vec<GroupAgreement> =
        groups.into_iter().map(|(by, rows)| GroupAgreement::of(by, &rows, positive)).collect();
    if groups.iter().all(|group| group.n == 0) {
        return Err(VerdictTableError::NothingToCompare {
            path: table.to_owned(),
            label: columns.label.unwrap_or_default().to_owned(),
            verdict: columns.verdict.to_owned(),
        });
    }
    Ok(LabelAgreement { positive, groups })
}

impl LabelAgreement {
    /// As `assay.judge-calibration/1`.
    pub fn to_json(&self, labels_by: LabelSource) -> Value {
        json!({
            "schema": "assay.judge-calibration/1", "labels_by": labels_by,
            "calibrated": labels_by.calibrates(), "positive": self.positive,
            "groups": self.groups.iter().map(GroupAgreement::to_json).collect::<Vec<_>>(),
        })
    }

    /// A table of figures for each group.
    pub fn to_text(&self) -> String {
        self.groups.iter().map(GroupAgreement::to_text).collect()
    }
}

impl GroupAgreement {
    fn of(by: String, rows: &[&VerdictRow], positive: Option<&str>) -> Self {
        let rated: Vec<(&str, &str, Option<usize>)> = rows
            .iter()
            .filter_map(|row| Some((row.label.as_deref()?, row.verdict.as_deref()?, row.cluster)))
            .collect();
        let mut numbers = BTreeMap::<&str, usize>::new();
        let pairs: Vec<((usize, usize), Option<usize>)> = rated
            .iter()
            .map(|(label, verdict, cluster)| {
                let mut number = |word| {
                    let next = numbers.len();
                    *numbers.entry(word).or_insert(next)
                };
                ((number(*label), number(*verdict)), *cluster)
            })
            .collect();
        let right: Vec<_> =
            rated.iter().map(|(label, verdict, cluster)| (label == verdict, *cluster)).collect();
        let class = |is_positive: bool| {
            let positive = positive?;
            let of = rated.iter().filter(|(label, ..)| (*label == positive) == is_positive);
            proportion(&of.map(|(label, verdict, cluster)| (label == verdict, *cluster)).collect::<Vec<_>>())
        };
        let compared = |left: fn(&VerdictRow) -> Option<&str>| {
            let both =
                rows.iter().filter_map(|row| Some((left(row)? == row.second.as_deref()?, row.cluster)));
            proportion(&both.collect::<Vec<_>>())
        };
        let labels = rated.iter().filter(|(label, ..)| Some(*label) == positive).count();
        Self {
            by,
            n: rated.len(),
            left_out: rows.len() - rated.len(),
            base_rate: (positive.is_some() && !rated.is_empty()).then(|| labels as f64 / rated.len() as f64),
            accuracy: proportion(&right),
            accuracy_second: compared(|row| row.label.as_deref()),
            sensitivity: class(true),
            specificity: class(false),
            kappa: clustered_kappa(&pairs),
            alpha: clustered_alpha(&pairs),
            order_consistency: compared(|row| row.verdict.as_deref()),
        }
    }

    /// The figures by their names.
    fn figures(&self) -> [(&'static str, Option<Figure>); 7] {
        [
            ("accuracy", self.accuracy),
            ("sensitivity", self.sensitivity),
            ("specificity", self.specificity),
            ("kappa", self.kappa),
            ("alpha", self.alpha),
            ("order_consistency", self.order_consistency),
            ("accuracy_second_order", self.accuracy_second),
        ]
    }

    fn to_json(&self) -> Value {
        let mut document = json!({
            "by": self.by, "n": self.n, "left_out": self.left_out, "base_rate": self.base_rate,
        });
        let mut intervals = json!({});
        for (name, figure) in self.figures() {
            document[name] = json!(figure_value(figure));
            intervals[name] = json!(figure_ends(figure));
        }
        document["ci95"] = intervals;
        document
    }

    fn to_text(&self) -> String {
        let left_out = match self.left_out {
            0 => String::new(),
            n => format!("; {} without a label or a verdict", counted(n, "row", "rows")),
        };
        let base = self.base_rate.map(|rate| format!("; base rate {rate:.3}")).unwrap_or_default();
        let mut text = format!("{}: {}{base}{left_out}\n", self.by, counted(self.n, "item", "items"));
        for (name, figure) in self.figures() {
            if figure.is_some() {
                text.push_str(&format!("  {:<22}{}\n", name.replace('_', " "), figure_cell(figure)));
            }
        }
        text
    }
}
