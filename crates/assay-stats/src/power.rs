//! Power in closed form.
//!
//! With n tasks the (1 − α) interval excludes 0 for a true lift of (t(1 − α/2) + t(.8))·s/√n in
//! about 80% of repeats: the usual approximation, for the larger of the two terms of the default
//! interval, s with n − 1 degrees of freedom and s̃ with its own. [`crate::plan`] simulates; this
//! is the quick figure for a report.

use crate::estimate::FEWEST_UNITS;
use crate::level::alpha;
use crate::moments::{Moments, PSEUDO, Quantiles};
use crate::paired_task::PairedTask;
use crate::quantile::normal_tail;
use crate::sample::Sample;

/// 1 − power.
const MISSED: f64 = 0.2;

/// The largest number of tasks that is reported.
const MOST_UNITS: usize = 1_000_000_000;

/// The minimum detectable effect: the smallest true lift that a verdict detects with 80% power at
/// these tasks, repetitions and the observed variance, in a family of `m` comparisons.
///
/// May be above 1: no lift is then detected with that power. `None` under 5 tasks or clusters.
pub fn mde(tasks: &[PairedTask], m: usize) -> Option<f64> {
    mde_of(&Sample::of(tasks), m)
}

pub(crate) fn mde_of(sample: &Sample, m: usize) -> Option<f64> {
    if !sample.has(FEWEST_UNITS) {
        return None;
    }
    detectable(&sample.moments(), sample.n, m)
}

/// The probability with which a verdict detects a true lift of `effect` at these tasks, repetitions and the observed variance,
/// in a family of `m` comparisons: the power at which `effect` is the smallest detectable lift, by bisection. Between .0001
/// and .9999. `None` under 5 tasks or clusters, and with an effect that is not above 0.
pub fn power_to_detect(tasks: &[PairedTask], m: usize, effect: f64) -> Option<f64> {
    let sample = Sample::of(tasks);
    if !sample.has(FEWEST_UNITS) || !effect.is_finite() || effect <= 0.0 {
        return None;
    }
    let moments = sample.moments();
    let (mut low, mut high) = (1e-4, 1.0 - 1e-4);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if detectable_at(&moments, sample.n, m, middle)? <= effect { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

/// The number of tasks that detect a lift of `effect` with 80% power, at these repetitions and the
/// observed variance, in a family of `m` comparisons; at least 5.
///
/// Clusters are assumed to keep their sizes. `None` with fewer than two units, with an effect that
/// is not above 0, and if more than 10⁹ would be needed.
pub fn tasks_needed(tasks: &[PairedTask], m: usize, effect: f64) -> Option<usize> {
    tasks_needed_of(&Sample::of(tasks), m, effect)
}

pub(crate) fn tasks_needed_of(sample: &Sample, m: usize, effect: f64) -> Option<usize> {
    if sample.units.len() < 2 || !effect.is_finite() || effect <= 0.0 {
        return None;
    }
    let moments = sample.moments();
    let enough = |n: usize| detectable(&moments, n as f64, m).is_some_and(|lift| lift <= effect);
    // Quantiles of the normal are below Student's, so they give a lower bound. The step doubles
    // from there.
    let quantile = normal_tail(0.5 * alpha(m))? + normal_tail(MISSED)?;
    let normal = Quantiles { plain: quantile, shrunk: quantile, pseudo: PSEUDO };
    let optimistic = |n: usize| moments.half(n as f64, normal) <= effect;
    let start = smallest(FEWEST_UNITS, MOST_UNITS, optimistic)?;
    let (mut low, mut step) = (start, 1);
    while !enough(low + step - 1) {
        low += step;
        step *= 2;
        if low > MOST_UNITS {
            return None;
        }
    }
    let units = smallest(low, low + step - 1, enough)?;
    // Exact where n is whole, for products up to 2^53.
    let tasks = (units as f64 * sample.tasks as f64 / sample.n).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "above 0, and a cast saturates"
    )]
    let tasks = tasks as usize;
    Some(tasks)
}

/// The smallest number in `low..=high` that meets a monotone condition.
fn smallest(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

fn detectable(moments: &Moments, n: f64, m: usize) -> Option<f64> {
    detectable_at(moments, n, m, 1.0 - MISSED)
}

/// The lift that is detected with a power. Below one half the quantile of the power is negative.
fn detectable_at(moments: &Moments, n: f64, m: usize, power: f64) -> Option<f64> {
    let decides = Quantiles::of(n, 0.5 * alpha(m))?;
    let (sign, tail) = if power > 0.5 { (1.0, 1.0 - power) } else { (-1.0, power) };
    // At one half the quantile is 0, and close to it as good as that.
    let (plain, shrunk) = match Quantiles::of(n, tail) {
        Some(misses) => (misses.plain, misses.shrunk),
        None => (0.0, 0.0),
    };
    let both = Quantiles {
        plain: (decides.plain + sign * plain).max(0.0),
        shrunk: (decides.shrunk + sign * shrunk).max(0.0),
        pseudo: PSEUDO,
    };
    Some(moments.half(n, both))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_at_the_detectable_effect_is_eighty_percent() {
        let tasks: Vec<PairedTask> = [0.5, 0.25, 0.0, 0.75, 0.25, 0.5, -0.25, 0.25]
            .iter()
            .map(|lift| PairedTask {
                arm: vec![0.5 + lift / 2.0; 4],
                base: vec![0.5 - lift / 2.0; 4],
                cluster: None,
            })
            .collect();
        let effect = mde(&tasks, 1).unwrap();
        assert!((power_to_detect(&tasks, 1, effect).unwrap() - 0.8).abs() < 1e-6);
        let powers: Vec<f64> = [0.01, 0.1, 0.2, 0.3, 0.5, 1.0]
            .iter()
            .map(|effect| power_to_detect(&tasks, 1, *effect).unwrap())
            .collect();
        assert!(powers.is_sorted() && powers[0] < 0.05 && powers[5] > 0.99, "{powers:?}");
        assert_eq!(power_to_detect(&tasks[..4], 1, 0.5), None);
        assert_eq!(power_to_detect(&tasks, 1, 0.0), None);
    }
}
