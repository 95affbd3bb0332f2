//! What a correction of rates is given and says.

use std::path::{Path, PathBuf};

use assay_stats::judge::{Corrected, CorrectionError};
use serde_json::{Value, json};

use crate::verdicts::VerdictTableError;

/// The group of tables without groups.
pub(super) const ALL: &str = "all";

/// The change of an error rate whose effect is printed.
pub(super) const UNEQUAL: f64 = 0.1;

/// The tables of a correction, and how they are read.
#[derive(Debug, Clone, Copy)]
pub struct RateCorrection<'a> {
    /// The table with a verdict for each item.
    pub table: &'a Path,
    /// The table with a verdict and a label for each item.
    pub calibration: &'a Path,
    /// The column with the labels.
    pub label: &'a str,
    /// The column of both tables with the verdicts.
    pub verdict: &'a str,
    /// The column with the groups: `condition` by default, if there is one.
    pub by: Option<&'a str>,
    /// The column with the clusters: `task` by default, if both tables have one.
    pub cluster: Option<&'a str>,
    /// Whether each group is corrected by its own error rates.
    pub separate: bool,
}

/// Why rates cannot be corrected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RateCorrectionError {
    /// A table cannot be used.
    #[error(transparent)]
    Table(#[from] VerdictTableError),
    /// The calibration set says too little.
    #[error("{}: {error}", calibration.display())]
    Refused {
        /// The calibration set.
        calibration: PathBuf,
        /// Why.
        error: CorrectionError,
    },
    /// The calibration set says too little about a group.
    #[error("{}: group `{group}`: {error}", calibration.display())]
    RefusedGroup {
        /// The calibration set.
        calibration: PathBuf,
        /// The group.
        group: String,
        /// Why.
        error: CorrectionError,
    },
    /// A label's item has another verdict in the table.
    #[error(
        "{}: item `{item}` of `{group}` has another verdict in {}: labels correct the verdicts that they were drawn with",
        calibration.display(),
        table.display()
    )]
    OtherVerdict {
        /// The table of verdicts.
        table: PathBuf,
        /// The labels.
        calibration: PathBuf,
        /// The group.
        group: String,
        /// The item.
        item: String,
    },
    /// Labels of all groups were to be pooled, and the judge errs differently in them.
    #[error(
        "{}: the judge errs differently in different groups (p = {p:.4}): {}",
        calibration.display(),
        rates.join("; ")
    )]
    UnequalErrors {
        /// The calibration set.
        calibration: PathBuf,
        /// The p-value of the test.
        p: f64,
        /// The rates of each group, in words.
        rates: Vec<String>,
    },
}

/// Rates as judged and corrected, by group, and their differences.
#[derive(Debug)]
pub struct CorrectedRates {
    pub(super) separate: bool,
    pub(super) cluster: Option<String>,
    /// Labeled items that are used.
    pub(super) labeled: usize,
    /// Labels of other items, beside those of the table's own.
    pub(super) others: usize,
    pub(super) sensitivity: Option<f64>,
    pub(super) specificity: Option<f64>,
    pub(super) estimator: Estimator,
    /// Labels of each group's own items; empty with labels from elsewhere.
    pub(super) labels_by_group: Vec<usize>,
    /// The groups with the numbers of their items.
    pub(super) groups: Vec<(String, usize, Corrected)>,
    pub(super) differences: Vec<Difference>,
}

/// The difference of two groups.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) figures: Corrected,
    pub(super) estimator: Estimator,
}

/// How a figure is corrected.
#[derive(Debug, Clone, Copy)]
pub(super) enum Estimator {
    /// With labels of the items themselves.
    PredictionPowered { lambda: f64, labels: usize },
    /// With error rates from labels of other items. A difference has the change for a specificity in its first group that is
    /// lower, and for a sensitivity that is higher, by [`UNEQUAL`].
    RoganGladen { labels: usize, bias: Option<[f64; 2]> },
}

impl Estimator {
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::PredictionPowered { lambda, labels } => {
                json!({"estimator": "prediction-powered", "lambda": lambda, "labels": labels})
            }
            Self::RoganGladen { labels, bias } => {
                let mut found = json!({"estimator": "rogan-gladen", "lambda": null, "labels": labels});
                if let Some([specificity, sensitivity]) = bias {
                    found["bias_if_unequal"] =
                        json!({"by": UNEQUAL, "specificity": specificity, "sensitivity": sensitivity});
                }
                found
            }
        }
    }
}
