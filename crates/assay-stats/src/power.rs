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
    let (decides, misses) = (Quantiles::of(n, 0.5 * alpha(m))?, Quantiles::of(n, MISSED)?);
    let both = Quantiles {
        plain: decides.plain + misses.plain,
        shrunk: decides.shrunk + misses.shrunk,
        pseudo: PSEUDO,
    };
    Some(moments.half(n, both))
}
