//! Which value of a trial its experiment is about.

use serde::{Deserialize, Serialize};

/// `outcome` of an experiment: the value of a trial that headroom, plan, verdicts and reports read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeRule {
    /// For each task its score, or whether the trial passed if the verifier writes several rewards and
    /// none of the name `reward`.
    #[default]
    Auto,
    /// The reward, or the mean of several.
    Score,
    /// 1 if the trial passed, else 0.
    Pass,
}

impl OutcomeRule {
    /// All rules, in the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Score, Self::Pass];

    /// The rule with a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.word() == word)
    }

    /// The word in experiments, plans and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Score => "score",
            Self::Pass => "pass",
        }
    }
}
