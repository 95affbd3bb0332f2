//! What the scores of a report are.

use assay_store::{OutcomeKind, OutcomeRule, RunOutcomes};
use serde::Serialize;

/// The outcome of a run: the value of a trial that arms, comparisons and tasks are computed from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeSummary {
    /// `auto`, `score` or `pass`; `null` in plans from before there was a choice, which read the mean of
    /// all rewards.
    pub rule: Option<OutcomeRule>,
    /// Tasks with a result, by what their outcome value is.
    pub tasks: OutcomeTasks,
}

/// Tasks by what their outcome value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeTasks {
    /// The score: the reward, or the mean of several.
    pub score: usize,
    /// 1 if the trial passed, else 0.
    pub pass: usize,
}

impl OutcomeSummary {
    pub(crate) fn of(outcomes: &RunOutcomes) -> Self {
        let tasks = OutcomeTasks {
            score: outcomes.count(OutcomeKind::Score) + outcomes.count(OutcomeKind::Mean),
            pass: outcomes.count(OutcomeKind::Pass),
        };
        Self { rule: outcomes.rule(), tasks }
    }

    /// Whether the outcome of every task is whether it passed.
    pub fn is_pass(&self) -> bool {
        self.rule == Some(OutcomeRule::Pass) || (self.tasks.pass > 0 && self.tasks.score == 0)
    }
}
