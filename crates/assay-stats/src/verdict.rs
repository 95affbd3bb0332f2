//! From numbers to a verdict (VALIDITY rules 4 and 5).
//!
//! A family of m comparisons shares an error rate of 5 %: each is judged at α = .05/m (Bonferroni). In this order:
//!
//! 1. **Losses.** Where the verdict changes between the two ways of filling in lost trials, or the arms lost shares
//!    that differ by more than 5 points, nothing can be said: `Underpowered`, for `Losses`.
//! 2. **No effect**, where the (1 − 2α) interval lies inside (−d, d): two one-sided tests (Schuirmann 1987). It stays
//!    no effect where the lift differs from 0; the direction is then given.
//! 3. **Helps** or **harms**, where the (1 − α) interval excludes 0.
//! 4. **Underpowered** otherwise, for `Design` or `Noise`.

use crate::interval::{FEWEST_UNITS, Interval, PairedTask};
use crate::moments::Moments;
use crate::power;
use crate::sample::Sample;

/// The error rate that a family of comparisons shares.
pub(crate) const ALPHA: f64 = 0.05;

/// What a comparison says, with why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What the comparison says.
    pub kind: VerdictKind,
    /// The interval that decides between helps and harms, at level 1 − .05/m; `None` under 5 tasks or effective clusters.
    pub interval: Option<Interval>,
    /// The interval that decides on no effect, at level 1 − 2·.05/m.
    pub equivalence: Option<Interval>,
    /// Why it is underpowered; `None` for the other kinds.
    pub reason: Option<Reason>,
    /// Tasks with which a lift of the margin's size would be found with 80 % power. Given where the verdict is
    /// underpowered by design or noise and there are two units to tell the spread from.
    pub tasks_needed: Option<usize>,
    /// Sign of the lift, for a verdict whose (1 − .05/m) interval excludes 0; `None` where it is underpowered.
    pub direction: Option<Direction>,
}

/// The four verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictKind {
    /// The lift is above 0.
    Helps,
    /// The lift is below 0.
    Harms,
    /// The lift lies within the margin, whether or not it is 0.
    NoEffect,
    /// Nothing can be said.
    Underpowered,
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The design could not have found a lift at these numbers: under 5 tasks or clusters, or even a lift of 1 is
    /// below what it finds with 80 % power.
    Design,
    /// Lost trials could change the verdict, or the arms lost unequal shares.
    Losses,
    /// The spread between tasks is too wide for their number.
    Noise,
}

/// Sign of a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Above 0.
    Positive,
    /// Below 0.
    Negative,
}

/// Trials that were planned and have no result, and what they could have meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// The arm's trials without a result.
    pub arm_lost: usize,
    /// The arm's planned trials.
    pub arm_planned: usize,
    /// The baseline's trials without a result.
    pub base_lost: usize,
    /// The baseline's planned trials.
    pub base_planned: usize,
    /// The tasks with the arm's lost trials counted as passed and the baseline's as failed.
    pub best: Vec<PairedTask>,
    /// The tasks with the arm's lost trials counted as failed and the baseline's as passed.
    pub worst: Vec<PairedTask>,
}

impl Losses {
    /// Whether the shares lost differ by more than 5 points. An arm without planned trials has lost none.
    pub(crate) fn unequal(&self) -> bool {
        let share = |lost: usize, planned: usize| (lost.min(planned) as u128, planned.max(1) as u128);
        let (arm, arm_of) = share(self.arm_lost, self.arm_planned);
        let (base, base_of) = share(self.base_lost, self.base_planned);
        let saturating = |a: u128, b: u128| a.saturating_mul(b);
        // |a/A − b/B| > 1/20, in whole numbers: a difference of exactly 5 points is not more than 5.
        saturating(arm, base_of).abs_diff(saturating(base, arm_of)).saturating_mul(20)
            > saturating(arm_of, base_of)
    }
}

/// The verdict on one comparison.
///
/// `m` is the number of comparisons in its family (0 counts as 1), `margin` the d of "no effect within ±d". A margin
/// outside (0, 1) excludes nothing or everything, and no verdict of no effect is given with it. `losses` is `None`
/// where no trial was lost.
pub fn verdict(tasks: &[PairedTask], m: usize, margin: f64, losses: Option<&Losses>) -> Verdict {
    let sample = Sample::of(tasks);
    let decision = Decision::of(&sample, m, margin);
    let lost = losses.is_some_and(|losses| {
        let differs =
            |bound: &[PairedTask]| Decision::of(&Sample::of(bound), m, margin).kind != decision.kind;
        losses.unequal() || differs(&losses.best) || differs(&losses.worst)
    });
    let kind = if lost { VerdictKind::Underpowered } else { decision.kind };
    let underpowered = kind == VerdictKind::Underpowered;
    let reason = underpowered.then(|| if lost { Reason::Losses } else { reason(&sample, m) });
    let tasks_needed = match reason {
        Some(Reason::Design | Reason::Noise) => power::tasks_needed_of(&sample, m, margin),
        Some(Reason::Losses) | None => None,
    };
    Verdict {
        kind,
        interval: decision.interval,
        equivalence: decision.equivalence,
        reason,
        tasks_needed,
        direction: decision.direction.filter(|_| !underpowered),
    }
}

fn reason(sample: &Sample, m: usize) -> Reason {
    match power::smallest_detectable_of(sample, m) {
        Some(lift) if lift <= 1.0 => Reason::Noise,
        _ => Reason::Design,
    }
}

/// Rule 5 without losses and without its reason.
pub(crate) struct Decision {
    pub(crate) kind: VerdictKind,
    pub(crate) interval: Option<Interval>,
    pub(crate) equivalence: Option<Interval>,
    pub(crate) direction: Option<Direction>,
}

impl Decision {
    pub(crate) fn of(sample: &Sample, m: usize, margin: f64) -> Decision {
        if !sample.has(FEWEST_UNITS) {
            let kind = VerdictKind::Underpowered;
            return Decision { kind, interval: None, equivalence: None, direction: None };
        }
        let moments = sample.moments();
        let alpha = alpha(m);
        let at = |moments: &Moments, tail: f64| moments.interval(tail, (-1.0, 1.0));
        Decision::read(at(&moments, 0.5 * alpha), at(&moments, alpha), margin)
    }

    /// Reads the two intervals, and nothing else.
    pub(crate) fn read(interval: Option<Interval>, equivalence: Option<Interval>, margin: f64) -> Decision {
        let direction = interval
            .filter(|i| i.excludes_zero())
            .map(|i| if i.low > 0.0 { Direction::Positive } else { Direction::Negative });
        let bounded = margin > 0.0 && margin < 1.0;
        let kind = if bounded && equivalence.is_some_and(|e| e.within(margin)) {
            VerdictKind::NoEffect
        } else {
            match direction {
                Some(Direction::Positive) => VerdictKind::Helps,
                Some(Direction::Negative) => VerdictKind::Harms,
                None => VerdictKind::Underpowered,
            }
        };
        Decision { kind, interval, equivalence, direction }
    }
}

/// The error rate of one comparison in a family of `m`.
pub(crate) fn alpha(m: usize) -> f64 {
    ALPHA / m.max(1) as f64
}
