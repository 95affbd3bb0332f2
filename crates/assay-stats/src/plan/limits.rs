//! What no luck can reach, with the arithmetic.

use crate::interval::FEWEST_UNITS;
use crate::moments::{Moments, Quantiles};
use crate::permutation::{DRAWS, EXACT};
use crate::plan::{Plan, bisect};
use crate::verdict::{alpha, shows_none};

/// The fewest tasks that have an interval.
pub(crate) const FEWEST: usize = FEWEST_UNITS;

/// The most trials of one suite, of both arms, that are simulated.
const LARGEST: usize = 200_000;

/// Why something that was asked for cannot be had, whatever the trials say.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// Under five tasks there is no interval, and so no verdict.
    #[error("{tasks} tasks have no interval: it needs {FEWEST}")]
    Tasks {
        /// The plan's tasks.
        tasks: usize,
    },
    /// An arm has no trials.
    #[error("an arm without repetitions has no mean")]
    Repetitions,
    /// The margin excludes nothing or everything.
    #[error("a margin of {margin} lies outside (0, 1): no verdict of no effect is given with it")]
    Margin {
        /// The margin.
        margin: f64,
    },
    /// The spread is none.
    #[error("a spread of {spread} over tasks lies outside [0, 1]")]
    Spread {
        /// The spread.
        spread: f64,
    },
    /// The share of tasks that move is none.
    #[error("a share of {moving} of tasks that move lies outside (0, 1]")]
    Moving {
        /// The share.
        moving: f64,
    },
    /// More trials than are simulated.
    #[error("{tasks} tasks of {trials} trials each are more than the {LARGEST} trials that are simulated")]
    Size {
        /// The plan's tasks.
        tasks: usize,
        /// Trials of a task, of both arms.
        trials: usize,
    },
    /// A lift that is not a number.
    #[error("a lift of {lift} is none")]
    Lift {
        /// The lift.
        lift: f64,
    },
    /// The baseline leaves no room for the lift.
    #[error(
        "a lift of {lift:+.3} over a baseline of {baseline:.3} would be a pass rate of {:.3}: rates end at 0 and 1",
        .baseline + .lift
    )]
    Ceiling {
        /// Mean pass rate of the baseline.
        baseline: f64,
        /// The lift.
        lift: f64,
    },
    /// The lift is one that counts as none.
    #[error("a lift of {lift:+.3} lies within the margin of {margin:.3}: enough tasks would say no effect")]
    WithinMargin {
        /// The lift.
        lift: f64,
        /// The margin.
        margin: f64,
    },
    /// The margin is narrower than the narrowest interval.
    #[error(
        "a margin of {margin:.4} is below {least:.4}, the smallest within which this many tasks can show no effect, even if \
         none shows any difference"
    )]
    Narrow {
        /// The margin.
        margin: f64,
        /// The smallest margin that can be met.
        least: f64,
    },
    /// No data can give so small a p.
    #[error(
        "a p of {wanted} cannot come of {tasks} tasks in a family of {family}: the smallest of the sign-flip test is \
         {smallest:.2e}, and Holm's correction multiplies it by {family} to {:.2e}",
        (.smallest * *.family as f64).min(1.0)
    )]
    SmallestP {
        /// The plan's tasks.
        tasks: usize,
        /// Comparisons in the family.
        family: usize,
        /// The smallest p of one comparison.
        smallest: f64,
        /// The p asked for.
        wanted: f64,
    },
}

/// What a gate asks of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// A true lift to be found.
    pub lift: Option<f64>,
    /// No effect within ± this.
    pub margin: Option<f64>,
    /// A p value, after Holm's correction, at most this.
    pub p: Option<f64>,
}

/// The smallest two-sided p that the sign-flip test can give for a number of tasks.
///
/// Of the 2^n sign patterns at least the observed one and its mirror image are as extreme: 2/2^n. Above 20 tasks
/// patterns are drawn, and with b = 0 of B = 99,999 it is (b + 1)/(B + 1) (Phipson & Smyth 2010). 1 without a task.
pub fn smallest_p(tasks: usize) -> f64 {
    if tasks > EXACT {
        return 1.0 / (DRAWS as f64 + 1.0);
    }
    (2.0 / (1_u64 << tasks) as f64).min(1.0)
}

impl Plan {
    /// Whether the plan can be simulated at all.
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        if self.tasks < FEWEST {
            return Err(Impossible::Tasks { tasks: self.tasks });
        }
        if self.repetitions == 0 || self.base_repetitions == 0 {
            return Err(Impossible::Repetitions);
        }
        if !(self.margin > 0.0 && self.margin < 1.0) {
            return Err(Impossible::Margin { margin: self.margin });
        }
        if !(0.0..=1.0).contains(&self.spread) {
            return Err(Impossible::Spread { spread: self.spread });
        }
        if !(self.moving > 0.0 && self.moving <= 1.0) {
            return Err(Impossible::Moving { moving: self.moving });
        }
        if self.tasks > self.largest() {
            let trials = self.repetitions.saturating_add(self.base_repetitions);
            return Err(Impossible::Size { tasks: self.tasks, trials });
        }
        Ok(())
    }

    /// The most tasks that are simulated at these repetitions.
    pub(crate) fn largest(&self) -> usize {
        LARGEST / self.repetitions.saturating_add(self.base_repetitions).max(1)
    }

    /// v₀ of the plan's tasks.
    pub(crate) fn noise(&self) -> f64 {
        0.25 * (1.0 / self.repetitions as f64 + 1.0 / self.base_repetitions as f64)
    }

    /// Whether the baseline leaves room for a lift.
    pub(crate) fn possible(&self, lift: f64) -> Result<(), Impossible> {
        if !lift.is_finite() {
            return Err(Impossible::Lift { lift });
        }
        let baseline = self.baseline.mean();
        // .4 of a beta's shapes and .6 may add up to a bit more than 1.
        if (-1e-9..=1.0 + 1e-9).contains(&(baseline + lift)) {
            Ok(())
        } else {
            Err(Impossible::Ceiling { baseline, lift })
        }
    }

    /// The smallest margin that these tasks can meet: that of the equivalence interval where all differ by 0, and not one
    /// for which there are too few tasks.
    pub fn least_margin(&self) -> Option<f64> {
        self.check().ok()?;
        let n = self.tasks as f64;
        let moments = Moments { n, mean: 0.0, squares: 0.0, cubes: 0.0, noise: self.noise() };
        let alpha = alpha(self.family);
        let quantiles = Quantiles::of(n, alpha)?;
        bisect(0.0, 1.0 - 1e-9, |margin| {
            shows_none(n, alpha, margin) && moments.equivalence(quantiles, margin).within(margin)
        })
    }

    /// All that cannot be had of what a gate wants, by arithmetic alone. Empty where nothing stands against it; the
    /// chance of it may still be small, which [`Plan::forecast`] tells.
    pub fn impossible(&self, wanted: &Wanted) -> Vec<Impossible> {
        let plan = Plan { margin: wanted.margin.unwrap_or(self.margin), ..*self };
        let mut found: Vec<Impossible> = plan.check().err().into_iter().collect();
        found.extend(wanted.lift.and_then(|lift| self.possible(lift).err()));
        if let (Some(margin), Some(least)) = (wanted.margin, plan.least_margin())
            && margin < least
        {
            found.push(Impossible::Narrow { margin, least });
        }
        if let Some(wanted) = wanted.p {
            let (tasks, family, smallest) = (self.tasks, self.family.max(1), smallest_p(self.tasks));
            // NaN is met by nothing.
            let met = smallest * family as f64 <= wanted;
            if !met {
                found.push(Impossible::SmallestP { tasks, family, smallest, wanted });
            }
        }
        found
    }
}
