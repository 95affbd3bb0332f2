//! Why a comparison shows no effect, and which of the reasons its tasks show by themselves.

use assay_stats::PairedTask;
use assay_store::TrialId;
use serde::Serialize;

/// Fewest tasks, or effective clusters, that a confidence interval needs.
pub(crate) const FEWEST_TASKS: usize = 5;

/// Tasks at a bound are a cause from this share of the tasks on.
const MANY: f64 = 0.5;

/// Rounding of mean scores.
pub(crate) const EQUAL: f64 = 1e-9;

/// Why a comparison is inconclusive, or its effect negligible. A comparison has as many as apply,
/// the one to act on first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// Fewer tasks, or effective clusters, than an interval needs.
    FewTasks {
        /// Tasks, or effective clusters rounded down.
        units: usize,
        /// The fewest.
        needed: usize,
    },
    /// Tasks were excluded because their solutions need a network that the tasks forbid.
    NeedsNetwork {
        /// The tasks, in order of name.
        tasks: Vec<String>,
    },
    /// Trials with an infrastructure error decide the verdict.
    LostTrials {
        /// Of both conditions.
        trials: usize,
    },
    /// The baseline has the full score in every trial of these tasks, so they cannot show help.
    Ceiling {
        /// Such tasks.
        at_ceiling: usize,
        /// All compared tasks.
        tasks: usize,
        /// The baseline's mean score.
        baseline: f64,
        /// Whether the rest is less than the equivalence margin: no number of tasks shows a lift of
        /// the margin's size.
        exhausted: bool,
    },
    /// No trial of these tasks scores anything under either condition.
    Floor {
        /// Such tasks.
        at_floor: usize,
        /// All compared tasks.
        tasks: usize,
    },
    /// The condition's skill was opened in few trials.
    NotOpened {
        /// The share of valid trials in which a skill was opened.
        opened: f64,
        /// A valid trial in which none was.
        trial: Option<TrialId>,
    },
    /// Some tasks are clearly better with the skill and others clearly worse.
    OppositeEffects {
        /// Clearly better, largest gain first.
        better: Vec<String>,
        /// Clearly worse, largest loss first.
        worse: Vec<String>,
        /// A failed trial of the first of the latter.
        trial: Option<TrialId>,
    },
    /// Scores between 0 and 1 hide a difference of pass rates that is larger than the margin.
    PartialCredit {
        /// The difference of pass rates.
        pass_rate_lift: f64,
    },
    /// None of these: the differences between tasks are too large for their number.
    Noise,
}

/// Whether no number of tasks like these shows a lift of the margin's size: the baseline leaves no
/// room for it, or no trial scores anything.
pub(crate) fn is_exhausted(tasks: &[PairedTask], margin: f64) -> bool {
    let is_full = matches!(ceiling(tasks, margin), Some(Cause::Ceiling { exhausted: true, .. }));
    let is_empty = matches!(floor(tasks), Some(Cause::Floor { at_floor, tasks }) if at_floor == tasks);
    is_full || is_empty
}

pub(crate) fn ceiling(tasks: &[PairedTask], margin: f64) -> Option<Cause> {
    let at_ceiling = tasks.iter().filter(|task| mean(&task.base) >= 1.0 - EQUAL).count();
    let baseline = tasks.iter().map(|task| mean(&task.base)).sum::<f64>() / tasks.len().max(1) as f64;
    let exhausted = !tasks.is_empty() && baseline + margin > 1.0 + EQUAL;
    (exhausted || is_many(at_ceiling, tasks.len())).then_some(Cause::Ceiling {
        at_ceiling,
        tasks: tasks.len(),
        baseline,
        exhausted,
    })
}

pub(crate) fn floor(tasks: &[PairedTask]) -> Option<Cause> {
    let nothing = |scores: &[f64]| scores.iter().all(|score| *score <= EQUAL);
    let at_floor = tasks.iter().filter(|task| nothing(&task.base) && nothing(&task.arm)).count();
    is_many(at_floor, tasks.len()).then_some(Cause::Floor { at_floor, tasks: tasks.len() })
}

fn is_many(some: usize, all: usize) -> bool {
    some > 0 && some as f64 >= MANY * all as f64
}

pub(crate) fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
}
