//! Simulated suites of a plan, shared by all lifts.

use rand_chacha::ChaCha8Rng;

use super::bisection::bisect;
use super::comparison::Plan;
use crate::level::alpha;
use crate::moments::{Moments, Quantiles};
use crate::random::{Purpose, normal, stream, uniform};
use crate::verdict::{Decision, VerdictKind, has_enough_units};

/// Suites of a plan of usual size.
pub(crate) const SUITES: usize = 4000;

/// Suites of the largest plans, and of a first estimate.
pub(crate) const FEWEST_SUITES: usize = 250;

/// Suites of each shape that is compared with a plan's.
pub(crate) const SHAPE_SUITES: usize = 1000;

/// Tasks × (arm's trials + [`TASK`]) of all suites together that a plan may cost before it gets
/// fewer suites.
const BUDGET: usize = 6_000_000;

/// The cost of a task besides its trials, in trials.
const TASK: usize = 8;

/// The probabilities of the four verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chances {
    /// Of `helps`.
    pub helps: f64,
    /// Of `harms`.
    pub harms: f64,
    /// Of `negligible`.
    pub negligible: f64,
    /// Of `inconclusive`.
    pub inconclusive: f64,
}

/// The suites of one plan.
pub(crate) struct Draws {
    tasks: usize,
    repetitions: usize,
    noise: f64,
    margin: f64,
    alpha: f64,
    decisive: Option<Quantiles>,
    equivalence: Option<Quantiles>,
    /// The baseline's mean of every task of every suite.
    base: Vec<f64>,
    /// The shift above which a trial of the arm passes, for every repetition of every task of every
    /// suite.
    passes: Vec<f64>,
}

impl Draws {
    /// Draws at most `most` suites of a plan that [`Plan::check`] has passed, whose arm's shifts
    /// spread by `spread`.
    pub(crate) fn of(plan: &Plan, spread: f64, most: usize, seed: u64) -> Draws {
        let (tasks, repetitions) = (plan.tasks, plan.repetitions);
        let suites = (BUDGET / (tasks * (repetitions + TASK))).clamp(FEWEST_SUITES, most.max(FEWEST_SUITES));
        let units = tasks as f64;
        let mut draws = Draws {
            tasks,
            repetitions,
            noise: plan.noise(),
            margin: plan.margin,
            alpha: alpha(plan.family),
            decisive: Quantiles::of(units, 0.5 * alpha(plan.family)),
            equivalence: Quantiles::of(units, alpha(plan.family)),
            base: Vec::with_capacity(suites * tasks),
            passes: Vec::with_capacity(suites * tasks * repetitions),
        };
        for suite in 0..suites {
            let mut random = stream(seed, Purpose::Plan, suite as u64);
            for _ in 0..tasks {
                draws.task(plan, spread, &mut random);
            }
        }
        draws
    }

    fn task(&mut self, plan: &Plan, spread: f64, random: &mut ChaCha8Rng) {
        let rate = plan.baseline.draw_rate(random);
        let passed = (0..plan.base_repetitions).filter(|_| uniform(random) < rate).count();
        self.base.push(passed as f64 / plan.base_repetitions as f64);
        if plan.moving < 1.0 && uniform(random) >= plan.moving {
            // An unaffected task, until the lift needs more than the affected ones: then all its
            // trials pass, or fail.
            let until = plan.clearing() + uniform(random);
            let passes = |random: &mut ChaCha8Rng| if uniform(random) < rate { -until } else { until };
            self.passes.extend((0..plan.repetitions).map(|_| passes(random)));
            return;
        }
        let moved = rate + spread * normal(random);
        // u < clip(moved + shift) is u − moved < shift, since u is between 0 and 1.
        self.passes.extend((0..plan.repetitions).map(|_| uniform(random) - moved));
    }

    /// Suites drawn.
    pub(crate) fn suites(&self) -> usize {
        self.base.len() / self.tasks
    }

    /// The moments of every suite under a shift.
    fn moments(&self, shift: f64) -> impl Iterator<Item = Moments> {
        let mut lifts = Vec::with_capacity(self.tasks);
        let suites = self.base.chunks(self.tasks).zip(self.passes.chunks(self.tasks * self.repetitions));
        suites.map(move |(base, passes)| {
            lifts.clear();
            lifts.extend(base.iter().zip(passes.chunks(self.repetitions)).map(|(base, trials)| {
                trials.iter().filter(|from| **from < shift).count() as f64 / self.repetitions as f64 - base
            }));
            let mean = lifts.iter().sum::<f64>() / self.tasks as f64;
            let (squares, cubes) = lifts.iter().fold((0.0, 0.0), |(squares, cubes), lift| {
                let deviation = lift - mean;
                (squares + deviation * deviation, cubes + deviation * deviation * deviation)
            });
            Moments { n: self.tasks as f64, mean, squares, cubes, noise: self.noise }
        })
    }

    /// The share of each verdict under a shift.
    pub(crate) fn chances(&self, shift: f64) -> Chances {
        let mut counts = [0_usize; 4];
        for moments in self.moments(shift) {
            let interval = self.decisive.map(|q| moments.interval_of(q, (-1.0, 1.0)));
            let equivalence = self.equivalence.map(|q| moments.equivalence(q, self.margin));
            let enough = has_enough_units(self.tasks as f64, self.alpha, self.margin);
            let kind = Decision::read(interval, equivalence, self.margin, enough).kind;
            let place = match kind {
                VerdictKind::Helps => 0,
                VerdictKind::Harms => 1,
                VerdictKind::Negligible => 2,
                VerdictKind::Inconclusive => 3,
            };
            counts[place] += 1;
        }
        let [helps, harms, negligible, inconclusive] =
            counts.map(|count| count as f64 / self.suites().max(1) as f64);
        Chances { helps, harms, negligible, inconclusive }
    }

    /// The share of suites with `negligible` within ±`margin` if the true effect is zero.
    pub(crate) fn share_negligible(&self, margin: f64) -> f64 {
        self.share_within(&self.moments(0.0).collect::<Vec<_>>(), margin)
    }

    fn share_within(&self, suites: &[Moments], margin: f64) -> f64 {
        let Some(quantiles) = self.equivalence else { return 0.0 };
        if !has_enough_units(self.tasks as f64, self.alpha, margin) {
            return 0.0;
        }
        let within =
            suites.iter().filter(|moments| moments.equivalence(quantiles, margin).within(margin)).count();
        within as f64 / suites.len().max(1) as f64
    }

    /// The smallest margin with `negligible` in the given share of suites if the true effect is
    /// zero; `None` if even a margin of nearly 1 is too small.
    pub(crate) fn smallest_margin(&self, share: f64) -> Option<f64> {
        let suites: Vec<Moments> = self.moments(0.0).collect();
        bisect(0.0, 1.0 - 1e-9, |margin| self.share_within(&suites, margin) >= share)
    }
}
