//! The outcome of a trial, and its score.

use serde::{Deserialize, Serialize};

/// The outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The verifier gave the full reward.
    Passed,
    /// It did not.
    Failed,
    /// The agent's time was over before it finished.
    TimedOut,
    /// The agent changed files that could decide its own reward. Counts as not passed.
    Tampered,
    /// An infrastructure error: not a result.
    Infrastructure,
}

impl Outcome {
    /// Whether it is a result, and counts in a rate.
    pub fn counts(self) -> bool {
        self != Self::Infrastructure
    }

    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Tampered => "tampered",
            Self::Infrastructure => "infrastructure",
        }
    }
}

/// A trial's score, in [0, 1]; `None` if it has no result.
///
/// A passed trial scores 1, and one that ran out of time or was tampered with 0, whatever its
/// reward. Any other scores its reward: the mean over `rewards` if there are several, each cut to
/// [0, 1], because Harbor allows any number.
pub fn score(
    outcome: Outcome,
    reward: Option<f64>,
    rewards: impl ExactSizeIterator<Item = f64>,
) -> Option<f64> {
    match outcome {
        Outcome::Passed => Some(1.0),
        Outcome::TimedOut | Outcome::Tampered => Some(0.0),
        Outcome::Infrastructure => None,
        Outcome::Failed if rewards.len() > 0 => {
            let number = rewards.len() as f64;
            Some(rewards.map(clamp_reward).sum::<f64>() / number)
        }
        Outcome::Failed => Some(reward.map_or(0.0, clamp_reward)),
    }
}

/// A reward cut to [0, 1].
pub(crate) fn clamp_reward(reward: f64) -> f64 {
    if reward.is_finite() { reward.clamp(0.0, 1.0) } else { 0.0 }
}
