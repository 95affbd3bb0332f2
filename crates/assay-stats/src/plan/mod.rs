//! What a design can and cannot find (docs/STATISTICS.md, "Planning"), by simulating the rule of verdicts.
//!
//! Tasks have the rates of a [`Baseline`]. A share of them moves, [`Plan::moving`], by shifts with a spread over tasks, and
//! a rate cannot leave [0, 1]; what counts is the mean over tasks of what is left of the shifts. A lift that is more than
//! this share can give moves more of the tasks, all the way. One comparison of the family
//! is simulated at the family's level. Lost trials, drift and clusters are not: with clusters, give their number as
//! the tasks.
//!
//! Every function draws its suites from streams of a seed, one each, task by task. The trials of a suite stay the same
//! when the lift is raised, and its first tasks when tasks are added, so that chances rise with both and bisection
//! finds where they pass 80 %. With 4,000 suites a chance of 80 % is known to ±1.2 points.

mod draws;
mod limits;
mod promise;

use crate::plan::draws::{Draws, FEWEST_SUITES, SHAPE_SUITES, SUITES};
use crate::simulate::{Baseline, Design, Effect, Loss};

pub use limits::{Impossible, Requirement, smallest_p};
pub use promise::{Promise, promise};

/// The chance of the right verdict that is asked for.
pub const POWER: f64 = 0.8;

/// More tasks than this are not called an answer.
pub const MOST_TASKS: usize = 5000;

/// Halvings of an interval of lifts: to less than 10⁻⁶.
const HALVINGS: u32 = 24;

/// A comparison that is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Tasks, or clusters where tasks share something.
    pub tasks: usize,
    /// Trials a task under the arm.
    pub repetitions: usize,
    /// Trials a task under the baseline.
    pub base_repetitions: usize,
    /// Comparisons in the family; 0 counts as 1.
    pub family: usize,
    /// The d of "no effect within ±d", in (0, 1).
    pub margin: f64,
    /// The tasks' rates under the baseline: [`Baseline::default`], or a pilot's.
    pub baseline: Baseline,
    /// Standard deviation over the tasks that move of what the arm does, before rates are kept in [0, 1]; in [0, 1].
    pub spread: f64,
    /// The share of the tasks that move, in (0, 1].
    pub moving: f64,
}

/// The spread of [`Plan::spread`] where nothing is known of it, with [`MOVING`].
///
/// The two give true effects of tasks a standard deviation of .33 to .35, and leave 6 of 10 tasks within ±5 points. In
/// 55 pairs of submissions to Terminal-Bench these were .34 and 50 % (equal after five trials each), in 171 pairs of
/// models of MCPMark .33 and 56 % (four trials).
pub const SPREAD: f64 = 0.5;

/// The share of tasks that move, where nothing is known of it.
pub const MOVING: f64 = 0.5;

/// The same number of trials as a plan's in another shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Tasks.
    pub tasks: usize,
    /// Trials a task and arm.
    pub repetitions: usize,
    /// The smallest lift found with a chance of 80 %; `None` where there is none.
    pub detectable: Option<f64>,
    /// The smallest margin within which an arm that does nothing has no effect with a chance of 80 %.
    pub margin: Option<f64>,
    /// The chance of the right one of helps and harms at the lift asked for.
    pub power: Option<f64>,
}

/// Repetitions of the shapes that [`Plan::shapes`] compares.
const SHAPES: [usize; 5] = [1, 2, 3, 5, 10];

/// The chances of the four verdicts; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chances {
    /// That the arm helps.
    pub helps: f64,
    /// That it harms.
    pub harms: f64,
    /// That it has no effect.
    pub negligible: f64,
    /// That nothing can be said.
    pub inconclusive: f64,
}

/// What a plan comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Suites simulated.
    pub suites: usize,
    /// The smallest lift that is called helpful with a chance of 80 %; `None` where not even a lift to 1 on every task
    /// is.
    pub detectable: Option<f64>,
    /// The smallest margin within which an arm that does nothing has no effect with a chance of 80 %; `None` where no
    /// margin below 1 has it.
    pub margin: Option<f64>,
    /// The verdicts on an arm that does nothing, at the plan's margin.
    pub nothing: Chances,
}

impl Plan {
    /// The smallest detectable lift, the smallest margin, and the verdicts on an arm that does nothing.
    pub fn forecast(&self, seed: u64) -> Result<Forecast, Impossible> {
        self.check()?;
        Ok(self.forecast_of(SUITES, seed))
    }

    fn forecast_of(&self, suites: usize, seed: u64) -> Forecast {
        let draws = Draws::of(self, self.spread, suites, seed);
        let chance = |shift: f64| draws.chances(shift).helps;
        let detectable = bisect(0.0, self.largest_shift(), |shift| chance(shift) >= POWER);
        let nothing = Draws::of(self, 0.0, suites, seed);
        Forecast {
            suites: draws.suites(),
            detectable: detectable.map(|shift| self.lift_of(shift)),
            margin: nothing.bound(POWER),
            nothing: nothing.chances(0.0),
        }
    }

    /// What the plan's number of trials finds in other shapes, and in its own: 1, 2, 3, 5 and 10 repetitions of as many
    /// tasks as come to no more trials, with `lift` as the lift asked for. Other shapes use fewer suites than [`Plan::forecast`].
    /// Empty where the arms have unequal repetitions, and for a plan that cannot be.
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
                    detectable: found.detectable,
                    margin: found.margin,
                    power,
                }
            })
            .collect()
    }

    /// The chances of the verdicts at a true lift in [−1, 1]. At 0 the arm does nothing, to no task.
    pub fn chances(&self, lift: f64, seed: u64) -> Result<Chances, Impossible> {
        self.check()?;
        if lift == 0.0 {
            return Ok(Draws::of(self, 0.0, SUITES, seed).chances(0.0));
        }
        let shift = self.shift_of(lift)?;
        Ok(Draws::of(self, self.spread, SUITES, seed).chances(shift))
    }

    /// The number of tasks with which a true lift is found, with the right sign and a chance of 80 %; at the plan's
    /// repetitions, whatever its tasks. Above 50 tasks it is given to 2 %. `None` where more than [`MOST_TASKS`] would
    /// be needed, or more trials than can be simulated.
    pub fn tasks_for_lift(&self, lift: f64, seed: u64) -> Result<Option<usize>, Impossible> {
        let least = Plan { tasks: limits::FEWEST, ..*self };
        least.check()?;
        if lift.abs() <= self.margin {
            return Err(Impossible::WithinMargin { lift, margin: self.margin });
        }
        let shift = self.shift_of(lift)?;
        Ok(self.fewest(|plan, suites| {
            let chances = Draws::of(plan, plan.spread, suites, seed).chances(shift);
            let right = if lift > 0.0 { chances.helps } else { chances.harms };
            right >= POWER
        }))
    }

    /// The number of tasks with which an arm that does nothing has no effect within `margin` with a chance of 80 %;
    /// otherwise like [`Plan::tasks_for_lift`].
    pub fn tasks_for_margin(&self, margin: f64, seed: u64) -> Result<Option<usize>, Impossible> {
        let least = Plan { tasks: limits::FEWEST, margin, ..*self };
        least.check()?;
        Ok(self.fewest(|plan, suites| Draws::of(plan, 0.0, suites, seed).shows_none(margin) >= POWER))
    }

    /// The smallest number of tasks that is enough, where more are enough as well.
    ///
    /// A first look with few suites tells about where; `enough` is given the plan and the number of suites.
    fn fewest(&self, enough: impl Fn(&Plan, usize) -> bool) -> Option<usize> {
        let most = MOST_TASKS.min(self.largest());
        let holds = |tasks: usize, suites: usize| enough(&Plan { tasks, ..*self }, suites);
        // Doubling from the fewest.
        let (mut low, mut high) = (limits::FEWEST - 1, limits::FEWEST);
        while !holds(high, FEWEST_SUITES) && high < most {
            (low, high) = (high, (2 * high).min(most));
        }
        (low, high) = narrow(low, high, |tasks| holds(tasks, FEWEST_SUITES));
        // 15 % to either side is over two standard errors of the first look; where it was further off, on from there.
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

    /// A shift after which every task that moves passes.
    pub(crate) fn clearing(&self) -> f64 {
        1.0 + 8.0 * self.spread
    }

    /// A shift after which every task passes. Between [`Plan::clearing`] and one more the tasks that did not move begin to.
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
    /// `shift` is the mean of the shifts before rates are kept in [0, 1]. All of the family's arms shift alike.
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

    /// The design whose arms have a true lift; [`Plan::design`] with the shift that comes to it.
    pub fn design_of_lift(&self, lift: f64) -> Result<Design, Impossible> {
        self.check()?;
        Ok(self.design(self.shift_of(lift)?))
    }
}

/// Brings a number that is too small and one that is enough together: to neighbours, or to 2 %.
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

/// The smallest number in [`low`, `high`], to [`HALVINGS`], at which a condition that stays true holds.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(high) {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
