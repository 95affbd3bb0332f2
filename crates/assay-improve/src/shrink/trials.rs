//! The trials of a campaign that shrinks a skill.

use std::collections::BTreeMap;

use assay_stats::ablation::PartSet;

/// What trials are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShrinkStage {
    /// Variants with about half of the parts each.
    Screening,
    /// The complements of these variants.
    FoldOver,
    /// The skill beside the skill without each of its parts.
    LeaveOneOut,
    /// One task that seems to need a part, with the skill and with the skill without the part.
    OwnTest,
    /// The shorter skill beside the skill, and beside itself without each of its parts.
    Confirmation,
}

impl ShrinkStage {
    /// The word in output and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Screening => "screening",
            Self::FoldOver => "fold-over",
            Self::LeaveOneOut => "leave-one-out",
            Self::OwnTest => "own-test",
            Self::Confirmation => "confirmation",
        }
    }
}

/// The trials of one variant on one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShrinkCell {
    /// What they are for. Trials of one stage are never used in another: what a stage selects on would bias the next one.
    pub stage: ShrinkStage,
    /// The number of the task.
    pub task: usize,
    /// The parts that the variant keeps; the others are placebo.
    pub kept: PartSet,
}

/// Trials that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedTrials {
    /// Which.
    pub cell: ShrinkCell,
    /// How many of them in all, with those that have been executed.
    pub repetitions: usize,
}

/// Executed trials of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellTrials {
    /// The scores in [0, 1].
    pub scores: Vec<f64>,
    /// Trials that ended without one.
    pub lost: usize,
}

impl CellTrials {
    /// The number of trials.
    pub fn len(&self) -> usize {
        self.scores.len() + self.lost
    }

    /// Whether there is no trial.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All executed trials.
pub type ShrinkScores = BTreeMap<ShrinkCell, CellTrials>;

/// A task's trials that are known before the campaign: they show that there is a lift to carry. They are in no estimate of
/// a part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceTrials {
    /// Scores with the skill.
    pub whole: Vec<f64>,
    /// Scores without it.
    pub none: Vec<f64>,
    /// The cluster of tasks that share a skill or a repository; `None` for a single task.
    pub cluster: Option<u64>,
}
