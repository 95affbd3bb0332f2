//! Tasks reduced to what the estimators read: units with a mean per arm and a largest variance per arm.

use std::collections::BTreeMap;

use crate::interval::PairedTask;
use crate::moments::Moments;

/// The finite scores of one task under one arm, brought into [0, 1] and put in order.
pub(crate) fn scores(trials: &[f64]) -> Vec<f64> {
    let mut kept: Vec<f64> =
        trials.iter().filter(|s| s.is_finite()).map(|s| s.clamp(0.0, 1.0) + 0.0).collect();
    kept.sort_by(f64::total_cmp);
    kept
}

/// The mean of a slice that is not empty; the caller has put it in order.
pub(crate) fn mean(ordered: &[f64]) -> f64 {
    ordered.iter().sum::<f64>() / ordered.len() as f64
}

/// The tasks that have trials under both arms, in an order of their own: (arm, base, cluster).
///
/// Scores and tasks are sorted by value, so that sums, and everything drawn from a stream, are the same to the last
/// bit in whatever order they came.
pub(crate) fn paired(tasks: &[PairedTask]) -> Vec<PairedTask> {
    let mut kept: Vec<PairedTask> = tasks
        .iter()
        .map(|task| PairedTask { arm: scores(&task.arm), base: scores(&task.base), cluster: task.cluster })
        .filter(|task| !task.arm.is_empty() && !task.base.is_empty())
        .collect();
    kept.sort_by(|one, other| {
        order(&one.arm, &other.arm)
            .then_with(|| order(&one.base, &other.base))
            .then_with(|| one.cluster.cmp(&other.cluster))
    });
    kept
}

/// Total order of two slices of numbers.
pub(crate) fn order(one: &[f64], other: &[f64]) -> std::cmp::Ordering {
    let unequal = one.iter().zip(other).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
    unequal.unwrap_or_else(|| one.len().cmp(&other.len()))
}

/// One unit of analysis: a task, or a cluster of tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// The unit's share of the tasks, 1 on average: tasks weigh equally, whatever the cluster's size.
    pub(crate) weight: f64,
    /// Mean over the unit's tasks of the arm's task means.
    pub(crate) arm: f64,
    /// The same of the baseline.
    pub(crate) base: f64,
    /// The largest variance `arm` can have within its tasks: the binomial's, ¼ a trial.
    pub(crate) arm_noise: f64,
    /// The same of `base`.
    pub(crate) base_noise: f64,
}

/// The units of a comparison.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) units: Vec<Unit>,
    pub(crate) tasks: usize,
    pub(crate) trials: usize,
}

impl Sample {
    /// Reads a comparison; tasks without a trial under both arms are left out.
    pub(crate) fn of(tasks: &[PairedTask]) -> Sample {
        let paired = paired(tasks);
        let trials = paired.iter().map(|t| t.arm.len() + t.base.len()).sum();
        let mut units = Vec::new();
        let mut clusters: BTreeMap<u64, Vec<Unit>> = BTreeMap::new();
        for task in &paired {
            let unit = Unit {
                weight: 1.0,
                arm: mean(&task.arm),
                base: mean(&task.base),
                arm_noise: 0.25 / task.arm.len() as f64,
                base_noise: 0.25 / task.base.len() as f64,
            };
            match task.cluster {
                Some(cluster) => clusters.entry(cluster).or_default().push(unit),
                None => units.push(unit),
            }
        }
        let count = units.len() + clusters.len();
        let average = paired.len() as f64 / count.max(1) as f64;
        for unit in &mut units {
            unit.weight = 1.0 / average;
        }
        units.extend(clusters.values().map(|members| merge(members, average)));
        units.sort_by(|one, other| {
            let key = |u: &Unit| [u.arm, u.base, u.weight, u.arm_noise, u.base_noise];
            order(&key(one), &key(other))
        });
        Sample { units, tasks: paired.len(), trials }
    }

    /// Mean and spread of `arm − base`.
    pub(crate) fn moments(&self) -> Moments {
        let n = self.units.len() as f64;
        // Weights are rounded: without the clamp a mean of 1 could come out a bit above 1.
        let mean = self.units.iter().map(|u| u.weight * (u.arm - u.base)).sum::<f64>() / n;
        let mean = mean.clamp(-1.0, 1.0);
        let (mut squares, mut cubes, mut noise) = (0.0, 0.0, 0.0);
        for unit in &self.units {
            let deviation = unit.weight * (unit.arm - unit.base - mean);
            squares += deviation * deviation;
            cubes += deviation * deviation * deviation;
            noise += unit.weight * unit.weight * (unit.arm_noise + unit.base_noise);
        }
        Moments { units: self.units.len(), mean, squares, cubes, noise: noise / n }
    }
}

/// A cluster as one unit: the mean of its tasks, and the variance of that mean.
fn merge(members: &[Unit], average: f64) -> Unit {
    let n = members.len() as f64;
    let total = |part: fn(&Unit) -> f64| members.iter().map(part).sum::<f64>();
    Unit {
        weight: n / average,
        arm: total(|u| u.arm) / n,
        base: total(|u| u.base) / n,
        arm_noise: total(|u| u.arm_noise) / (n * n),
        base_noise: total(|u| u.base_noise) / (n * n),
    }
}

/// The probability outside each end of an interval at `level`; `None` unless 0 < `level` < 1.
pub(crate) fn tail_of(level: f64) -> Option<f64> {
    (level > 0.0 && level < 1.0).then_some(0.5 * (1.0 - level))
}
