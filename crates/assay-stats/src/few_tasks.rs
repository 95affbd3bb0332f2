//! Intervals where the default rule gives none: few tasks, and rates without scores of tasks. Neither carries a verdict of
//! its own; they show how little such results say.

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::moments::{Moments, Quantiles};
use crate::paired_task::PairedTask;
use crate::sample::{Sample, tail_of};

/// The range of a lift.
const RANGE: (f64, f64) = (-1.0, 1.0);

/// The interval of the lift for any number of tasks: the default one, also under five units, where its coverage is not
/// claimed to be more than nominal; [−1, 1] for one unit, which says nothing of others. `None` without a task under both
/// arms.
pub fn interval_of_any(tasks: &[PairedTask], level: f64) -> Option<Interval> {
    let sample = Sample::of(tasks);
    let tail = tail_of(level)?;
    match sample.units.len() {
        0 => None,
        1 => Some(Interval { low: RANGE.0, high: RANGE.1 }),
        _ => sample
            .moments()
            .interval(tail, RANGE)
            // Clusters of unequal size can leave less than one degree of freedom.
            .or(Some(Interval { low: RANGE.0, high: RANGE.1 })),
    }
}

/// Two arms of which only rates are known, of trials that pass or fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmRates {
    /// The arm's mean score over tasks.
    pub arm: f64,
    /// The baseline's.
    pub base: f64,
    /// The lift.
    pub lift: f64,
    /// How far the printed lift may be from the true one.
    pub rounding: f64,
    /// Tasks.
    pub tasks: usize,
    /// Attempts of each task under each arm.
    pub attempts: usize,
}

/// What the default interval can be, given rates only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalBounds {
    /// If all tasks have the same difference: no interval of these results is inside it.
    pub narrowest: Interval,
    /// If the differences vary as much as the rates allow: every interval of these results is inside it.
    pub widest: Interval,
}

impl ArmRates {
    /// The bounds of the default interval at `level`; `None` under five tasks, or with rates outside of [0, 1].
    ///
    /// The squares of the differences of scores x and y in [0, 1] have at most the mean min(a + b, 2 − a − b) for means a and
    /// b: E(x − y)² ≤ E x + E y − 2·E xy, and E xy ≥ max(0, a + b − 1) where both are 0 or 1, the largest case. The skewed
    /// side is longer by |m₃|/(12·s²·n)·(1 + 2t²), and |m₃| ≤ (1 + |lift|)·s², because no difference is farther from the mean.
    pub fn bound_interval(&self, level: f64) -> Option<IntervalBounds> {
        let rates = [self.arm, self.base];
        if self.tasks < FEWEST_UNITS
            || self.attempts == 0
            || !rates.iter().all(|rate| (0.0..=1.0).contains(rate))
        {
            return None;
        }
        let n = self.tasks as f64;
        let quantiles = Quantiles::of(n, tail_of(level)?)?;
        let noise = 0.5 / self.attempts as f64;
        let half =
            |squares: f64| Moments { n, mean: self.lift, squares, cubes: 0.0, noise }.half(n, quantiles);
        let most = (self.arm + self.base).min(2.0 - self.arm - self.base) - self.lift.powi(2);
        let skew = (1.0 + self.lift.abs()) / (12.0 * n) * (1.0 + 2.0 * quantiles.plain.powi(2));
        let around = |half: f64| Interval {
            low: (self.lift - half).max(RANGE.0),
            high: (self.lift + half).min(RANGE.1),
        };
        Some(IntervalBounds {
            narrowest: around((half(0.0) - self.rounding).max(0.0)),
            widest: around(half(most.max(0.0) * n) + skew + self.rounding),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lift;
    use crate::random::{Purpose, index, stream};

    fn task(arm: &[f64], base: &[f64]) -> PairedTask {
        PairedTask { arm: arm.to_vec(), base: base.to_vec(), cluster: None }
    }

    #[test]
    fn any_number_of_tasks_has_an_interval() {
        let check = |tasks: &[PairedTask], expected: Option<(f64, f64)>| {
            let found = interval_of_any(tasks, 0.95).map(|interval| (interval.low, interval.high));
            assert_eq!(found.is_some(), expected.is_some(), "{tasks:?}");
            if let (Some(found), Some(expected)) = (found, expected) {
                let near = (found.0 - expected.0).abs() < 5e-4 && (found.1 - expected.1).abs() < 5e-4;
                assert!(near, "{tasks:?}: {found:?}");
            }
        };
        check(&[], None);
        check(&[task(&[1.0], &[])], None);
        check(&[task(&[1.0], &[0.0])], Some((-1.0, 1.0)));
        // Equal tasks of 2 trials, n = 3: v₀ = ¼, s̃² = 2·¼/4 = .125, f = 16/2 = 8, t = 2.3060: 2.306·√(.125/3) = .4707.
        check(&vec![task(&[1.0, 0.0], &[0.0, 0.0]); 3], Some((0.5 - 0.4707, 0.9707)));
        let five = vec![task(&[1.0, 0.0], &[0.0, 0.0]); 5];
        assert_eq!(interval_of_any(&five, 0.95), lift(&five, 0.95).unwrap().interval);
    }

    /// The interval of every suite is inside the widest and around the narrowest that its rates allow.
    #[test]
    fn rates_bound_the_interval_of_every_suite() {
        let mut random = stream(5, Purpose::Suite, 0);
        for case in 0..2000 {
            let (tasks, attempts) = (5 + case % 12, 1 + case % 3);
            let level = |random: &mut _| 1 + index(random, 9);
            let (a, b) = (level(&mut random), level(&mut random));
            let suite: Vec<PairedTask> = (0..tasks)
                .map(|_| {
                    let mut draw = |tenths: usize| -> Vec<f64> {
                        (0..attempts).map(|_| f64::from(u8::from(index(&mut random, 10) < tenths))).collect()
                    };
                    PairedTask { arm: draw(a), base: draw(b), cluster: None }
                })
                .collect();
            let mean = |side: fn(&PairedTask) -> &Vec<f64>| {
                suite.iter().map(|task| side(task).iter().sum::<f64>() / attempts as f64).sum::<f64>()
                    / tasks as f64
            };
            let (arm, base) = (mean(|task| &task.arm), mean(|task| &task.base));
            let rates = ArmRates { arm, base, lift: arm - base, rounding: 0.0, tasks, attempts };
            let bounds = rates.bound_interval(0.95).unwrap();
            let interval = lift(&suite, 0.95).unwrap().interval.unwrap();
            let tiny = 1e-9;
            assert!(
                bounds.widest.low <= interval.low + tiny && interval.high <= bounds.widest.high + tiny,
                "{suite:?}"
            );
            assert!(
                interval.low <= bounds.narrowest.low + tiny && bounds.narrowest.high <= interval.high + tiny,
                "{suite:?}"
            );
        }
        let few = ArmRates { arm: 1.0, base: 0.2, lift: 0.8, rounding: 0.005, tasks: 4, attempts: 1 };
        assert_eq!(few.bound_interval(0.95), None);
        assert_eq!(ArmRates { arm: 1.2, tasks: 9, ..few }.bound_interval(0.95), None);
    }
}
