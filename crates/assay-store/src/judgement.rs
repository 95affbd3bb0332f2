//! The part of a record that a judge wrote.

use assay_usage::Usage;
use serde::{Deserialize, Serialize};

/// What the key of [`crate::Record::numbers`] begins with that has the score of a rubric's set.
pub const SET_SCORE: &str = "rubric:";

/// Verdicts on the items of a rubric, and the scores that follow from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The judges, as `provider:model`.
    pub judges: Vec<String>,
    /// `call` or `agent`.
    pub mode: String,
    /// The weighted score of all sets, and of the tests if there are any; in [0, 1].
    pub overall: f64,
    /// The score of each set.
    pub sets: Vec<SetScore>,
    /// The items without items below them, in order.
    pub items: Vec<JudgedItem>,
    /// Planted items that were asked, over all judges and repeats.
    #[serde(default)]
    pub planted: u32,
    /// Of these, those with a wrong answer.
    #[serde(default)]
    pub missed: u32,
    /// Requests that were sent.
    pub requests: u32,
    /// Tokens; `null` if unknown.
    pub usage: Option<Usage>,
    /// In USD; `null` if there is no price.
    pub cost_usd: Option<f64>,
    /// The models named in the replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replied_models: Vec<String>,
}

/// The score of a set of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetScore {
    /// Its name; `tests` for the task's own tests.
    pub name: String,
    /// In [0, 1]; `null` if every item was left out.
    pub score: Option<f64>,
    /// Its weight in the overall score.
    pub weight: f64,
}

/// An item with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedItem {
    /// Its id in the rubric.
    pub id: String,
    /// The set that it belongs to.
    pub set: String,
    /// What is required.
    pub text: String,
    /// The share of its set's score that it decides.
    pub share: f64,
    /// `met`, `not-met`, `cannot-tell`, or `points` for an item with a scale.
    pub verdict: String,
    /// In [0, 1]; `null` if it was left out.
    pub score: Option<f64>,
    /// Why the judge's answer does not count, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// Whether it was decided without a judge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
    /// Whether the judge's verdict is the score, up to its errors: a binary item that counts by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_plain: bool,
    /// Share of the answers that agree with the verdict.
    pub agreement: f64,
    /// The quotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The judge's reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `outcome`, `technique` or `vocabulary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The line of the skill that it tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}
