//! Power and minimum detectable effect of a design (docs/STATISTICS.md, "Planning"), by simulating
//! the verdict.
//!
//! Tasks have the rates of a [`Baseline`](crate::simulate::Baseline). A share of them, [`Plan::moving`], is shifted by a
//! normal variate and clamped to [0, 1]; the lift is the mean of the clamped shifts. A lift that
//! this share cannot produce shifts more of the tasks, up to 0 or 1. One comparison is simulated at
//! the level of its family. Lost trials, drift and clusters are not simulated: pass the number of
//! clusters as the tasks.
//!
//! Each suite has its own random stream. Its trials stay the same when the lift increases, and its
//! first tasks when tasks are added, so power is monotone in both and bisection applies. With 4,000
//! suites a power of 80% is known to ±1.2 pp.

mod bisection;
mod comparison;
mod draws;
mod limits;

use self::bisection::bisect;
use self::draws::{Draws, FEWEST_SUITES, SHAPE_SUITES, SUITES};
use crate::simulate::{
    Design, Effect, Loss, SequentialFigures, StagedFigures, simulate_rounds, simulate_stages,
};

pub use comparison::{MOVING, Plan, SPREAD};
pub use draws::Chances;
pub use limits::{Impossible, Requirement, smallest_p};

/// The required probability of the right verdict.
pub const POWER: f64 = 0.8;

/// The largest number of tasks that is reported.
pub const MOST_TASKS: usize = 5000;

/// Lifts that differ by less are equal: decimal fractions are not exact.
const EQUAL: f64 = 1e-9;

/// A design with the number of trials of a plan and other numbers of tasks and repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Tasks.
    pub tasks: usize,
    /// Trials a task and arm.
    pub repetitions: usize,
    /// The minimum detectable effect; `None` if there is none.
    pub mde: Option<f64>,
    /// The smallest margin with 80% power for `negligible` if the true effect is zero.
    pub margin: Option<f64>,
    /// The probability of the right one of `helps` and `harms` at the requested lift.
    pub power: Option<f64>,
}

/// Suites that give the expected trials of decisions after each round.
const ROUND_SUITES: u64 = 1_000;

/// Repetitions of the shapes that [`Plan::shapes`] compares.
const SHAPES: [usize; 5] = [1, 2, 3, 5, 10];

/// The statistical properties of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Suites simulated.
    pub suites: usize,
    /// The minimum detectable effect; `None` if even a pass rate of 1 on every task is not
    /// detected.
    pub mde: Option<f64>,
    /// The smallest margin with 80% power for `negligible` if the true effect is zero; `None` if no
    /// margin below 1 has it.
    pub margin: Option<f64>,
    /// The expected verdicts if the true effect is zero.
    pub if_no_effect: Chances,
}

impl Plan {
    /// The minimum detectable effect, the smallest margin, and the expected verdicts if the true
    /// effect is zero.
    pub fn forecast(&self, seed: u64) -> Result<Forecast, Impossible> {
        self.check()?;
        Ok(self.forecast_of(SUITES, seed))
    }

    fn forecast_of(&self, suites: usize, seed: u64) -> Forecast {
        let draws = Draws::of(self, self.spread, suites, seed);
        let chance = |shift: f64| draws.chances(shift).helps;
        let mde = bisect(0.0, self.largest_shift(), |shift| chance(shift) >= POWER);
        let null = Draws::of(self, 0.0, suites, seed);
        Forecast {
            suites: draws.suites(),
            mde: mde.map(|shift| self.lift_of(shift)),
            margin: null.smallest_margin(POWER),
            if_no_effect: null.chances(0.0),
        }
    }

    /// Designs with the number of trials of this plan and 1, 2, 3, 5 or 10 repetitions, with their
    /// power for `lift`. They use fewer suites than [`Plan::forecast`]. Empty for unequal
    /// repetitions and for an invalid plan.
    pub fn shapes(&self, lift: Option<f64>, seed: u64) -> Vec<Shape> {
        if self.check().is_err() || self.repetitions != self.base_repetitions {
            return Vec::new();
        }
        let cells = self.tasks.saturating_mul(self.repetitions);
        let mut all: Vec<usize> = SHAPES.into_iter().chain([self.repetitions]).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
            .map(|repetitions| Plan {
                tasks: cells / repetitions,
                repetitions,
                base_repetitions: repetitions,
                ..*self
            })
            .filter(|plan| plan.check().is_ok())
            .map(|plan| {
                // The shape of this plan is simulated like its forecast, so that the two agree.
                let suites = if plan.repetitions == self.repetitions { SUITES } else { SHAPE_SUITES };
                let found = plan.forecast_of(suites, seed);
                let power = lift.and_then(|lift| {
                    let shift = plan.shift_of(lift).ok()?;
                    let chances = Draws::of(&plan, plan.spread, suites, seed).chances(shift);
                    Some(if lift > 0.0 { chances.helps } else { chances.harms })
                });
                Shape {
                    tasks: plan.tasks,
                    repetitions: plan.repetitions,
                    mde: found.mde,
                    margin: found.margin,
                    power,
                }
            })
            .collect()
    }

    /// The probabilities of the verdicts at a true lift in [−1, 1]. At 0 no task is affected.
    pub fn chances(&self, lift: f64, seed: u64) -> Result<Chances, Impossible> {
        self.check()?;
        if lift == 0.0 {
            return Ok(Draws::of(self, 0.0, SUITES, seed).chances(0.0));
        }
        let shift = self.shift_of(lift)?;
        Ok(Draws::of(self, self.spread, SUITES, seed).chances(shift))
    }

    /// The number of tasks that detect a true lift with 80% power at the repetitions of the plan.
    /// Above 50 tasks it is accurate to 2%. `None` if more than [`MOST_TASKS`], or more trials than
    /// can be simulated, are needed.
    pub fn tasks_for_lift(&self, lift: f64, seed: u64) -> Result<Option<usize>, Impossible> {
        let least = Plan { tasks: limits::FEWEST, ..*self };
        least.check()?;
        // A true lift of the margin's size is not within it: more tasks show it with the verdict
        // `helps` or `harms`.
        if lift.abs() < self.margin - EQUAL {
            return Err(Impossible::WithinMargin { lift, margin: self.margin });
        }
        let shift = self.shift_of(lift)?;
        Ok(self.fewest(|plan, suites| {
            let chances = Draws::of(plan, plan.spread, suites, seed).chances(shift);
            let right = if lift > 0.0 { chances.helps } else { chances.harms };
            right >= POWER
        }))
    }

    /// The number of tasks with 80% power for `negligible` within `margin` if the true effect is
    /// zero; otherwise like [`Plan::tasks_for_lift`].
    pub fn tasks_for_margin(&self, margin: f64, seed: u64) -> Result<Option<usize>, Impossible> {
        let least = Plan { tasks: limits::FEWEST, margin, ..*self };
        least.check()?;
        Ok(self.fewest(|plan, suites| Draws::of(plan, 0.0, suites, seed).share_negligible(margin) >= POWER))
    }

    /// The smallest number of tasks that is enough, for a monotone condition `enough` on the plan
    /// and the number of suites.
    ///
    /// A first search uses few suites.
    fn fewest(&self, enough: impl Fn(&Plan, usize) -> bool) -> Option<usize> {
        let most = MOST_TASKS.min(self.largest());
        let holds = |tasks: usize, suites: usize| enough(&Plan { tasks, ..*self }, suites);
        // Doubling from the fewest.
        let (mut low, mut high) = (limits::FEWEST - 1, limits::FEWEST);
        while !holds(high, FEWEST_SUITES) && high < most {
            (low, high) = (high, (2 * high).min(most));
        }
        (low, high) = narrow(low, high, |tasks| holds(tasks, FEWEST_SUITES));
        // 15% to either side is over two standard errors of the first search.
        let step = |from: usize| 1 + from * 3 / 20;
        (low, high) = (low.saturating_sub(step(low)).max(limits::FEWEST - 1), high);
        while low >= limits::FEWEST && holds(low, SUITES) {
            (low, high) = (low.saturating_sub(step(low)).max(limits::FEWEST - 1), low);
        }
        while !holds(high, SUITES) {
            if high >= most {
                return None;
            }
            (low, high) = (high, (high + step(high)).min(most));
        }
        Some(narrow(low, high, |tasks| holds(tasks, SUITES)).1)
    }

    /// A shift after which every affected task passes.
    pub(crate) fn clearing(&self) -> f64 {
        1.0 + 8.0 * self.spread
    }

    /// A shift after which every task passes. Between [`Plan::clearing`] and 1 above it, the
    /// unaffected tasks begin to.
    fn largest_shift(&self) -> f64 {
        self.clearing() + if self.moving < 1.0 { 1.0 } else { 0.0 }
    }

    /// The true lift of a shift.
    fn lift_of(&self, shift: f64) -> f64 {
        self.design(shift).true_lift()
    }

    /// The shift of a true lift.
    fn shift_of(&self, lift: f64) -> Result<f64, Impossible> {
        self.possible(lift)?;
        let most = self.largest_shift();
        // The ends are where the rates are all 0 or all 1, up to rounding.
        Ok(bisect(-most, most, |shift| self.lift_of(shift) >= lift).unwrap_or(most))
    }

    /// The design of the validity grid with this plan's figures, and an arm that shifts every rate.
    ///
    /// `shift` is the mean of the shifts before rates are clamped to [0, 1]. All of the family's
    /// arms have the same shift.
    pub fn design(&self, shift: f64) -> Design {
        let (clearing, spread) = (self.clearing(), self.spread);
        let effect = if self.moving < 1.0 {
            let beyond = (shift.abs() - clearing).clamp(0.0, 1.0);
            let share = self.moving + (1.0 - self.moving) * beyond;
            Effect::Partial { lift: shift.clamp(-clearing, clearing), spread, share }
        } else {
            Effect::Uniform { lift: shift, spread }
        };
        Design {
            baseline: self.baseline,
            effect,
            tasks: self.tasks,
            repetitions: self.repetitions,
            base_repetitions: self.base_repetitions,
            arms: self.family.max(1),
            margin: self.margin,
            drift: 0.0,
            arm_loss: Loss::default(),
            base_loss: Loss::default(),
        }
    }

    /// The plan with decisions after each of at most `rounds` rounds, at a true lift in [−1, 1], beside the plan itself.
    /// At 0 no task is affected.
    pub fn in_rounds(&self, rounds: usize, lift: f64, seed: u64) -> Result<SequentialFigures, Impossible> {
        let design = self.design_of_lift(lift)?;
        let effect = if lift == 0.0 { Effect::None } else { design.effect };
        let design = Design { effect, repetitions: rounds, base_repetitions: rounds, ..design };
        Ok(simulate_rounds(&design, lift, self.repetitions, ROUND_SUITES, seed))
    }

    /// The same with `more` of the tasks after the rounds.
    pub fn in_stages(
        &self,
        rounds: usize,
        more: usize,
        lift: f64,
        seed: u64,
    ) -> Result<StagedFigures, Impossible> {
        let design = self.design_of_lift(lift)?;
        let effect = if lift == 0.0 { Effect::None } else { design.effect };
        let design = Design { effect, repetitions: rounds, base_repetitions: rounds, ..design };
        Ok(simulate_stages(&design, more, self.repetitions, ROUND_SUITES, seed))
    }

    /// The design with a true lift: [`Plan::design`] with the shift of that lift.
    pub fn design_of_lift(&self, lift: f64) -> Result<Design, Impossible> {
        self.check()?;
        Ok(self.design(self.shift_of(lift)?))
    }
}

/// Narrows a number that is too small and one that is enough to neighbors, or to within 2%.
fn narrow(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> (usize, usize) {
    while high - low > 1.max(high / 50) {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, high)
}
