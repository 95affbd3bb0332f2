//! Labels by which the scores of judges are corrected.

use serde::{Deserialize, Serialize};

/// Items with a label and a verdict of the judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationSet {
    /// `assay.calibration/1`.
    pub schema: String,
    /// The file that they come from.
    pub source: String,
    /// Who wrote the labels: `people`, `model` or `unknown`. Only labels of people calibrate a judge.
    pub labels_by: String,
    /// The items.
    pub items: Vec<CalibrationItem>,
}

/// An item with a label and a verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationItem {
    /// Whether it is met, according to the label.
    pub label: bool,
    /// Whether it is met, according to the judge; `None` if the judge could not decide.
    pub verdict: Option<bool>,
    /// The item of the run, as `assay judge export` names it: trial, condition and item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// 1/the probability with which it was drawn for labelling; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Items of a cluster are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<usize>,
    /// The condition whose results were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

impl CalibrationSet {
    /// The format of its file.
    pub const SCHEMA: &str = "assay.calibration/1";
}
