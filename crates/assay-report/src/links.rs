//! Links from figures to the trials behind them.

use assay_analysis::{AgentKey, TrialId};

/// What a figure rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The trials of a task under a condition.
    Cell {
        /// The task.
        task: String,
        /// Whose trials.
        who: AgentKey,
        /// The condition.
        condition: String,
    },
    /// A trial, at a check of its verifier if one is named.
    Trial {
        /// The trial.
        trial: TrialId,
        /// The check.
        check: Option<String>,
    },
    /// The pairs of trials that a comparison rests on.
    Comparison {
        /// Whose trials.
        who: AgentKey,
        /// The condition.
        condition: String,
    },
    /// A provided skill.
    Skill {
        /// The digest of its package.
        digest: String,
    },
}

/// Addresses of the pages that show targets.
pub trait Links {
    /// The address of a target's page; `None` without one.
    fn href(&self, target: &Target) -> Option<String>;
}

/// No links: a file that stands by itself.
impl Links for () {
    fn href(&self, _: &Target) -> Option<String> {
        None
    }
}
