//! Group-sequential levels: how much of an error rate each look at the data may spend.
//!
//! After k of K rounds the estimates have the canonical joint distribution of group-sequential designs
//! (Jennison & Turnbull, *Group Sequential Methods with Applications to Clinical Trials*, 2000, chapter 3):
//! the scores B_k = Z_k √t_k are a Brownian motion at the information times t_k.

use statrs::function::erf::{erfc, erfc_inv};

/// The parameter γ of the spending function: little is spent early.
pub const GAMMA: f64 = -4.0;

/// Points of the grid on which densities are integrated; odd, for Simpson's rule.
const POINTS: usize = 801;

/// A boundary on which nothing stops, in standard deviations.
const FAR: f64 = 9.0;

/// How far from the observed z its median-unbiased mean is sought.
const REACH: f64 = 6.0;

/// Halvings of this distance: to a millionth of a standard error.
const UNBIASED_HALVINGS: usize = 24;

/// Halvings of the interval that contains a boundary.
const HALVINGS: usize = 60;

/// Which results stop a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// A large result.
    One,
    /// A large result of either sign.
    Two,
}

/// The error rate that may be spent by the information time `t` in [0, 1]: α (1 − e^(−γt)) / (1 − e^(−γ)) with γ =
/// [`GAMMA`].
///
/// Source: Hwang, Shih & DeCani, *Group sequential designs using a family of type I error probability spending
/// functions*, Statistics in Medicine 9 (1990), 1439–1445.
pub fn spent(alpha: f64, t: f64) -> f64 {
    if t >= 1.0 {
        // All of it, to the last bit.
        return alpha;
    }
    let t = t.max(0.0);
    alpha * (-GAMMA * t).exp_m1() / (-GAMMA).exp_m1()
}

/// The nominal level of each look: a fixed design with this level at look k stops together with all earlier looks
/// with the error rate [`spent`] by then. Two-sided levels count both tails.
///
/// `times` are the information times of the looks, increasing, in (0, 1]. Empty if they are not, or if `alpha` is not
/// in (0, 1).
///
/// Source: recursive numerical integration, Armitage, McPherson & Rowe, *Repeated significance tests on
/// accumulating data*, JRSS A 132 (1969), 235–244; increments by spending, Lan & DeMets, Biometrika 70 (1983), 659–663.
pub fn nominal_levels(alpha: f64, times: &[f64], sides: Sides) -> Vec<f64> {
    Looks::new(alpha, times, sides).map_or_else(Vec::new, |looks| looks.levels)
}

/// The looks of a design: their nominal levels, and the scores of designs that go on after each.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// The nominal levels; two-sided ones count both tails.
    levels: Vec<f64>,
    /// After each look, if nothing stopped.
    states: Vec<State>,
}

impl Looks {
    /// The looks at these times; `None` if they are not increasing within (0, 1], or `alpha` is not in (0, 1).
    pub(crate) fn new(alpha: f64, times: &[f64], sides: Sides) -> Option<Self> {
        let increasing = times.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = times.iter().all(|t| *t > 0.0 && *t <= 1.0);
        let is_level = alpha > 0.0 && alpha < 1.0;
        if !(increasing && inside && is_level) {
            return None;
        }
        let mut levels = Vec::with_capacity(times.len());
        let mut states: Vec<State> = Vec::with_capacity(times.len());
        let mut before = 0.0;
        for &time in times {
            let by_now = spent(alpha, time);
            let exits = by_now - before;
            before = by_now;
            let state = match states.last() {
                // The first look is a fixed design, whose level is what it spends.
                None => {
                    levels.push(exits);
                    let tail = if sides == Sides::Two { exits / 2.0 } else { exits };
                    State::first(time, upper_quantile(tail), sides)
                }
                Some(state) => {
                    let boundary = state.boundary(time, exits, sides);
                    let tail = upper_tail(boundary);
                    levels.push(if sides == Sides::Two { 2.0 * tail } else { tail });
                    state.next(time, boundary, sides)
                }
            };
            states.push(state);
        }
        Some(Self { levels, states })
    }

    /// The nominal levels, look by look.
    pub(crate) fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// The mean of Z at the look with number `at` (from 0) for which a design stops as often above the observed one as
    /// below it: the median-unbiased estimate, in standard errors, of a design that stopped there with `z`.
    ///
    /// Outcomes are in the stage-wise order: those that stopped above a boundary at an earlier look are higher, the
    /// earlier the higher; those at the same look are in the order of z. Source: Jennison & Turnbull, *Group Sequential
    /// Methods with Applications to Clinical Trials* (2000), section 8.5.
    pub(crate) fn unbiased(&self, at: usize, z: f64) -> f64 {
        let Some(time) = self.states.get(at).map(|state| state.time).filter(|_| at > 0) else { return z };
        let above = |mean: f64| self.chance_above(at, z, mean / time.sqrt());
        let (mut low, mut high) = (z - REACH, z + REACH);
        for _ in 0..UNBIASED_HALVINGS {
            let middle = f64::midpoint(low, high);
            if above(middle) < 0.5 { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// The probability of an outcome at least as high as `z` at look `at`, if the score has this drift: its mean at
    /// time t is `drift`·t.
    fn chance_above(&self, at: usize, z: f64, drift: f64) -> f64 {
        let mut chance = 0.0;
        let mut before: Option<&State> = None;
        for (number, state) in self.states.iter().enumerate().take(at + 1) {
            let time = state.time;
            let boundary = if number == at { z * time.sqrt() } else { state.high() };
            chance += match before {
                None => upper_tail((boundary - drift * time) / time.sqrt()),
                Some(earlier) => {
                    let step = time - earlier.time;
                    // The density with drift is that without it times the likelihood ratio of the score.
                    earlier.integrate(|score| {
                        let ratio = (drift * score - drift * drift * earlier.time / 2.0).exp();
                        ratio * upper_tail((boundary - score - drift * step) / step.sqrt())
                    })
                }
            };
            before = Some(state);
        }
        chance
    }
}

/// The density of the score of designs that have not stopped, on a grid.
#[derive(Debug)]
struct State {
    time: f64,
    low: f64,
    step: f64,
    density: Vec<f64>,
}

impl State {
    /// The continuation region of a look, as scores.
    fn region(time: f64, boundary: f64, sides: Sides) -> (f64, f64) {
        let high = boundary * time.sqrt();
        match sides {
            Sides::Two => (-high, high),
            Sides::One => (-FAR * time.sqrt(), high),
        }
    }

    fn on_grid(time: f64, boundary: f64, sides: Sides, density: impl Fn(f64) -> f64) -> Self {
        let (low, high) = Self::region(time, boundary, sides);
        let step = (high - low) / (POINTS - 1) as f64;
        let density = (0..POINTS).map(|at| density(low + step * at as f64)).collect();
        Self { time, low, step, density }
    }

    /// The upper end of the continuation region, as a score.
    fn high(&self) -> f64 {
        self.low + self.step * (POINTS - 1) as f64
    }

    fn first(time: f64, boundary: f64, sides: Sides) -> Self {
        Self::on_grid(time, boundary, sides, |score| normal_density(score, time))
    }

    /// The state after a look at which nothing stopped.
    fn next(&self, time: f64, boundary: f64, sides: Sides) -> Self {
        let variance = time - self.time;
        // Beyond this distance a density has no digits left.
        let far = FAR * variance.sqrt();
        Self::on_grid(time, boundary, sides, |score| {
            self.integrate_between(score - far, score + far, |before| {
                normal_density(score - before, variance)
            })
        })
    }

    /// The integral of a function of the score over the designs that have not stopped.
    fn integrate(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.integrate_between(f64::NEG_INFINITY, f64::INFINITY, of)
    }

    /// The same of a function that is 0 outside an interval, by Simpson's rule.
    fn integrate_between(&self, low: f64, high: f64, of: impl Fn(f64) -> f64) -> f64 {
        let weight = |at: usize| match at {
            0 => 1.0,
            at if at == POINTS - 1 => 1.0,
            at if at % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let (first, end) = (self.point_at(low), self.point_at(high) + 1);
        let sum: f64 = (first..end.min(POINTS))
            .map(|at| weight(at) * self.density[at] * of(self.low + self.step * at as f64))
            .sum();
        sum * self.step / 3.0
    }

    /// The number of the grid's point at or below a score.
    fn point_at(&self, score: f64) -> usize {
        let at = ((score - self.low) / self.step).floor().clamp(0.0, POINTS as f64 - 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and POINTS")]
        let at = at as usize;
        at
    }

    /// The boundary, in standard deviations, at which a look stops designs with this probability.
    fn boundary(&self, time: f64, exits: f64, sides: Sides) -> f64 {
        let deviation = (time - self.time).sqrt();
        let stopped = |boundary: f64| {
            let high = boundary * time.sqrt();
            self.integrate(|score| {
                let above = upper_tail((high - score) / deviation);
                let below = if sides == Sides::Two { upper_tail((high + score) / deviation) } else { 0.0 };
                above + below
            })
        };
        let (mut low, mut high) = (0.0, FAR);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if stopped(middle) > exits { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }
}

/// The density of a normal distribution with mean 0.
fn normal_density(at: f64, variance: f64) -> f64 {
    (-at * at / (2.0 * variance)).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
}

/// P(Z > z) of the standard normal distribution.
pub(crate) fn upper_tail(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// The z with P(Z > z) = `tail`.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(count: u32) -> Vec<f64> {
        (1..=count).map(|round| f64::from(round) / f64::from(count)).collect()
    }

    #[test]
    fn one_look_is_the_fixed_design() {
        for sides in [Sides::One, Sides::Two] {
            let levels = nominal_levels(0.05, &[1.0], sides);
            assert!((levels[0] - 0.05).abs() < 1e-9, "{levels:?}");
        }
    }

    #[test]
    fn levels_of_five_rounds_are_those_computed_elsewhere() {
        // By an implementation in Python with another method of integration, to five digits.
        let expected = [0.001_14, 0.002_83, 0.007_11, 0.017_61, 0.042_83];
        let levels = nominal_levels(0.05, &rounds(5), Sides::Two);
        for (level, expected) in levels.iter().zip(expected) {
            assert!((level - expected).abs() < 6e-6, "{levels:?}");
        }
    }

    #[test]
    fn what_is_spent_adds_up() {
        assert!(spent(0.05, 0.0).abs() < 1e-15);
        assert!((spent(0.05, 1.0) - 0.05).abs() < 1e-15);
        // (e^2 − 1) / (e^4 − 1) of it at half of the information.
        assert!((spent(0.05, 0.5) - 0.05 * 0.119_202_922).abs() < 1e-9);
        // Simulated random walks stop as often as was spent.
        let times = rounds(4);
        let levels = nominal_levels(0.2, &times, Sides::Two);
        let boundaries: Vec<f64> = levels.iter().map(|level| upper_quantile(level / 2.0)).collect();
        let mut seed = 1_u64;
        let mut uniform = || {
            // SplitMix64 (Steele, Lea & Flood 2014).
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let walks = 200_000;
        let mut stopped = 0;
        for _ in 0..walks {
            let (mut score, mut time) = (0.0, 0.0);
            for (at, boundary) in times.iter().zip(&boundaries) {
                score += (at - time).sqrt() * upper_quantile(uniform().max(1e-12));
                time = *at;
                if (score / time.sqrt()).abs() >= *boundary {
                    stopped += 1;
                    break;
                }
            }
        }
        let share = f64::from(stopped) / f64::from(walks);
        // Four standard errors.
        assert!((share - 0.2).abs() < 0.0036, "{share}");
    }

    #[test]
    fn the_unbiased_mean_is_the_observed_one_at_a_single_look_and_nearer_to_zero_after_several() {
        let one = Looks::new(0.05, &[1.0], Sides::Two).unwrap();
        for z in [-2.5, 0.0, 1.0, 4.0] {
            assert!((one.unbiased(0, z) - z).abs() < 1e-6, "{z}");
        }
        let five = Looks::new(0.05, &rounds(5), Sides::Two).unwrap();
        let stopped = five.unbiased(1, 3.5);
        assert!(stopped < 3.5 && stopped > 2.0, "{stopped}");
        assert!((five.unbiased(1, -3.5) + stopped).abs() < 0.05, "the order of outcomes is not symmetric");
        // Simulated walks of this drift stop as often above the outcome as below it.
        let mut random = crate::random::stream(5, crate::random::Purpose::Replay, 0);
        let boundaries: Vec<f64> = five.levels().iter().map(|level| upper_quantile(level / 2.0)).collect();
        let drift = stopped / 0.4_f64.sqrt();
        let walks = 100_000;
        let mut above = 0;
        for _ in 0..walks {
            let (mut score, mut time) = (0.0, 0.0);
            for (number, (at, boundary)) in rounds(5).iter().zip(&boundaries).enumerate() {
                let step = at - time;
                let noise = upper_quantile(crate::random::uniform(&mut random).clamp(1e-12, 1.0 - 1e-12));
                score += drift * step + step.sqrt() * noise;
                time = *at;
                let z = score / time.sqrt();
                let ends = z.abs() >= *boundary || number == 4;
                if ends && (number == 0 && z > 0.0 || number == 1 && z >= 3.5) {
                    above += 1;
                }
                if ends {
                    break;
                }
            }
        }
        let share = f64::from(above) / f64::from(walks);
        assert!((share - 0.5).abs() < 0.0065, "{share}");
    }

    #[test]
    fn later_looks_are_less_strict_and_earlier_information_costs() {
        for sides in [Sides::One, Sides::Two] {
            let levels = nominal_levels(0.05, &rounds(12), sides);
            assert!(levels.windows(2).all(|pair| pair[0] < pair[1]), "{levels:?}");
            assert!(levels.iter().all(|level| *level > 0.0 && *level < 0.05), "{levels:?}");
        }
    }

    #[test]
    fn times_that_make_no_design_have_no_levels() {
        for times in [&[0.5, 0.5][..], &[0.0, 1.0], &[0.5, 1.5], &[0.8, 0.4], &[f64::NAN]] {
            assert!(nominal_levels(0.05, times, Sides::Two).is_empty(), "{times:?}");
        }
        assert!(nominal_levels(0.0, &[1.0], Sides::Two).is_empty());
        assert!(nominal_levels(f64::NAN, &[1.0], Sides::Two).is_empty());
    }
}
