//! Requests that no data can meet, with the arithmetic.

use super::bisection::bisect;
use super::comparison::Plan;
use crate::estimate::FEWEST_UNITS;
use crate::level::alpha;
use crate::moments::{Moments, Quantiles};
use crate::permutation::{DRAWS, EXACT};
use crate::verdict::has_enough_units;

/// The fewest tasks that have an interval.
pub(crate) const FEWEST: usize = FEWEST_UNITS;

/// The limit of simulated trials of one suite, both conditions together.
const LARGEST: usize = 200_000;

/// Why a request cannot be met by any data.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// Under five tasks there is no interval, and so no verdict.
    #[error("a confidence interval needs at least {FEWEST} tasks; this design has {tasks}")]
    Tasks {
        /// The plan's tasks.
        tasks: usize,
    },
    /// An arm has no trials.
    #[error("both conditions need at least one repetition")]
    Repetitions,
    /// The margin excludes nothing or everything.
    #[error("an equivalence margin of {} is not between 0 and 100 pp", pp(*.margin))]
    Margin {
        /// The margin.
        margin: f64,
    },
    /// The standard deviation of effects is out of range.
    #[error("a standard deviation of effects of {spread} is outside [0, 1]")]
    Spread {
        /// The spread.
        spread: f64,
    },
    /// The share of affected tasks is out of range.
    #[error("a share of affected tasks of {moving} is outside (0, 1]")]
    Moving {
        /// The share.
        moving: f64,
    },
    /// More trials than are simulated.
    #[error("{tasks} tasks of {trials} trials each exceed the limit of {LARGEST} simulated trials")]
    Size {
        /// The plan's tasks.
        tasks: usize,
        /// Trials of a task, of both arms.
        trials: usize,
    },
    /// A lift that is not a number.
    #[error("invalid lift {lift}")]
    Lift {
        /// The lift.
        lift: f64,
    },
    /// The baseline leaves no room for the lift.
    #[error(
        "a lift of {} over a baseline pass rate of {} means a pass rate of {}, outside 0% to 100%",
        signed_pp(*.lift),
        percent(*.baseline),
        percent(.baseline + .lift)
    )]
    Ceiling {
        /// Mean pass rate of the baseline.
        baseline: f64,
        /// The lift.
        lift: f64,
    },
    /// The lift is smaller than the equivalence margin.
    #[error(
        "a lift of {} is smaller than the equivalence margin of ±{}: with enough tasks the verdict is `negligible`",
        signed_pp(*.lift),
        pp(*.margin)
    )]
    WithinMargin {
        /// The lift.
        lift: f64,
        /// The margin.
        margin: f64,
    },
    /// The margin is narrower than the narrowest interval.
    #[error(
        "an equivalence margin of ±{} is below ±{}, the smallest that this many tasks can show even if none of them differs",
        pp(*.margin),
        pp(*.least)
    )]
    Narrow {
        /// The margin.
        margin: f64,
        /// The smallest margin that can be met.
        least: f64,
    },
    /// No data can give so small a p.
    #[error(
        "p ≤ {limit} is unattainable (tasks: {tasks}, comparisons: {family}): the smallest p of the sign-flip test is \
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
        /// The requested p.
        limit: f64,
    },
}

/// A share times 100, with as many of two decimals as it needs.
fn hundredths(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

fn pp(share: f64) -> String {
    format!("{} pp", hundredths(share))
}

fn signed_pp(share: f64) -> String {
    format!("{}{}", if share > 0.0 { "+" } else { "" }, pp(share))
}

fn percent(share: f64) -> String {
    format!("{}%", hundredths(share))
}

/// What a plan is required to attain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requirement {
    /// A true lift to detect.
    pub lift: Option<f64>,
    /// An equivalence margin.
    pub margin: Option<f64>,
    /// An upper limit of the Holm-adjusted p.
    pub p: Option<f64>,
}

/// The smallest two-sided p that the sign-flip test can give for a number of tasks.
///
/// Of the 2^n sign patterns at least the observed one and its mirror image are as extreme: 2/2^n.
/// Above 20 tasks patterns are drawn, and with b = 0 of B = 99,999 it is (b + 1)/(B + 1) (Phipson &
/// Smyth 2010). 1 without a task.
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

    /// The smallest margin that these tasks can meet: that of the equivalence interval where all
    /// differ by 0, and not one for which there are too few tasks.
    pub fn least_margin(&self) -> Option<f64> {
        self.check().ok()?;
        let n = self.tasks as f64;
        let moments = Moments { n, mean: 0.0, squares: 0.0, cubes: 0.0, noise: self.noise() };
        let alpha = alpha(self.family);
        let quantiles = Quantiles::of(n, alpha)?;
        bisect(0.0, 1.0 - 1e-9, |margin| {
            has_enough_units(n, alpha, margin) && moments.equivalence(quantiles, margin).within(margin)
        })
    }

    /// The parts of a requirement that no data can meet. Empty if all can be met; the chance may
    /// still be small, see [`Plan::forecast`].
    pub fn impossible(&self, required: &Requirement) -> Vec<Impossible> {
        let plan = Plan { margin: required.margin.unwrap_or(self.margin), ..*self };
        let mut found: Vec<Impossible> = plan.check().err().into_iter().collect();
        found.extend(required.lift.and_then(|lift| self.possible(lift).err()));
        if let (Some(margin), Some(least)) = (required.margin, plan.least_margin())
            && margin < least
        {
            found.push(Impossible::Narrow { margin, least });
        }
        if let Some(limit) = required.p {
            let (tasks, family, smallest) = (self.tasks, self.family.max(1), smallest_p(self.tasks));
            // Written so that a limit of NaN is not attainable.
            let attainable = smallest * family as f64 <= limit;
            if !attainable {
                found.push(Impossible::SmallestP { tasks, family, smallest, limit });
            }
        }
        found
    }
}
