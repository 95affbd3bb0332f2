//! The steps of a trial in its record.

use std::collections::BTreeMap;

use assay_trace::{Ended, Exposure};
use assay_usage::Usage;
use serde::{Deserialize, Serialize};

use crate::score::{Outcome, score};
use crate::seconds::Seconds;

/// One step of a trial whose task has several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The step's name.
    pub name: String,
    /// Its outcome; `null` if it was not run, because an earlier step ended the trial.
    pub outcome: Option<Outcome>,
    /// An explanation, if the outcome needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its score, in [0, 1], as that of a trial; `null` if it has no result.
    pub score: Option<f64>,
    /// The verifier's reward; the mean over keys if there are several.
    pub reward: Option<f64>,
    /// Every key of reward.json.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rewards: BTreeMap<String, f64>,
    /// Why the agent stopped; absent when it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Replies of the model; `null` if unknown.
    pub turns: Option<usize>,
    /// Tokens; `null` if unknown.
    pub usage: Option<Usage>,
    /// In USD; `null` if there is no price.
    pub cost_usd: Option<f64>,
    /// Its duration, by phase.
    pub seconds: Seconds,
    /// The exposure of each offered skill in the step's own conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposure: Vec<Exposure>,
}

impl StepRecord {
    /// A step that was not run.
    pub fn not_run(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Sets the score that follows from outcome and rewards.
    #[must_use]
    pub fn scored(mut self) -> Self {
        self.score =
            self.outcome.and_then(|outcome| score(outcome, self.reward, self.rewards.values().copied()));
        self
    }
}
