//! The default interval, and the exact binomial one.
//!
//! The default interval is mean ± max(t(n − 1)·s, t(f)·s̃)/√n over tasks, a little longer on the
//! side to which the values are skewed, with
//!
//! - s̃² = ((n − 1)s² + 2v₀)/(n + 1), f = (n + 1)²/(n − 1): two pseudo-tasks of the largest
//!   variance v₀ that a task's value can have from its trials alone, ¼/r for a rate, ¼(1/r_arm +
//!   1/r_base) for a difference, averaged over tasks (in the spirit of Agresti & Caffo 2000), and
//!   Satterthwaite's (1946) degrees of freedom. Equal values do not give an interval of no width.
//!   Where scores are fractional, the pooled variance of the trials of a task and arm takes the place
//!   of ¼ (`trial_variance`);
//! - the skewed side longer by |m₃|/(12·max(s², s̃²)·n)·(1 + 2t(n − 1)²), half of Johnson's (1978)
//!   correction of t.
//!
//! docs/STATISTICS.md compares its coverage with that of alternatives
//! (`assay_lab::simulate::Method`).
//!
//! Tasks that share something come as clusters, and clusters are then the units: n is their number,
//! and a cluster enters with its mean. The estimate stays the mean over tasks, so a cluster weighs
//! as many times as it has tasks; with clusters of one size this is the plain interval over cluster
//! means. With clusters of unequal size the variance is CR2's (Bell & McCaffrey 2002) and n one
//! more than Satterthwaite's degrees of freedom: a cluster with most of the tasks pulls the mean
//! towards itself, so its own deviation understates the error of the mean.

use crate::interval::Interval;
use crate::paired_task::PairedTask;
use crate::quantile::beta_quantile;
use crate::sample::{Sample, Unit, mean, order, scores, tail_of, trial_variance};

/// A difference gets no interval under this many tasks or clusters; of clusters of unequal size,
/// under this many effective ones, N²/Σn².
pub const FEWEST_UNITS: usize = 5;

/// A mean over tasks with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean over tasks, each task weighing the same.
    pub mean: f64,
    /// `None` if there are too few tasks, or the level is not between 0 and 1.
    pub interval: Option<Interval>,
    /// Tasks counted: those with a finite score under each arm.
    pub tasks: usize,
    /// Trials counted, of both arms if there are two.
    pub trials: usize,
    /// Units, if any task names a cluster: the clusters, and the tasks without one. `None` if tasks
    /// are the units.
    pub clusters: Option<usize>,
    /// The number of units of one size that weigh as these do: N²/Σn², n the tasks of a unit and N
    /// all of them.
    pub effective: f64,
}

/// The pass rate of one arm: the mean over tasks of the mean over a task's trials, with equal
/// weights.
///
/// `tasks` has the scores of each task's trials, `level` the interval's confidence (.95). The
/// interval is the default one with v₀ the mean over tasks of ¼·1/r (less for fractional scores), clamped to [0, 1]; it needs
/// two tasks. `None` without a task.
pub fn rate(tasks: &[Vec<f64>], level: f64) -> Option<Estimate> {
    let mut kept: Vec<Vec<f64>> = tasks.iter().map(|t| scores(t)).filter(|t| !t.is_empty()).collect();
    kept.sort_by(|one, other| order(one, other));
    let variance = trial_variance(kept.iter().map(Vec::as_slice));
    let unit = |task: &Vec<f64>| Unit {
        weight: 1.0,
        arm: mean(task),
        base: 0.0,
        arm_noise: variance / task.len() as f64,
        base_noise: 0.0,
        leverage: 1.0,
    };
    let trials = kept.iter().map(Vec::len).sum();
    estimate(&Sample::of_tasks(kept.iter().map(unit).collect(), trials), level, 2, (0.0, 1.0))
}

/// The lift: the mean over tasks of (arm's task mean − baseline's task mean), with equal weights.
///
/// The interval is the default one at `level`, over clusters if tasks name them, clamped to [−1,
/// 1]; it needs five tasks or effective clusters. `None` if no task has trials under both arms.
pub fn lift(tasks: &[PairedTask], level: f64) -> Option<Estimate> {
    estimate(&Sample::of(tasks), level, FEWEST_UNITS, (-1.0, 1.0))
}

/// The differences that the permutation tests take, one for each unit: a task, or a cluster where
/// tasks name them.
///
/// A task's is its arm's mean less its baseline's. A cluster's is the mean of its tasks' times its
/// share of the tasks (1 on average), so that the mean of all of them is the lift. Tasks without
/// trials under both arms are left out; the order is by value.
pub fn differences(tasks: &[PairedTask]) -> Vec<f64> {
    Sample::of(tasks).units.iter().map(|u| u.weight * (u.arm - u.base)).collect()
}

pub(crate) fn estimate(sample: &Sample, level: f64, fewest: usize, range: (f64, f64)) -> Option<Estimate> {
    if sample.units.is_empty() {
        return None;
    }
    let moments = sample.moments();
    let enough = sample.has(fewest);
    let interval = tail_of(level).filter(|_| enough).and_then(|tail| moments.interval(tail, range));
    Some(Estimate {
        mean: moments.mean,
        interval,
        tasks: sample.tasks,
        trials: sample.trials,
        clusters: sample.clusters,
        effective: sample.effective,
    })
}

/// The exact interval of Clopper & Pearson (1934) for `successes` out of `n`.
///
/// More successes than `n` count as `n`. Without a trial, or with a level not between 0 and 1, it
/// is [0, 1].
pub fn clopper_pearson(successes: u64, n: u64, level: f64) -> Interval {
    let Some(tail) = tail_of(level).filter(|_| n > 0) else {
        return Interval { low: 0.0, high: 1.0 };
    };
    let successes = successes.min(n);
    let (passed, failed) = (successes as f64, (n - successes) as f64);
    let share = passed / n as f64;
    let low = if successes == 0 { 0.0 } else { beta_quantile(passed, failed + 1.0, tail) };
    // P(X ≤ x) at p is the beta's upper tail; the mirrored beta keeps precision near 1.
    let high = if successes == n { 1.0 } else { 1.0 - beta_quantile(failed, passed + 1.0, tail) };
    Interval { low: low.min(share), high: high.max(share) }
}
