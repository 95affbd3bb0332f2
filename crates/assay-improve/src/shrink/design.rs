//! How many trials each stage gets, and the designs that cannot show anything.

use assay_stats::ablation::{
    MOST_PARTS, ROWS, TRIAL_VARIANCE, detectable_part, has_power_for_margin, pooled_trial_variance,
};
use assay_stats::lift;

use super::trials::ReferenceTrials;

/// A campaign needs this many tasks: with 12 tasks of 12 trials no truth of `assay lab simulate --grid ablation` is found
/// reliably (docs/STATISTICS.md, "Parts of a skill").
pub const FEWEST_TASKS: usize = 20;

/// Trials of a task that are left from which on the screening is folded over: another 12 for that, and as many for the rest.
const FOLDED: usize = 3 * ROWS;

/// The most trials of either arm of the confirmation on a task: beyond, the spread over tasks decides.
const MOST_REPETITIONS: usize = 12;

/// Trials of the shorter skill without one of its parts.
const BESIDE: usize = 3;

/// How parts are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreeningRule {
    /// Half of the parts in each variant; one part left out where only that can show anything.
    Assay,
    /// One part left out at a time, for comparison.
    LeaveOneOut,
}

/// A campaign before its first trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ShrinkDesign {
    /// The parts that are told apart, at most [`MOST_PARTS`].
    pub parts: usize,
    /// The most trials, of all tasks and stages.
    pub budget: usize,
    /// How much worse the shorter skill may be, as a share of trials that pass.
    pub margin: f64,
    /// The seed of the designs of tasks.
    pub seed: u64,
    /// How parts are told apart.
    pub rule: ScreeningRule,
}

/// Trials of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The screening is done so many times: once, or with its fold-over.
    pub folds: usize,
    /// Left for one of the other stages.
    pub rest: usize,
}

/// Why a campaign is not begun.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Too few tasks.
    #[error("{tasks} tasks: at least {FEWEST_TASKS} are needed to tell the parts of a skill apart")]
    Tasks {
        /// Their number.
        tasks: usize,
    },
    /// Nothing to tell apart.
    #[error("a skill of one part cannot be shortened by leaving out parts")]
    Parts,
    /// More parts than the design has columns.
    #[error("{parts} parts: at most {MOST_PARTS} can be told apart")]
    TooManyParts {
        /// Their number.
        parts: usize,
    },
    /// Less than one screening.
    #[error("{budget} trials are not enough: {tasks} tasks of {ROWS} variants take {needed}")]
    Budget {
        /// The budget.
        budget: usize,
        /// The tasks.
        tasks: usize,
        /// The trials of a screening.
        needed: usize,
    },
    /// The whole skill has no lift.
    #[error("the skill has no lift to carry: {lift:+.2} in the recorded trials")]
    NoLift {
        /// The lift of the whole skill.
        lift: f64,
    },
    /// The smallest detectable effect is above the skill's lift.
    #[error(
        "these trials find no effect of a part below {}, and the lift of the whole skill is {lift:+.2}",
        detectable.map_or_else(|| "1".to_owned(), |effect| format!("{effect:.2}"))
    )]
    Blind {
        /// The smallest effect that is found with 80% power.
        detectable: Option<f64>,
        /// The lift of the whole skill.
        lift: f64,
    },
    /// The margin cannot be shown.
    #[error(
        "with {tasks} tasks a part without effect is shown to be within a margin of {margin} with less than 80% power"
    )]
    Margin {
        /// The margin.
        margin: f64,
        /// The tasks.
        tasks: usize,
    },
}

impl ShrinkDesign {
    /// How the trials of each of `tasks` tasks are spent; `None` if they are too few.
    pub fn allocate(&self, tasks: usize) -> Option<Allocation> {
        let each = self.budget / tasks.max(1);
        match self.rule {
            ScreeningRule::Assay if each >= FOLDED => Some(Allocation { folds: 2, rest: each - 2 * ROWS }),
            ScreeningRule::Assay if each >= ROWS => Some(Allocation { folds: 1, rest: each - ROWS }),
            ScreeningRule::LeaveOneOut if each > self.parts => Some(Allocation { folds: 0, rest: each }),
            _ => None,
        }
    }

    /// The smallest effect of a part that is found with 80% power, from the recorded trials' variance.
    pub fn detectable(&self, reference: &[ReferenceTrials]) -> Option<f64> {
        let folds = self.allocate(reference.len())?.folds.max(1);
        detectable_part(reference.len(), folds * ROWS, self.parts, trial_variance(reference))
    }

    /// Refuses a campaign that could not show anything.
    ///
    /// # Errors
    /// Why it could not.
    pub fn check(&self, reference: &[ReferenceTrials]) -> Result<(), Refusal> {
        let (tasks, budget, margin) = (reference.len(), self.budget, self.margin);
        if tasks < FEWEST_TASKS {
            return Err(Refusal::Tasks { tasks });
        }
        if self.parts < 2 {
            return Err(Refusal::Parts);
        }
        if self.parts > MOST_PARTS {
            return Err(Refusal::TooManyParts { parts: self.parts });
        }
        let Some(allocation) = self.allocate(tasks) else {
            return Err(Refusal::Budget { budget, tasks, needed: ROWS * tasks });
        };
        let lift = lift(&pairs(reference), 0.95).map_or(0.0, |found| found.mean);
        if lift <= 0.0 {
            return Err(Refusal::NoLift { lift });
        }
        let detectable = self.detectable(reference);
        if detectable.is_none_or(|effect| effect > lift) {
            return Err(Refusal::Blind { detectable, lift });
        }
        // The confirmation has two arms where the screening has variants with and without a part.
        let rows = (ROWS * allocation.folds.max(1)).max(2 * confirmation_repetitions(allocation.rest, 0).0);
        if !has_power_for_margin(tasks, rows, trial_variance(reference), margin) {
            return Err(Refusal::Margin { margin, tasks });
        }
        Ok(())
    }
}

/// The repetitions of the confirmation, of what is left for a task: of both arms, and of the shorter skill without each of
/// its `survivors`, which get some only if both arms have six.
pub(super) fn confirmation_repetitions(left: usize, survivors: usize) -> (usize, usize) {
    let beside = survivors * BESIDE;
    if survivors > 1 && left >= ROWS + beside {
        (((left - beside) / 2).min(MOST_REPETITIONS), BESIDE)
    } else {
        ((left / 2).min(MOST_REPETITIONS), 0)
    }
}

/// The repetitions of leave-one-out: of the skill without each part, and of the skill.
pub(super) fn leave_one_out_repetitions(left: usize, parts: usize) -> Option<(usize, usize)> {
    let each = left / (parts + 1);
    // Every part is compared with the skill, so that more trials of that help all of them.
    (each > 0).then(|| (each, (left - each * parts).min(each * (parts.isqrt() + 2))))
}

fn trial_variance(reference: &[ReferenceTrials]) -> f64 {
    let cells: Vec<Vec<f64>> =
        reference.iter().flat_map(|task| [task.whole.clone(), task.none.clone()]).collect();
    pooled_trial_variance(&cells).unwrap_or(TRIAL_VARIANCE)
}

/// The whole skill over none.
pub(super) fn pairs(reference: &[ReferenceTrials]) -> Vec<assay_stats::PairedTask> {
    let pair = |task: &ReferenceTrials| assay_stats::PairedTask {
        arm: task.whole.clone(),
        base: task.none.clone(),
        cluster: task.cluster,
    };
    reference.iter().map(pair).collect()
}
