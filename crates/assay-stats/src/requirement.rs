//! Tests of requirements on a lift: that it is above, or below, a bound.
//!
//! They invert the interval that decides verdicts: the p-value is the smallest α at which the (1 − α) interval excludes the
//! bound and everything beyond it. A test of this kind at level α is wrong with a probability of at most α/2 if the lift
//! is at the bound.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::moments::{Moments, Quantiles};
use crate::paired_task::PairedTask;
use crate::quantile::{normal_tail, student_tail};
use crate::sample::Sample;

/// The smallest p reported, as of `interval_p`.
const LEAST_P: f64 = 1e-15;

/// Halvings of the ratio of two p-values, or of a margin.
const HALVINGS: usize = 80;

/// The drift between the session of one arm and the recorded sessions of the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionDrift {
    /// The standard deviation of an arm's mean between sessions; 0 for arms that were measured together.
    pub sd: f64,
    /// The sessions that it was estimated from; `None` if it is known.
    pub sessions: Option<usize>,
    /// The sessions that the recorded arm's trials are from, at least 1.
    pub recorded: usize,
}

impl SessionDrift {
    /// Arms that were measured together.
    pub const NONE: Self = Self { sd: 0.0, sessions: None, recorded: 1 };

    /// How much one tail of the difference between the arms' sessions is: t(k − 1)·sd·√(1 + 1/g) for k sessions of the
    /// estimate and g recorded ones. Both arms drift: the new one as one session does, the recorded one as their mean.
    fn half_width(self, tail: f64) -> Option<f64> {
        let quantile = match self.sessions {
            Some(sessions) => student_tail(sessions as f64 - 1.0, tail)?,
            None => normal_tail(tail)?,
        };
        Some(quantile * self.sd * (1.0 + 1.0 / self.recorded.max(1) as f64).sqrt())
    }
}

/// The (1 − α) interval of the lift that is compared with `bound`, if both arms were measured at the same time, and if not, with
/// the variance of the drift between them.
///
/// For a bound of 0 or more it is the default interval. For a bound of −d, a margin, it is the interval that decides on `negligible`
/// (pseudo-tasks of the variance v₀ + d(1 − d), that of a share d of the tasks that now always fail), with z²/2 instead
/// of two pseudo-tasks, z the standard normal's quantile of the level: the smaller the level, the rarer are suites without
/// such a task among those that pass. Where the default interval is above 0, no margin is needed, and it is taken.
///
/// Each side is lengthened to the root of the sum of its square and that of the drift. `None` under 5 tasks or effective
/// clusters.
pub fn interval_for_bound(
    tasks: &[PairedTask],
    bound: f64,
    alpha: f64,
    drift: SessionDrift,
) -> Option<Interval> {
    let moments = moments(tasks)?;
    let tail = 0.5 * alpha;
    let more = if drift.sd > 0.0 { drift.half_width(tail)? } else { 0.0 };
    let lengthened = |interval: Interval| {
        let longer = |side: f64| side.hypot(more);
        Interval {
            low: (moments.mean - longer(moments.mean - interval.low)).max(-1.0),
            high: (moments.mean + longer(interval.high - moments.mean)).min(1.0),
        }
    };
    let default = lengthened(moments.interval(tail, (-1.0, 1.0))?);
    if bound >= 0.0 || default.low > 0.0 {
        return Some(default);
    }
    Some(lengthened(moments.equivalence(Quantiles::of_bound(moments.n, tail)?, -bound)))
}

/// The least margin d in [0, 1] for which the lower end of the (1 − α) interval for the bound −d is at −d, above which it is
/// higher than −d. `None` under 5 tasks or effective clusters.
pub fn least_margin(tasks: &[PairedTask], alpha: f64) -> Option<f64> {
    let moments = moments(tasks)?;
    let tail = 0.5 * alpha;
    if moments.interval(tail, (-1.0, 1.0))?.low > 0.0 {
        return Some(0.0);
    }
    let quantiles = Quantiles::of_bound(moments.n, tail)?;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if moments.equivalence(quantiles, middle).low > -middle { high = middle } else { low = middle }
    }
    Some(high)
}

fn moments(tasks: &[PairedTask]) -> Option<Moments> {
    let sample = Sample::of(tasks);
    sample.has(FEWEST_UNITS).then(|| sample.moments())
}

/// The p-value of the claim that the lift is above `bound`; `None` under 5 tasks or effective clusters.
pub fn p_above(tasks: &[PairedTask], bound: f64, drift: SessionDrift) -> Option<f64> {
    smallest(|alpha| Some(interval_for_bound(tasks, bound, alpha, drift)?.low > bound))
}

/// The p-value of the claim that the lift is below `bound`; `None` under 5 tasks or effective clusters.
pub fn p_below(tasks: &[PairedTask], bound: f64, drift: SessionDrift) -> Option<f64> {
    smallest(|alpha| Some(interval_for_bound(tasks, bound, alpha, drift)?.high < bound))
}

/// The smallest α in [10⁻¹⁵, 1) at which a claim holds; 1 if it never does.
fn smallest(holds: impl Fn(f64) -> Option<bool>) -> Option<f64> {
    let (mut low, mut high) = (LEAST_P, 1.0 - f64::EPSILON);
    if !holds(high)? {
        return Some(1.0);
    }
    if holds(low)? {
        return Some(low);
    }
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if holds(middle)? { high = middle } else { low = middle }
    }
    Some(high)
}

/// McNemar's exact test, two-sided: twice the binomial tail of the smaller of two numbers of discordant pairs, at most 1.
///
/// Source: McNemar, Psychometrika 12 (1947), 153–157, with the exact binomial distribution.
pub fn mcnemar(better: u64, worse: u64) -> f64 {
    let pairs = better + worse;
    let Ok(binomial) = Binomial::new(0.5, pairs) else { return 1.0 };
    (2.0 * binomial.cdf(better.min(worse))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval_p;
    use crate::random::{Purpose, stream, uniform};

    fn suite(differences: &[f64]) -> Vec<PairedTask> {
        differences
            .iter()
            .map(|difference| PairedTask {
                arm: vec![0.5 + difference / 2.0; 4],
                base: vec![0.5 - difference / 2.0; 4],
                cluster: None,
            })
            .collect()
    }

    #[test]
    fn against_zero_it_is_the_p_of_the_verdict() {
        let tasks = suite(&[0.5, 0.25, 0.0, 0.75, 0.25, 0.5, -0.25, 0.25]);
        let p = interval_p(&tasks).unwrap();
        assert!((p_above(&tasks, 0.0, SessionDrift::NONE).unwrap() / p - 1.0).abs() < 1e-9);
        let reversed: Vec<PairedTask> = tasks
            .iter()
            .map(|task| PairedTask { arm: task.base.clone(), base: task.arm.clone(), cluster: None })
            .collect();
        assert!((p_below(&reversed, 0.0, SessionDrift::NONE).unwrap() / p - 1.0).abs() < 1e-9);
        assert_eq!(p_above(&reversed, 0.0, SessionDrift::NONE), Some(1.0));
        assert_eq!(p_above(&tasks[..4], 0.0, SessionDrift::NONE), None);
    }

    #[test]
    fn a_lower_bound_is_easier_and_drift_makes_it_harder() {
        let tasks = suite(&[0.1, 0.0, 0.0, 0.2, -0.1, 0.0, 0.1, 0.0, 0.1, 0.0]);
        let of = |sd: f64| SessionDrift { sd, ..SessionDrift::NONE };
        let p = |bound: f64, drift: f64| p_above(&tasks, bound, of(drift)).unwrap();
        assert!(p(-0.2, 0.0) < p(-0.1, 0.0) && p(-0.1, 0.0) < p(0.0, 0.0));
        assert!(p(-0.2, 0.0) < p(-0.2, 0.05) && p(-0.2, 0.05) < p(-0.2, 0.2));
        // The half-width is the root of the squares: (mean − low)² + (quantile·sd)²·(1 + 1/g).
        let low = |drift: SessionDrift| 0.04 - interval_for_bound(&tasks, 0.0, 0.05, drift).unwrap().low;
        let plain = low(SessionDrift::NONE);
        let check = |drift: SessionDrift, quantile: f64, sessions: f64| {
            let expected = (plain.powi(2) + sessions * (quantile * 0.1_f64).powi(2)).sqrt();
            assert!((low(drift) - expected).abs() < 1e-9, "{drift:?}: {} {expected}", low(drift));
        };
        check(of(0.1), 1.959_963_984_540_054, 2.0);
        // t(5) = 2.570582 with 2.5% above.
        check(SessionDrift { sd: 0.1, sessions: Some(6), recorded: 1 }, 2.570_581_835_636_314, 2.0);
        check(SessionDrift { sd: 0.1, sessions: Some(6), recorded: 4 }, 2.570_581_835_636_314, 1.25);
        // One session has no spread.
        let single = SessionDrift { sd: 0.1, sessions: Some(1), recorded: 1 };
        assert_eq!(interval_for_bound(&tasks, 0.0, 0.05, single), None);
    }

    /// Lower ends for a bound, at a tail whose z is 2 (.022 750 132) or 3 (.001 349 898).
    #[test]
    fn a_margin_adds_the_variance_of_tasks_that_fail() {
        // 20 equal tasks of 3 trials: s² = 0, v₀ = 1/6, at d = .1 v₀ + d(1 − d) = .256 667. z = 2: 2 pseudo-tasks, s̃² =
        // 2·.256 667/21 = .024 444, f = 21²/19 = 23.21, t = 2.1136: 2.1136·√(.024 444/20) = .073 89.
        // z = 3: 4.5 pseudo-tasks, s̃² = 4.5·.256 667/23.5 = .049 149, f = 23.5²/19 = 29.07, t = 3.2797: .162 58.
        let equal = vec![PairedTask { arm: vec![1.0; 3], base: vec![1.0; 3], cluster: None }; 20];
        let low = |bound: f64, tail: f64| {
            interval_for_bound(&equal, bound, 2.0 * tail, SessionDrift::NONE).unwrap().low
        };
        let check = |bound: f64, tail: f64, expected: f64| {
            assert!((low(bound, tail) - expected).abs() < 2e-5, "{bound} {tail}: {}", low(bound, tail));
        };
        check(-0.1, 0.022_750_132, -0.073_89);
        check(-0.1, 0.001_349_898, -0.162_58);
        // Without a margin: 2·(1/6)/21, f as above: 2.1136·√(.015 873/20) = .059 54.
        check(0.0, 0.022_750_132, -0.059_54);
        // A lift above 0 needs no margin.
        let helps = suite(&[1.0; 8]);
        let interval = |bound: f64| interval_for_bound(&helps, bound, 0.05, SessionDrift::NONE).unwrap();
        assert_eq!(interval(-0.1), interval(0.0));
    }

    #[test]
    fn the_least_margin_is_where_the_interval_begins() {
        let tasks = suite(&[0.1, 0.0, 0.0, 0.2, -0.1, 0.0, 0.1, -0.6, 0.1, 0.0]);
        for alpha in [0.1, 0.05, 0.01, 0.001] {
            let margin = least_margin(&tasks, alpha).unwrap();
            let is_above = |margin: f64| {
                interval_for_bound(&tasks, -margin, alpha, SessionDrift::NONE).unwrap().low > -margin
            };
            assert!(is_above(margin + 1e-6) && !is_above(margin - 1e-6), "{alpha}: {margin}");
            assert!(is_above(0.5 + 0.5 * margin), "{alpha}: {margin}");
        }
        assert_eq!(least_margin(&suite(&[1.0; 8]), 0.05), Some(0.0));
        assert_eq!(least_margin(&tasks[..4], 0.05), None);
    }

    /// A p-value stands for all levels: what one of them shows, every larger one does, and what a margin allows, every larger
    /// one does.
    #[test]
    fn levels_and_margins_are_nested() {
        let mut random = stream(3, Purpose::Suite, 0);
        for case in 0..300 {
            let tasks = 5 + case % 30;
            let shift = 0.4 * uniform(&mut random) - 0.2;
            let spread = uniform(&mut random);
            let differences: Vec<f64> = (0..tasks)
                .map(|_| (shift + spread * (uniform(&mut random) - 0.5)).clamp(-1.0, 1.0))
                .collect();
            let tasks = suite(&differences);
            let shows = |margin: f64, alpha: f64| {
                interval_for_bound(&tasks, -margin, alpha, SessionDrift::NONE).unwrap().low > -margin
            };
            let levels = [1e-6, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.5];
            let margins = [0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5];
            for (margin, alpha) in margins.iter().flat_map(|margin| levels.map(|alpha| (*margin, alpha))) {
                if shows(margin, alpha) {
                    assert!(shows(margin, 1.3 * alpha), "{differences:?} {margin} {alpha}");
                    assert!(shows(1.1 * margin + 0.01, alpha), "{differences:?} {margin} {alpha}");
                }
            }
        }
    }

    #[test]
    fn mcnemar_by_hand() {
        let check = |better: u64, worse: u64, expected: f64| {
            assert!((mcnemar(better, worse) - expected).abs() < 1e-12, "{better} {worse}");
        };
        check(3, 0, 0.25);
        check(6, 0, 2.0 / 64.0);
        check(5, 1, 2.0 * 7.0 / 64.0);
        check(0, 0, 1.0);
        check(2, 2, 1.0);
    }
}
