//! Metrics: numbers of a trial beside its score, which conditions are compared by as well.

use serde::{Deserialize, Serialize};

/// A number of each trial that a report compares between conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSpec {
    /// Its name in reports.
    pub name: String,
    /// Where its value comes from.
    pub source: MetricSource,
    /// The unit in which it is printed, such as `USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Which change is an improvement.
    pub direction: MetricDirection,
    /// Whether conditions are compared by differences or by ratios.
    pub scale: MetricScale,
    /// The largest change that does not matter: in units on a linear scale, as a ratio above 1 on
    /// a log scale. Without it no verdict is `negligible`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The guard: the largest deterioration that is accepted, in the terms of `margin`. A ratio of
    /// 1.1 accepts at most 10% more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<f64>,
}

/// Where a metric's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricSource {
    /// The trial's score.
    Score,
    /// All tokens.
    Tokens,
    /// Tokens read, cached ones included.
    InputTokens,
    /// Tokens written.
    OutputTokens,
    /// The cost in USD.
    CostUsd,
    /// Replies of the model.
    Turns,
    /// The agent's own seconds.
    Seconds,
    /// Lines added and removed in the work folder.
    LinesChanged,
    /// A key of the record's `numbers`: a column of an imported table, or a key of the verifier's
    /// reward file that the experiment declares as a metric.
    Number(String),
}

/// Which change of a metric is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricDirection {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// How conditions are compared on a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricScale {
    /// By differences.
    Linear,
    /// By ratios. The values must be positive.
    Log,
}
