//! Tasks reduced to the estimators' input: units with a mean per arm and a largest variance per
//! arm.

use std::collections::BTreeMap;

use crate::moments::Moments;
use crate::paired_task::PairedTask;

/// The largest variance of a score in [0, 1].
pub(crate) const LARGEST_VARIANCE: f64 = 0.25;

/// The finite scores of one task under one arm, clamped to [0, 1] and sorted.
pub fn scores(trials: &[f64]) -> Vec<f64> {
    let mut kept: Vec<f64> =
        trials.iter().filter(|s| s.is_finite()).map(|s| s.clamp(0.0, 1.0) + 0.0).collect();
    kept.sort_by(f64::total_cmp);
    kept
}

/// The mean of a slice that is not empty; the caller has put it in order.
pub fn mean(ordered: &[f64]) -> f64 {
    ordered.iter().sum::<f64>() / ordered.len() as f64
}

/// The tasks that have trials under both arms, in a canonical order: (arm, base, cluster).
///
/// Scores and tasks are sorted by value, so that sums, and everything drawn from a stream, are the
/// same to the last bit for any input order.
pub fn paired(tasks: &[PairedTask]) -> Vec<PairedTask> {
    paired_by(tasks, scores)
}

/// The same with another way of reading a cell's values, which puts them in order.
pub fn paired_by(tasks: &[PairedTask], read: impl Fn(&[f64]) -> Vec<f64>) -> Vec<PairedTask> {
    let mut kept: Vec<PairedTask> = tasks
        .iter()
        .map(|task| PairedTask { arm: read(&task.arm), base: read(&task.base), cluster: task.cluster })
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
pub fn order(one: &[f64], other: &[f64]) -> std::cmp::Ordering {
    let unequal = one.iter().zip(other).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
    unequal.unwrap_or_else(|| one.len().cmp(&other.len()))
}

/// One unit of analysis: a task, or a cluster of tasks.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// The unit's share of the tasks, 1 on average: tasks have equal weight, whatever the cluster's
    /// size.
    pub weight: f64,
    /// Mean over the unit's tasks of the arm's task means.
    pub arm: f64,
    /// The same of the baseline.
    pub base: f64,
    /// The variance `arm` can have within its tasks: `trial_variance` over the trials.
    pub arm_noise: f64,
    /// The same of `base`.
    pub base_noise: f64,
    /// The factor of the unit's squared deviation: 1 if all units have the same number of tasks,
    /// otherwise CR2's correction.
    pub leverage: f64,
}

/// The units of a comparison.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The units.
    pub units: Vec<Unit>,
    /// Tasks with a score of both arms.
    pub tasks: usize,
    /// Trials of both arms.
    pub trials: usize,
    /// Clusters and tasks without one, if any task names a cluster; `None` if tasks are the units.
    pub clusters: Option<usize>,
    /// N²/Σn²: the number of units of one size that weigh as these do.
    pub effective: f64,
    /// The n of the interval: the number of units if all have the same size, otherwise one more
    /// than Satterthwaite's degrees of freedom.
    pub n: f64,
    /// The largest possible difference: 1 for scores.
    largest: f64,
    /// v₀ of one trial.
    pub(crate) variance: f64,
}

/// The variance that one trial contributes to v₀: ¼, the binomial's largest, where all scores are 0 or 1; where any is
/// in between, the pooled variance of the trials of a task and arm with one observation more, of variance ¼:
/// (SSW + ¼)/(dfW + 1), with SSW the sum over tasks and arms of squared deviations from their mean and dfW that of their
/// trials less one. Without any spread within tasks and arms it is ¼ as well: the scores may be means, as in contrasts of
/// several arms, and scores that never differed say little about how much they can.
///
/// `cells` are the scores of each task and arm, in a canonical order.
pub(crate) fn trial_variance<'a>(cells: impl Iterator<Item = &'a [f64]> + Clone) -> f64 {
    if !cells.clone().flatten().any(|score| *score > 0.0 && *score < 1.0) {
        return LARGEST_VARIANCE;
    }
    let (mut squares, mut freedom) = (0.0, 0.0);
    for cell in cells {
        let centre = mean(cell);
        squares += cell.iter().map(|score| (score - centre).powi(2)).sum::<f64>();
        freedom += cell.len() as f64 - 1.0;
    }
    // Rounding leaves traces in a mean of equal scores.
    if squares < 1e-12 {
        return LARGEST_VARIANCE;
    }
    (squares + LARGEST_VARIANCE) / (freedom + 1.0)
}

/// [`trial_variance`] of tasks that [`paired`] has read.
pub(crate) fn trial_variance_of(paired: &[PairedTask]) -> f64 {
    trial_variance(paired.iter().flat_map(|task| [task.arm.as_slice(), task.base.as_slice()]))
}

impl Sample {
    /// Reads a comparison; tasks without a trial under both arms are left out.
    pub fn of(tasks: &[PairedTask]) -> Sample {
        Sample::with_variance(tasks, None)
    }

    /// The same with a known v₀ of one trial: that of the recorded trials, where lost ones are filled in.
    pub(crate) fn with_variance(tasks: &[PairedTask], variance: Option<f64>) -> Sample {
        let paired = paired(tasks);
        let variance = variance.unwrap_or_else(|| trial_variance_of(&paired));
        Sample::of_paired(&paired, variance, 1.0)
    }

    /// Reads tasks that [`paired`] or [`paired_by`] has put in order. `variance` is the largest that
    /// the value of a trial can have, 0 where none is known, and `largest` the largest difference.
    pub fn of_paired(paired: &[PairedTask], variance: f64, largest: f64) -> Sample {
        let trials = paired.iter().map(|t| t.arm.len() + t.base.len()).sum();
        let units = paired.iter().map(|task| {
            let unit = Unit {
                weight: 1.0,
                arm: mean(&task.arm),
                base: mean(&task.base),
                arm_noise: variance / task.arm.len() as f64,
                base_noise: variance / task.base.len() as f64,
                leverage: 1.0,
            };
            (unit, task.cluster)
        });
        Sample { largest, variance, ..Sample::of_clustered(units, trials) }
    }

    /// Tasks with their clusters, in a canonical order.
    pub(crate) fn of_clustered(
        tasks: impl ExactSizeIterator<Item = (Unit, Option<u64>)>,
        trials: usize,
    ) -> Sample {
        let count_of_tasks = tasks.len();
        let mut units = Vec::new();
        let mut clusters: BTreeMap<u64, Vec<Unit>> = BTreeMap::new();
        for (unit, cluster) in tasks {
            match cluster {
                Some(cluster) => clusters.entry(cluster).or_default().push(unit),
                None => units.push(unit),
            }
        }
        let count = units.len() + clusters.len();
        let average = count_of_tasks as f64 / count.max(1) as f64;
        for unit in &mut units {
            unit.weight = 1.0 / average;
        }
        units.extend(clusters.values().map(|members| merge(members, average)));
        units.sort_by(|one, other| {
            let key = |u: &Unit| [u.arm, u.base, u.weight, u.arm_noise, u.base_noise];
            order(&key(one), &key(other))
        });
        let singles = count_of_tasks - clusters.values().map(Vec::len).sum::<usize>();
        let squares = singles + clusters.values().map(|members| members.len().pow(2)).sum::<usize>();
        let clusters = (!clusters.is_empty()).then_some(units.len());
        Sample::weighed(units, (count_of_tasks, trials), clusters, squares)
    }

    /// One unit a task.
    pub fn of_tasks(units: Vec<Unit>, trials: usize) -> Sample {
        let tasks = units.len();
        Sample::weighed(units, (tasks, trials), None, tasks)
    }

    /// `squares` is the sum of the units' squared numbers of tasks.
    fn weighed(
        mut units: Vec<Unit>,
        (tasks, trials): (usize, usize),
        clusters: Option<usize>,
        squares: usize,
    ) -> Sample {
        let k = units.len();
        let effective = (tasks as f64).powi(2) / (squares as f64).max(1.0);
        let mut n = k as f64;
        // Cauchy & Schwarz: N² = k·Σn² only where all n are equal. A single unit has no variance to
        // correct.
        if k > 1 && tasks * tasks != k * squares {
            n = satterthwaite(&mut units) + 1.0;
        }
        Sample { units, tasks, trials, clusters, effective, n, largest: 1.0, variance: LARGEST_VARIANCE }
    }

    /// Whether there are as many units as `fewest` of one size.
    pub fn has(&self, fewest: usize) -> bool {
        self.effective >= fewest as f64
    }

    /// Mean and spread of `arm − base`.
    ///
    /// With units of unequal size the moments are those of n units of one size that give the mean
    /// CR2's variance with Satterthwaite's degrees of freedom, n − 1.
    pub fn moments(&self) -> Moments {
        let n = self.units.len() as f64;
        // Weights are rounded: without the clamp a mean of 1 could be slightly above 1.
        let mean = self.units.iter().map(|u| u.weight * (u.arm - u.base)).sum::<f64>() / n;
        let mean = mean.clamp(-self.largest, self.largest);
        let (mut squares, mut cubes, mut noise) = (0.0, 0.0, 0.0);
        for unit in &self.units {
            let deviation = unit.weight * (unit.arm - unit.base - mean);
            squares += deviation * deviation * unit.leverage;
            cubes += deviation * deviation * deviation;
            noise += unit.weight * unit.weight * (unit.arm_noise + unit.base_noise);
        }
        let scale = self.scale();
        Moments { n: self.n, mean, squares, cubes: cubes * scale.powi(3), noise: noise / n * scale }
    }

    /// n over the number of units: 1 where units are of one size.
    pub fn scale(&self) -> f64 {
        self.n / self.units.len() as f64
    }
}

/// The degrees of freedom of the mean's variance by CR2 (Bell & McCaffrey 2002), after
/// Satterthwaite; sets the units' leverages so that Σ leverage·(weight·deviation)² is (n − 1)·n
/// times that variance, n one more than these degrees of freedom.
///
/// With a the units' shares of the tasks and S = Σa², the variance is V = Σ a²e²/(1 − 2a + S), and
/// with C = diag(a²/(1 − 2a + S)) and H = (I − 1a')(I − 1a')' the degrees of freedom are
/// tr(CH)²/tr((CH)²) (Pustejovsky & Tipton 2018), for units whose differences have one variance. H
/// has 1 − 2a + S on its diagonal and S − a − a' beside it, so sums over the units are enough. With
/// shares of one size both are Student's.
fn satterthwaite(units: &mut [Unit]) -> f64 {
    let k = units.len() as f64;
    let s = units.iter().map(|u| (u.weight / k).powi(2)).sum::<f64>();
    let parts: Vec<(f64, f64, f64)> = units
        .iter()
        .map(|u| {
            let share = u.weight / k;
            let diagonal = 1.0 - 2.0 * share + s;
            (share, diagonal, share * share / diagonal)
        })
        .collect();
    let sum = |value: &dyn Fn(&(f64, f64, f64)) -> f64| parts.iter().map(value).sum::<f64>();
    let (zeroth, first, second) = (sum(&|p| p.2), sum(&|p| p.2 * p.0), sum(&|p| p.2 * p.0 * p.0));
    let beside =
        s * s * zeroth * zeroth + 2.0 * zeroth * second - 4.0 * s * zeroth * first + 2.0 * first * first;
    let diagonal = sum(&|p| p.2 * p.2 * (p.1 * p.1 - (s - 2.0 * p.0).powi(2)));
    let freedom = (s * s / (beside + diagonal)).clamp(1.0, k - 1.0);
    for (unit, (_, diagonal, _)) in units.iter_mut().zip(&parts) {
        unit.leverage = freedom * (freedom + 1.0) / (k * k * diagonal);
    }
    freedom
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
        leverage: 1.0,
    }
}

/// The probability outside each end of an interval at `level`; `None` unless 0 < `level` < 1.
pub fn tail_of(level: f64) -> Option<f64> {
    (level > 0.0 && level < 1.0).then_some(0.5 * (1.0 - level))
}
