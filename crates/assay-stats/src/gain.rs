//! Normalized gain.
//!
//! For a gain it is (arm − base)/(1 − base), the share of the possible gain; for a loss Marx &
//! Cummings' (2007) normalized change, (arm − base)/base. Both are ratios of suite means; they are
//! never averaged over tasks.
//!
//! The interval is Fieller's (1954) with the default interval in place of Student's: it contains
//! every g for which the default interval of the mean of uᵢ(g) contains 0, where uᵢ(g) = (armᵢ −
//! baseᵢ) − g·(1 − baseᵢ) on the side of gains and (armᵢ − baseᵢ) − g·baseᵢ on the side of losses.
//! At g = 0 both are the lift, so this interval contains 0 if the lift's does. The set can have a
//! gap if the denominator is poorly known; the interval then spans it, within [−1, 1], and contains
//! 0 if the gap does.

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::moments::{Moments, Quantiles};
use crate::paired_task::PairedTask;
use crate::sample::{Sample, Unit, tail_of};

/// Steps in which either side of 0 is searched; ends are then found by bisection.
const STEPS: u32 = 400;

/// Normalised gain with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// In [−1, 1]: above 0 a share of the possible gain, below 0 a share of the possible loss.
    pub value: f64,
    /// Hake's (1998) gain, (arm − base)/(1 − base) on either side of 0; equal to `value` above it.
    pub hake: f64,
    /// `None` under 5 tasks or clusters, or if the level is not between 0 and 1.
    pub interval: Option<Interval>,
}

/// The normalized gain of the suite, with an interval at `level`.
///
/// `None` if the baseline's mean is 1, or if no task has trials under both arms.
pub fn normalized_gain(tasks: &[PairedTask], level: f64) -> Option<Gain> {
    let sample = Sample::of(tasks);
    if sample.units.is_empty() {
        return None;
    }
    let n = sample.units.len() as f64;
    let base = sample.units.iter().map(|u| u.weight * u.base).sum::<f64>() / n;
    let lift = sample.moments().mean;
    if base >= 1.0 {
        return None;
    }
    // A loss needs a baseline above 0.
    let value = if lift >= 0.0 { lift / (1.0 - base) } else { lift / base }.clamp(-1.0, 1.0);
    let interval = tail_of(level)
        .filter(|_| sample.has(FEWEST_UNITS))
        .and_then(|tail| Quantiles::of(sample.n, tail))
        .map(|quantiles| fieller(&sample, quantiles, value));
    Some(Gain { value, hake: lift / (1.0 - base), interval })
}

fn fieller(sample: &Sample, quantiles: Quantiles, value: f64) -> Interval {
    let gains = Contrast::of(sample, |unit| 1.0 - unit.base, 1.0);
    let losses = Contrast::of(sample, |unit| unit.base, -1.0);
    let accepts = |g: f64| {
        let moments = if g < 0.0 { losses.at(g) } else { gains.at(g) };
        let interval = moments.interval_of(quantiles, (f64::NEG_INFINITY, f64::INFINITY));
        interval.low <= 0.0 && 0.0 <= interval.high
    };
    let ends = |direction: f64| {
        // From the far end inwards to the first that is accepted; the value is, for its mean is 0.
        let towards = |step: u32| direction * (1.0 - f64::from(step) / f64::from(STEPS));
        let mut outside = None;
        for g in (0..=2 * STEPS).map(towards) {
            if direction * (g - value) <= 0.0 {
                return edge(value, outside.unwrap_or(value), accepts);
            }
            if accepts(g) {
                return outside.map_or(g, |outside| edge(g, outside, accepts));
            }
            outside = Some(g);
        }
        value
    };
    Interval { low: ends(-1.0), high: ends(1.0) }
}

/// Where between an accepted number and one that is not acceptance ends.
fn edge(mut inside: f64, mut outside: f64, accepts: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(inside, outside);
        if accepts(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

/// u(g) = arm − base − g·below over the units, as polynomials in g.
struct Contrast {
    n: f64,
    mean: [f64; 2],
    squares: [f64; 3],
    cubes: [f64; 4],
    noise: [f64; 3],
}

impl Contrast {
    /// `below` is linear in the baseline with a slope of −`direction`, so v₀(g) is arm noise + (1 −
    /// `direction`·g)²·base noise.
    fn of(sample: &Sample, below: impl Fn(&Unit) -> f64, direction: f64) -> Contrast {
        let n = sample.units.len() as f64;
        let sum = |value: &dyn Fn(&Unit) -> f64| sample.units.iter().map(value).sum::<f64>();
        let lift = sum(&|u| u.weight * (u.arm - u.base)) / n;
        let under = sum(&|u| u.weight * below(u)) / n;
        let rise = |u: &Unit| u.weight * (u.arm - u.base - lift);
        let part = |u: &Unit| u.weight * (below(u) - under);
        let scale = sample.scale();
        let square = |i: i32, j: i32| sum(&|u| rise(u).powi(i) * part(u).powi(j) * u.leverage);
        let cube = |i: i32, j: i32| sum(&|u| rise(u).powi(i) * part(u).powi(j)) * scale.powi(3);
        let arm = sum(&|u| u.weight.powi(2) * u.arm_noise) / n * scale;
        let base = sum(&|u| u.weight.powi(2) * u.base_noise) / n * scale;
        Contrast {
            n: sample.n,
            mean: [lift, -under],
            squares: [square(2, 0), -2.0 * square(1, 1), square(0, 2)],
            cubes: [cube(3, 0), -3.0 * cube(2, 1), 3.0 * cube(1, 2), -cube(0, 3)],
            noise: [arm + base, -2.0 * direction * base, base],
        }
    }

    fn at(&self, g: f64) -> Moments {
        let value = |terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * g + term);
        Moments {
            n: self.n,
            mean: value(&self.mean),
            // A sum of squares; near 0, rounding may make the polynomial negative.
            squares: value(&self.squares).max(0.0),
            cubes: value(&self.cubes),
            noise: value(&self.noise),
        }
    }
}
