//! What a campaign that shrinks a skill shows.

use assay_stats::Interval;
use assay_stats::ablation::PartSet;

use super::trials::{ShrinkStage, WantedTrials};

/// What is known of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// Its effect is above 0.
    Carries,
    /// Its effect is below 0.
    Harms,
    /// Its effect is below the margin.
    Dead,
    /// One task or more needs it, although its effect over all tasks is below the margin.
    NeededByTasks,
    /// None of these is shown.
    Undecided,
}

impl PartState {
    /// The word in output and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Carries => "carries",
            Self::Harms => "harms",
            Self::Dead => "dead",
            Self::NeededByTasks => "needed-by-tasks",
            Self::Undecided => "undecided",
        }
    }

    /// Whether the interval of its effect excludes 0.
    pub fn is_found(self) -> bool {
        matches!(self, Self::Carries | Self::Harms)
    }

    /// Whether the shorter skill is without the part.
    pub fn is_removed(self) -> bool {
        matches!(self, Self::Harms | Self::Dead)
    }
}

/// One part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartOutcome {
    /// What is known of it.
    pub state: PartState,
    /// Its mean effect over tasks, as a share of trials that pass; `None` where no task gives an estimate.
    pub effect: Option<f64>,
    /// The 95% interval of the effect, unadjusted.
    pub ci95: Option<Interval>,
    /// The interval that decides between `carries` and `harms`, at 1 − .05/K for K parts.
    pub adjusted: Option<Interval>,
    /// The upper end of the effect, one-sided at 95%, which decides on `dead`.
    pub most: Option<f64>,
    /// The tasks that need it, by number.
    pub tasks: Vec<usize>,
    /// The effect of the part in the shorter skill and its 95% interval, if trials of the confirmation were spent on it: a
    /// part can be of no use beside the others that were kept.
    pub beside: Option<(f64, Option<Interval>)>,
}

/// What is decided on the shorter skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkDecision {
    /// It is not worse than the skill by the margin.
    Shorter,
    /// No part can be left out.
    Keep,
    /// It is worse than the skill.
    Worse,
    /// Neither is shown.
    Undecided,
}

impl ShrinkDecision {
    /// The word in output and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shorter => "shorter",
            Self::Keep => "keep",
            Self::Worse => "worse",
            Self::Undecided => "undecided",
        }
    }
}

/// The result of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct ShrinkOutcome {
    /// The decision on the shorter skill.
    pub decision: ShrinkDecision,
    /// The parts in their order.
    pub parts: Vec<PartOutcome>,
    /// The parts of the shorter skill.
    pub kept: PartSet,
    /// The stage whose trials gave the parts' effects.
    pub stage: ShrinkStage,
    /// The shorter skill less the skill: mean, and the interval of which the lower end decides; from the trials of the
    /// confirmation, or without these from the sum of effects in the screening.
    pub change: Option<(f64, Interval)>,
    /// Whether that change was measured with trials of its own.
    pub confirmed: bool,
    /// Trials of all stages.
    pub spent: usize,
    /// Of these, those without a score.
    pub lost: usize,
    /// Whether a stage lost so many trials that nothing is decided.
    pub too_many_lost: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum ShrinkStep {
    /// Trials that are missing.
    Run(Vec<WantedTrials>),
    /// Nothing: this is the result.
    Done(ShrinkOutcome),
}
