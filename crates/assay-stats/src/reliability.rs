//! Reliability of an agent over repetitions: pass^k and pass@k, and their differences between two arms.
//!
//! pass^k is the probability that all of k trials of a task pass (Yao et al. 2024, *τ-bench*, arXiv 2406.12045), pass@k
//! that at least one does (Chen et al. 2021, arXiv 2107.03374, equation 1). With c of r trials passed, C(c, k)/C(r, k)
//! and 1 − C(r − c, k)/C(r, k) are unbiased for a task. A task with fewer than k trials in an arm is left out.
//!
//! The lift is the mean over tasks of the difference, with the default interval of scores. v₀, the largest variance of
//! a task's difference from its trials, is ¼(k/r_arm + k/r_base): an average over all C(r, k) choices of k of r trials
//! varies at most k/r times as much as one choice does (Hoeffding 1948, *Annals of Mathematical Statistics* 19, 293–325,
//! section 5), which is 0 or 1.

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::paired_task::PairedTask;
use crate::sample::{Sample, paired_by, scores, tail_of};

/// What of k trials counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// pass^k: all of them pass.
    All(u32),
    /// pass@k: at least one passes.
    Any(u32),
}

impl Reliability {
    /// k.
    pub fn trials(self) -> u32 {
        let (Self::All(k) | Self::Any(k)) = self;
        k
    }

    /// The unbiased estimate of a task, a trial passed if its score is 1. `None` with fewer than k trials, or k = 0.
    pub fn of(self, trials: &[f64]) -> Option<f64> {
        let trials = scores(trials);
        let passed = trials.iter().filter(|score| **score >= 1.0).count();
        let (r, k) = (trials.len(), self.trials() as usize);
        if k == 0 || r < k {
            return None;
        }
        // C(c, k)/C(r, k), factor by factor.
        let chosen = |c: usize| {
            if c < k { 0.0 } else { (0..k).map(|i| (c - i) as f64 / (r - i) as f64).product::<f64>() }
        };
        Some(match self {
            Self::All(_) => chosen(passed),
            Self::Any(_) => 1.0 - chosen(r - passed),
        })
    }
}

/// The reliability of two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityLift {
    /// Mean over tasks under the baseline.
    pub base: f64,
    /// The same under the arm.
    pub arm: f64,
    /// Their difference.
    pub lift: f64,
    /// Its interval; `None` under five tasks or effective clusters.
    pub interval: Option<Interval>,
    /// Tasks with k trials under both.
    pub tasks: usize,
}

/// The lift of pass^k or pass@k, with its interval at `level`. `None` if no task has k trials under both arms.
pub fn reliability_lift(tasks: &[PairedTask], what: Reliability, level: f64) -> Option<ReliabilityLift> {
    // Each trial of a cell stands for the cell's value, so that its mean is the value and ¼·k/r its variance.
    let value = |trials: &[f64]| {
        let trials = scores(trials);
        what.of(&trials).map_or_else(Vec::new, |value| vec![value; trials.len()])
    };
    let kept = paired_by(tasks, value);
    let sample = Sample::of_paired(&kept, 0.25 * f64::from(what.trials()), 1.0);
    if sample.units.is_empty() {
        return None;
    }
    let moments = sample.moments();
    let tail = tail_of(level).filter(|_| sample.has(FEWEST_UNITS));
    let of = |values: &[f64]| values.first().copied().unwrap_or_default();
    let n = kept.len() as f64;
    Some(ReliabilityLift {
        base: kept.iter().map(|task| of(&task.base)).sum::<f64>() / n,
        arm: kept.iter().map(|task| of(&task.arm)).sum::<f64>() / n,
        lift: moments.mean,
        interval: tail.and_then(|tail| moments.interval(tail, (-1.0, 1.0))),
        tasks: sample.tasks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(passed: usize, of: usize) -> Vec<f64> {
        (0..of).map(|i| if i < passed { 1.0 } else { 0.0 }).collect()
    }

    #[test]
    fn shares_of_choices_by_hand() {
        let check = |what: Reliability, passed, of, expected: Option<f64>| {
            let found = what.of(&trials(passed, of));
            assert!(
                found.zip(expected).map_or(found == expected, |(one, other)| (one - other).abs() < 1e-12),
                "{what:?} of {passed}/{of}: {found:?} is not {expected:?}"
            );
        };
        // C(3, 2)/C(5, 2) = 3/10; of the failures C(2, 2)/C(5, 2) = 1/10.
        check(Reliability::All(2), 3, 5, Some(0.3));
        check(Reliability::Any(2), 3, 5, Some(0.9));
        check(Reliability::All(3), 2, 5, Some(0.0));
        check(Reliability::Any(4), 2, 5, Some(1.0));
        check(Reliability::All(1), 2, 4, Some(0.5));
        check(Reliability::Any(1), 2, 4, Some(0.5));
        check(Reliability::All(4), 3, 3, None);
        check(Reliability::All(0), 3, 3, None);
    }

    /// The mean over all results of r trials is pᵏ, and 1 − (1 − p)ᵏ.
    #[test]
    fn estimates_are_unbiased() {
        let choose = |n: usize, k: usize| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
        for (r, k, p) in [(5, 3, 0.7_f64), (4, 4, 0.5), (9, 2, 0.15)] {
            let expected = |what: Reliability| -> f64 {
                let one = |c: usize| {
                    let chance = choose(r, c) * p.powf(c as f64) * (1.0 - p).powf((r - c) as f64);
                    chance * what.of(&trials(c, r)).unwrap()
                };
                (0..=r).map(one).sum()
            };
            let close =
                |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            close(expected(Reliability::All(k)), p.powf(f64::from(k)));
            close(expected(Reliability::Any(k)), 1.0 - (1.0 - p).powf(f64::from(k)));
        }
    }

    /// The variance of the estimate, by enumeration over all results, is never above ¼·k/r.
    #[test]
    fn no_task_varies_more_than_assumed() {
        let choose = |n: usize, k: usize| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
        for r in 1..9_usize {
            for k in 1..=u32::try_from(r).unwrap() {
                for step in 1..20 {
                    let p = f64::from(step) / 20.0;
                    let values: Vec<(f64, f64)> = (0..=r)
                        .map(|c| {
                            let chance = choose(r, c) * p.powf(c as f64) * (1.0 - p).powf((r - c) as f64);
                            (chance, Reliability::All(k).of(&trials(c, r)).unwrap())
                        })
                        .collect();
                    let mean: f64 = values.iter().map(|(chance, value)| chance * value).sum();
                    let variance: f64 =
                        values.iter().map(|(chance, value)| chance * (value - mean).powi(2)).sum();
                    assert!(
                        variance <= 0.25 * f64::from(k) / r as f64 + 1e-12,
                        "r {r} k {k} p {p}: {variance}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_trial_of_one_is_the_lift_of_pass_rates() {
        let tasks: Vec<PairedTask> = [(3, 1), (2, 2), (3, 0), (1, 2), (3, 3), (2, 0)]
            .map(|(arm, base)| PairedTask { arm: trials(arm, 3), base: trials(base, 3), cluster: None })
            .into();
        let expected = crate::lift(&tasks, 0.95).unwrap();
        for what in [Reliability::All(1), Reliability::Any(1)] {
            let found = reliability_lift(&tasks, what, 0.95).unwrap();
            let (interval, own) = (found.interval.unwrap(), expected.interval.unwrap());
            assert!((found.lift - expected.mean).abs() < 1e-12, "{found:?}");
            assert!((interval.low - own.low).abs() + (interval.high - own.high).abs() < 1e-12, "{found:?}");
        }
        // Two of three trials: 1, 1/3, 1, 0, 1, 1/3 against 0, 1/3, 0, 1/3, 1, 0.
        let found = reliability_lift(&tasks, Reliability::All(2), 0.95).unwrap();
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        close(found.arm, 11.0 / 18.0);
        close(found.base, 5.0 / 18.0);
        close(found.lift, 1.0 / 3.0);
        assert_eq!((found.tasks, reliability_lift(&tasks, Reliability::All(4), 0.95)), (6, None));
    }
}
