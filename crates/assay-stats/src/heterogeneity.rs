//! How much the true effects of tasks differ, and which effect to expect on a new task.
//!
//! A task's observed difference d varies between tasks because true effects differ (variance τ²) and because the
//! results of trials vary by chance. With T the variance of d over tasks and N the mean over tasks of the part from
//! trials, s²/r of both arms, τ² = T − N, by moments (the analysis of variance; Searle, Casella & McCulloch,
//! *Variance Components*, 1992, chapter 3); the estimate is at least 0. N needs a task with two trials in either arm.
//!
//! **The interval of τ.** T has the limits of a variance, T·ν/χ²(ν), with the degrees of freedom that the kurtosis g
//! of the differences leaves, ν = 2n/(g − (n − 3)/(n − 1)), g at least the normal's 3 (Bonett 2006, *Computational
//! Statistics & Data Analysis* 50, 775–782; with g = 3, ν = n − 1). The upper limit is at least that of s̃² with
//! two pseudo-tasks of variance v₀ + ¹⁄₁₀·⁹⁄₁₀ and f = (n + 1)²/(n − 1) degrees of freedom, as in the default
//! interval: a small suite often has none of the few tasks that an effect concerns. N has Student's limits over
//! tasks, the upper one at least (nN + 2v₀)/(n + 2). Both together give the limits of T − N by the square-and-add
//! rule (MOVER; Zou & Donner 2008, *Statistics in Medicine* 27, 1693–1702).
//!
//! **The prediction interval** of the true effect on a new task is d̄ ± √(t²τ² + h²), h the half-width of the default
//! interval on that side and t Student's quantile with n − 1 degrees of freedom (Higgins, Thompson & Spiegelhalter
//! 2009, *JRSS A* 172, 137–159). Small suites often estimate a τ of 0; τ is therefore taken at its upper 70%
//! limit, without the sparse part.
//! `assay lab simulate --grid heterogeneity` has the coverage of both.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::estimate::{FEWEST_UNITS, lift};
use crate::interval::Interval;
use crate::moments::PSEUDO;
use crate::paired_task::PairedTask;
use crate::quantile::student_tail;
use crate::sample::{Sample, mean, paired, scores};

/// The probability outside each end of a 95% interval.
const TAIL: f64 = 0.025;

/// The variance of an effect that moves a tenth of the tasks from 0 to 1.
const SPARSE: f64 = 0.09;

/// The probability above the limit of τ² that a prediction reads.
const PREDICTION_TAIL: f64 = 0.3;

/// How the true effects of the tasks are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heterogeneity {
    /// The standard deviation of the tasks' true effects.
    pub tau: f64,
    /// Its 95% interval; `None` under five tasks or effective clusters.
    pub tau_interval: Option<Interval>,
    /// The 95% prediction interval of the true effect on a new task; `None` likewise.
    pub prediction: Option<Interval>,
    /// The variance of the observed differences.
    pub variance: f64,
    /// Of it, what the trials alone make on average.
    pub noise: f64,
}

/// The spread of true effects over tasks. `None` under two tasks, and if no task has two trials under one of the
/// arms: the part of trials is unknown then.
///
/// If tasks name clusters, the variance of the mean is that of clusters (CR2), and `variance` the mean squared
/// deviation plus it.
pub fn heterogeneity(tasks: &[PairedTask]) -> Option<Heterogeneity> {
    let tasks = paired(tasks);
    let noises = trial_noise(&tasks)?;
    let spread = Spread::of(&tasks, &noises)?;
    let between = (spread.variance - spread.noise).max(0.0);
    let enough = Sample::of(&tasks).has(FEWEST_UNITS);
    let tau_interval = if enough { spread.tau_interval() } else { None };
    let prediction = lift(&tasks, 0.95).filter(|_| enough).and_then(|found| {
        let ci = found.interval?;
        let upper = spread.upper_variance(PREDICTION_TAIL, 0.0)? - spread.noise;
        let part = student_tail(spread.n - 1.0, TAIL)?.powi(2) * upper.max(0.0);
        let low = found.mean - (part + (found.mean - ci.low).powi(2)).sqrt();
        let high = found.mean + (part + (ci.high - found.mean).powi(2)).sqrt();
        Some(Interval { low: low.max(-1.0), high: high.min(1.0) })
    });
    Some(Heterogeneity {
        tau: between.sqrt(),
        tau_interval,
        prediction,
        variance: spread.variance,
        noise: spread.noise,
    })
}

/// The effect of each task, shrunk towards the mean of all: d̄ + B·(d − d̄), B = τ²/(τ² + v), with v the variance of the
/// task's difference from its trials at the mean variance of a trial (Morris 1983, *JASA* 78, 47–55). In
/// the order of the tasks; `None` for a task without trials under both arms. Lists that are sorted by gain are sorted
/// by these: the largest of many observed differences is too large.
///
/// `None` as in [`heterogeneity`].
pub fn shrunk_lifts(tasks: &[PairedTask]) -> Option<Vec<Option<f64>>> {
    let kept = paired(tasks);
    let spread = Spread::of(&kept, &trial_noise(&kept)?)?;
    let within = [arm_variance(&kept, |task| &task.arm)?, arm_variance(&kept, |task| &task.base)?];
    let between = (spread.variance - spread.noise).max(0.0);
    let shrunk = |task: &PairedTask| {
        let (arm, base) = (scores(&task.arm), scores(&task.base));
        if arm.is_empty() || base.is_empty() {
            return None;
        }
        let noise = within[0] / arm.len() as f64 + within[1] / base.len() as f64;
        let factor = if between + noise > 0.0 { between / (between + noise) } else { 1.0 };
        Some(spread.mean + factor * (mean(&arm) - mean(&base) - spread.mean))
    };
    Some(tasks.iter().map(shrunk).collect())
}

/// The variance of a trial within its task: the mean over tasks with two trials.
fn arm_variance(tasks: &[PairedTask], arm: fn(&PairedTask) -> &Vec<f64>) -> Option<f64> {
    let mut known: Vec<f64> = tasks.iter().filter_map(|task| variance_of(arm(task))).collect();
    known.sort_by(f64::total_cmp);
    (!known.is_empty()).then(|| mean(&known))
}

/// The variance of each task's difference from its trials. A cell with one trial is taken to be like the others of its
/// arm.
fn trial_noise(tasks: &[PairedTask]) -> Option<Vec<f64>> {
    let arm = arm_variance(tasks, |task| &task.arm)?;
    let base = arm_variance(tasks, |task| &task.base)?;
    let of = |trials: &[f64], typical: f64| variance_of(trials).unwrap_or(typical) / trials.len() as f64;
    Some(tasks.iter().map(|task| of(&task.arm, arm) + of(&task.base, base)).collect())
}

/// Without bias; `None` below two numbers.
fn variance_of(numbers: &[f64]) -> Option<f64> {
    let n = numbers.len() as f64;
    let center = numbers.iter().sum::<f64>() / n;
    (numbers.len() > 1).then(|| numbers.iter().map(|x| (x - center).powi(2)).sum::<f64>() / (n - 1.0))
}

/// The moments of the tasks' differences, and of their parts from trials.
struct Spread {
    /// Units; with clusters of unequal size one more than Satterthwaite's degrees of freedom.
    n: f64,
    mean: f64,
    /// T.
    variance: f64,
    /// ν.
    freedom: f64,
    /// N.
    noise: f64,
    /// Its standard error.
    noise_error: f64,
    /// v₀.
    largest: f64,
}

impl Spread {
    /// `None` under two units.
    fn of(tasks: &[PairedTask], noises: &[f64]) -> Option<Spread> {
        let sample = Sample::of(tasks);
        let moments = sample.moments();
        if sample.units.len() < 2 {
            return None;
        }
        let mut differences: Vec<f64> = tasks.iter().map(|task| mean(&task.arm) - mean(&task.base)).collect();
        differences.sort_by(f64::total_cmp);
        let count = differences.len() as f64;
        let power = |exponent: i32| {
            differences.iter().map(|difference| (difference - moments.mean).powi(exponent)).sum::<f64>()
        };
        let squares = power(2);
        let variance = squares / count + moments.variance() / moments.n;
        let kurtosis = if squares > 0.0 { (count * power(4) / (squares * squares)).max(3.0) } else { 3.0 };
        let n = moments.n;
        let mut ordered = noises.to_vec();
        ordered.sort_by(f64::total_cmp);
        let largest = 0.25
            * (tasks
                .iter()
                .map(|task| 1.0 / task.arm.len() as f64 + 1.0 / task.base.len() as f64)
                .sum::<f64>()
                / count);
        Some(Spread {
            n,
            mean: moments.mean,
            variance,
            freedom: 2.0 * n / (kurtosis - (n - 3.0) / (n - 1.0)),
            noise: mean(&ordered),
            noise_error: (variance_of(&ordered).unwrap_or(0.0) / count).sqrt(),
            largest,
        })
    }

    /// The limit of T with probability `tail` above it; `sparse` is added to the variance of the pseudo-tasks.
    fn upper_variance(&self, tail: f64, sparse: f64) -> Option<f64> {
        let n = self.n;
        let freedom = (n + 1.0).powi(2) / (n - 1.0);
        let shrunk = ((n - 1.0) * self.variance + PSEUDO * (self.largest + sparse)) / (n - 1.0 + PSEUDO);
        let observed = self.variance * self.freedom / chi_squared(self.freedom, tail)?;
        Some(observed.max(shrunk * freedom / chi_squared(freedom, tail)?))
    }

    fn tau_interval(&self) -> Option<Interval> {
        let Self { n, variance, noise, .. } = *self;
        let low = variance * self.freedom / chi_squared(self.freedom, 1.0 - TAIL)?;
        let high = self.upper_variance(TAIL, SPARSE)?;
        let reach = student_tail(n - 1.0, TAIL)? * self.noise_error;
        let noise_low = (noise - reach).max(0.0);
        let pseudo = (n * noise + PSEUDO * self.largest) / (n + PSEUDO);
        let noise_high = (noise + reach).max(pseudo).min(self.largest).max(noise);
        let between = variance - noise;
        let root = |value: f64| value.max(0.0).sqrt();
        Some(Interval {
            low: root(between - (variance - low).hypot(noise_high - noise)),
            high: root(between + (high - variance).hypot(noise - noise_low)).max(root(between)),
        })
    }
}

/// The value of χ² with `freedom` degrees of freedom and probability `below` under it, by bisection.
pub(crate) fn chi_squared(freedom: f64, below: f64) -> Option<f64> {
    let distribution = ChiSquared::new(freedom).ok()?;
    let (mut low, mut high) = (0.0, freedom.max(1.0));
    for _ in 0..200 {
        if distribution.cdf(high) >= below {
            break;
        }
        low = high;
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if distribution.cdf(middle) < below {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high)).filter(|found| *found > 0.0)
}

#[cfg(test)]
mod tests;
