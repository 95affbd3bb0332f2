//! Tasks after the last round: the decision of two independent stages by the inverse normal method.
//!
//! With w the first stage's share of the tasks, fixed in the plan, Z(δ) = √w·z₁(δ) + √(1 − w)·z₂(δ) is standard normal at a
//! lift of δ, whatever the first stage showed; z_j(δ) is that of the p at which the stage's interval excludes δ. A
//! first stage that ended for futility at the information t < 1 has the weight w·t: the variance of Z is then below 1.

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::level::alpha;
use crate::moments::Moments;
use crate::paired_task::PairedTask;
use crate::power;
use crate::sample::{Sample, paired, trial_variance_of};
use crate::spending::{upper_quantile, upper_tail};
use crate::verdict::{
    Decision, Levels, Losses, Reason, Verdict, VerdictKind, fewest_for_negligible, has_enough_units, reason,
};

/// No z is larger: quantiles are not exact beyond it.
const MOST: f64 = 8.0;

/// Halvings of an interval that contains a z or a lift.
const HALVINGS: usize = 32;

/// The z of the interval: the standard normal's value at half of the p at which the interval excludes `value`, with
/// the sign of the mean less this value.
pub(crate) fn score(moments: &Moments, value: f64) -> f64 {
    let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
    let excludes = |z: f64| {
        let found = moments.interval(upper_tail(z), everywhere);
        found.is_some_and(|interval| value < interval.low || interval.high < value)
    };
    let (mut low, mut high) = (0.0, MOST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if excludes(middle) { low = middle } else { high = middle }
    }
    // An interval that is empty but for the mean excludes everything else.
    let z = if low > 0.0 || excludes(1e-9) { f64::midpoint(low, high) } else { 0.0 };
    if moments.mean < value { -z } else { z }
}

/// The first lift on the way from `inside` to `outside` that is excluded; `outside` if it is not excluded.
fn search(is_excluded: impl Fn(f64) -> bool, mut inside: f64, mut outside: f64) -> f64 {
    if !is_excluded(outside) {
        return outside;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(inside, outside);
        if is_excluded(middle) { outside = middle } else { inside = middle }
    }
    outside
}

/// Two stages with their weights.
struct Stages {
    moments: Vec<(Moments, f64)>,
    /// The mean over the tasks of both: the lift that is reported. Stages whose variances differ weigh otherwise in Z than
    /// their tasks do in the mean; the interval contains it all the same, and no verdict contradicts it.
    mean: f64,
}

impl Stages {
    fn of(tasks: [&[PairedTask]; 2], weights: [f64; 2]) -> Self {
        Self::filled(tasks, weights, tasks)
    }

    /// The same with lost trials filled in; the trials of `kept` alone say how much scores vary.
    fn filled(tasks: [&[PairedTask]; 2], weights: [f64; 2], kept: [&[PairedTask]; 2]) -> Self {
        // A stage without enough units says nothing: its z is 0.
        let usable = |((tasks, kept), weight): ((&[PairedTask], &[PairedTask]), f64)| {
            let sample = Sample::with_variance(tasks, Some(trial_variance_of(&paired(kept))));
            sample.has(FEWEST_UNITS).then(|| (sample.moments(), weight.sqrt()))
        };
        let all: Vec<PairedTask> = tasks.iter().flat_map(|tasks| tasks.iter().cloned()).collect();
        let mean = if all.is_empty() { 0.0 } else { Sample::of(&all).moments().mean };
        Self { moments: tasks.into_iter().zip(kept).zip(weights).filter_map(usable).collect(), mean }
    }

    /// The stages as `negligible` within ±`margin` takes them.
    fn equivalence(&self, margin: f64) -> Self {
        let sparse = if margin > 0.0 && margin < 1.0 { margin * (1.0 - margin) } else { 0.0 };
        let with = |(moments, weight): &(Moments, f64)| {
            (Moments { noise: moments.noise + sparse, ..*moments }, *weight)
        };
        Self { moments: self.moments.iter().map(with).collect(), mean: self.mean }
    }

    /// The lift that leaves neither side excluded: Z falls as the lift grows.
    fn center(&self) -> f64 {
        search(|value| self.z(value) > 0.0, 1.0, -1.0)
    }

    fn z(&self, value: f64) -> f64 {
        self.moments.iter().map(|(moments, weight)| weight * score(moments, value)).sum()
    }

    /// The lifts that a test with probability `tail` beyond each end does not exclude.
    fn interval(&self, tail: f64) -> Interval {
        let boundary = upper_quantile(tail);
        let center = self.center();
        Interval {
            low: search(|value| self.z(value) > boundary, center, -1.0).min(self.mean),
            high: search(|value| self.z(value) < -boundary, center, 1.0).max(self.mean),
        }
    }

    /// The verdict, by tests: as [`Decision::read`] of the intervals.
    fn kind(&self, levels: Levels, margin: f64, enough: bool) -> VerdictKind {
        let equivalence = self.equivalence(margin);
        let bound = upper_quantile(levels.one_sided);
        let is_within = self.mean.abs() < margin;
        if enough && is_within && equivalence.z(-margin) > bound && equivalence.z(margin) < -bound {
            return VerdictKind::Negligible;
        }
        let z = self.z(0.0);
        let bound = upper_quantile(0.5 * levels.two_sided);
        if z > bound && self.mean > 0.0 {
            VerdictKind::Helps
        } else if z < -bound && self.mean < 0.0 {
            VerdictKind::Harms
        } else {
            VerdictKind::Inconclusive
        }
    }
}

fn units(tasks: [&[PairedTask]; 2]) -> f64 {
    tasks.iter().map(|tasks| Sample::of(tasks).effective).sum()
}

/// Z at a lift of 0 in its own standard deviations, and the lift at which it is 0; `None` without a stage of five units.
pub(crate) fn estimate(tasks: [&[PairedTask]; 2], weights: [f64; 2]) -> Option<(f64, f64)> {
    let stages = Stages::of(tasks, weights);
    let variance: f64 = stages.moments.iter().map(|(_, weight)| weight * weight).sum();
    (variance > 0.0).then(|| (stages.z(0.0) / variance.sqrt(), stages.center()))
}

/// The verdict alone, which is quicker to compute than its intervals.
pub(crate) fn kind(
    tasks: [&[PairedTask]; 2],
    weights: [f64; 2],
    levels: Levels,
    family: usize,
    margin: f64,
) -> VerdictKind {
    kind_of_filled(tasks, tasks, weights, levels, family, margin)
}

/// The same with lost trials filled in; the trials of `kept` alone say how much scores vary.
pub(crate) fn kind_of_filled(
    tasks: [&[PairedTask]; 2],
    kept: [&[PairedTask]; 2],
    weights: [f64; 2],
    levels: Levels,
    family: usize,
    margin: f64,
) -> VerdictKind {
    let enough = has_enough_units(units(tasks), alpha(family), margin);
    Stages::filled(tasks, weights, kept).kind(levels, margin, enough)
}

/// The verdict of two stages.
pub(crate) fn decide(
    tasks: [&[PairedTask]; 2],
    weights: [f64; 2],
    levels: Levels,
    family: usize,
    margin: f64,
    losses: Option<[&Losses; 2]>,
) -> Verdict {
    let stages = Stages::of(tasks, weights);
    let all: Vec<PairedTask> = tasks.iter().flat_map(|tasks| tasks.iter().cloned()).collect();
    let sample = Sample::of(&all);
    let enough = has_enough_units(units(tasks), alpha(family), margin);
    let known = !stages.moments.is_empty();
    let interval = known.then(|| stages.interval(0.5 * levels.two_sided));
    let equivalence = known.then(|| stages.equivalence(margin).interval(levels.one_sided));
    let decision = Decision::read(interval, equivalence, margin, enough);
    let lost = decision.kind != VerdictKind::Inconclusive
        && losses.is_some_and(|losses| {
            let filled = |side: fn(&Losses) -> &[PairedTask]| {
                kind_of_filled(losses.map(side), tasks, weights, levels, family, margin) != decision.kind
            };
            Losses::sum(losses).unequal() || filled(|losses| &losses.best) || filled(|losses| &losses.worst)
        });
    let inconclusive = lost || decision.kind == VerdictKind::Inconclusive;
    let reason = inconclusive.then(|| if lost { Reason::Losses } else { reason(&sample, family) });
    Verdict {
        kind: if inconclusive { VerdictKind::Inconclusive } else { decision.kind },
        interval,
        equivalence,
        reason,
        tasks_needed: match reason {
            Some(Reason::Design | Reason::Noise) => power::tasks_needed_of(&sample, family, margin)
                .map(|needed| needed.max(fewest_for_negligible(&sample, family, margin))),
            _ => None,
        },
        direction: decision.direction.filter(|_| !inconclusive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::{SequentialPlan, first_rounds};
    use crate::simulate::{Baseline, Design, Effect};
    use crate::verdict::interval_p;

    #[test]
    fn the_z_of_zero_is_that_of_the_p_of_the_interval() {
        for index in 0..20 {
            let tasks =
                &Design::skewed(Effect::Uniform { lift: 0.1, spread: 0.2 }, 20, 5).suite(3, index).arms[0];
            let p = interval_p(tasks).unwrap();
            let z = score(&Sample::of(tasks).moments(), 0.0);
            if p < 1.0 {
                assert!((2.0 * upper_tail(z.abs()) - p).abs() < 1e-6, "{index}: z {z}, p {p}");
            }
        }
    }

    #[test]
    fn the_intervals_and_the_tests_agree() {
        let plan = SequentialPlan::new(6, 1, 0.1).unwrap().with_more_tasks(20, 20);
        for index in 0..20 {
            let suite =
                &Design::skewed(Effect::Uniform { lift: 0.2, spread: 0.3 }, 40, 6).suite(9, index).arms[0];
            let verdict = plan.decide_more(&suite[..20], 6, &suite[20..], None).unwrap();
            let interval = verdict.interval.unwrap();
            let expected = match verdict.kind {
                VerdictKind::Helps => interval.low > 0.0,
                VerdictKind::Harms => interval.high < 0.0,
                VerdictKind::Negligible => verdict.equivalence.unwrap().within(0.1),
                VerdictKind::Inconclusive => !interval.excludes_zero(),
            };
            assert!(expected && interval.low <= interval.high, "{index}: {verdict:?}");
        }
    }

    #[test]
    fn two_stages_keep_the_error_rate() {
        let suites = 2_000;
        for (effect, tasks) in [(Effect::None, 24), (Effect::Opposite { shift: 0.4 }, 24)] {
            let plan = SequentialPlan::new(6, 1, 0.1).unwrap().with_more_tasks(12, 12);
            let design = Design::skewed(effect, tasks, 6);
            let wrong = (0..suites)
                .filter(|index| {
                    let suite = &design.suite(21, *index).arms[0];
                    let kind = plan.end_in_stages(&suite[..12], &suite[12..]).unwrap().kind;
                    matches!(kind, VerdictKind::Helps | VerdictKind::Harms)
                })
                .count();
            let share = wrong as f64 / suites as f64;
            // 5% and four standard errors.
            assert!(share <= 0.05 + 0.0195, "{effect:?}: {share}");
        }
    }

    #[test]
    fn the_median_unbiased_lift_of_two_stages_is_as_often_too_high_as_too_low() {
        let lift = 0.15;
        let plan = SequentialPlan::new(6, 1, 0.1).unwrap().with_more_tasks(20, 20);
        let design = Design::skewed(Effect::Uniform { lift, spread: 0.0 }, 40, 6);
        let design = Design { baseline: Baseline::beta(1e5, 1e5).unwrap(), ..design };
        let suites = 400;
        let mut above = 0;
        for index in 0..suites {
            let suite = &design.suite(5, index).arms[0];
            let (round, look) = plan.stop(&suite[..20]).unwrap();
            let first = first_rounds(&suite[..20], round);
            let found = if look.verdict.kind == VerdictKind::Inconclusive {
                plan.unbiased_lift_of_stages(&first, round, &suite[20..])
            } else {
                plan.unbiased_lift(&first, round)
            };
            above += usize::from(found.unwrap() > lift);
        }
        let share = above as f64 / suites as f64;
        // A half and four standard errors.
        assert!((share - 0.5).abs() < 0.1, "{share}");
        assert_eq!(SequentialPlan::new(6, 1, 0.1).unwrap().unbiased_lift_of_stages(&[], 6, &[]), None);
    }
}
