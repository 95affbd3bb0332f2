//! The tasks' pass rates without a skill.

use rand_chacha::ChaCha8Rng;
use statrs::function::beta::checked_beta_reg;

use crate::random::{gamma, uniform};
use crate::sample::{mean, scores};

/// The default's shapes: the mean of 0.4 is an assumption, a + b is 0.48, the median of
/// beta-binomial fits to 11 submissions to Terminal-Bench (80 tasks of 5 trials). Fits to 18 models
/// of MCPMark (127 tasks of 4) have a median of 0.65.
const A: f64 = 0.192;
const B: f64 = 0.288;

/// The tasks of a pilot that count as much for a + b as public suites do; a pilot of as many is taken as it is.
const PRIOR_TASKS: f64 = 20.0;

/// The tasks' pass rates without a skill: a beta distribution, or a part of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    a: f64,
    b: f64,
    /// The largest rate: rates are the beta's values times this.
    most: f64,
}

impl Default for Baseline {
    /// Beta(0.192, 0.288): mean 0.4, and most tasks almost always or almost never pass, as in
    /// public suites.
    fn default() -> Baseline {
        Baseline { a: A, b: B, most: 1.0 }
    }
}

impl Baseline {
    /// Beta(a, b), of mean a/(a + b). `None` unless both shapes are in [0.01, 10⁶].
    pub fn beta(a: f64, b: f64) -> Option<Baseline> {
        let sound = |shape: f64| (0.01..=1e6).contains(&shape);
        (sound(a) && sound(b)).then_some(Baseline { a, b, most: 1.0 })
    }

    /// The same rates times `most`, in (0, 1].
    pub fn up_to(self, most: f64) -> Option<Baseline> {
        (most > 0.0 && most <= 1.0).then_some(Baseline { most: self.most * most, ..self })
    }

    /// The beta with the mean and the spread of a pilot's tasks, each given by the scores of its
    /// trials.
    ///
    /// By moments: the variance of the tasks' means, less that of their trials, p(1 − p)/(r − 1)
    /// per task. The mean includes one more task at ½, so that a pilot that always or never passed
    /// leaves room. If tasks have one trial each, or their variance is no larger than that of their
    /// trials, a + b is that of the default. Fewer than 20 tasks say little of a + b, so that of n is
    /// averaged with the default's, n to 20. `None` without a task.
    pub fn pilot(tasks: &[Vec<f64>]) -> Option<Baseline> {
        let kept: Vec<Vec<f64>> = tasks.iter().map(|t| scores(t)).filter(|t| !t.is_empty()).collect();
        let n = kept.len() as f64;
        if kept.is_empty() {
            return None;
        }
        let mut means: Vec<f64> = kept.iter().map(|t| mean(t)).collect();
        means.sort_by(f64::total_cmp);
        let centre = means.iter().sum::<f64>() / n;
        let observed = means.iter().map(|m| (m - centre).powi(2)).sum::<f64>() / (n - 1.0);
        let mut noise: Vec<f64> =
            kept.iter().map(|t| (mean(t) * (1.0 - mean(t))).max(0.0) / (t.len() as f64 - 1.0)).collect();
        noise.sort_by(f64::total_cmp);
        let between = observed - noise.iter().sum::<f64>() / n;
        let rate = (n * centre + 0.5) / (n + 1.0);
        let known = kept.iter().all(|t| t.len() > 1) && between > 0.0 && between.is_finite();
        let size = if known { (rate * (1.0 - rate) / between - 1.0).clamp(0.1, 1000.0) } else { A + B };
        let size =
            if n < PRIOR_TASKS { (n * size + PRIOR_TASKS * (A + B)) / (n + PRIOR_TASKS) } else { size };
        Baseline::beta((rate * size).max(0.01), ((1.0 - rate) * size).max(0.01))
    }

    /// The same spread, a + b, around another mean.
    #[must_use]
    pub fn around(self, mean: f64) -> Baseline {
        let (size, share) = (self.a + self.b, (mean / self.most).clamp(0.0, 1.0));
        Baseline { a: (share * size).max(0.01), b: ((1.0 - share) * size).max(0.01), ..self }
    }

    /// Mean pass rate.
    pub fn mean(self) -> f64 {
        self.a / (self.a + self.b) * self.most
    }

    /// Draws the rate of a task.
    pub fn draw_rate(self, random: &mut ChaCha8Rng) -> f64 {
        let (one, other) = (gamma(random, self.a), gamma(random, self.b));
        if one + other > 0.0 {
            return self.most * (one / (one + other));
        }
        // Both rounded to 0, which small shapes do: the rate is then at either end.
        if uniform(random) * self.most < self.mean() { self.most } else { 0.0 }
    }

    /// The mean of clip(p + shift) − p over the tasks' rates p.
    ///
    /// With F the distribution function of the rates and F₁ that of Beta(a + 1, b) on the same
    /// range: E[p; p ≤ x] = mean·F₁(x). For a shift s ≥ 0 rates up to 1 − s rise by s, and the
    /// others to 1; for s < 0 rates from −s on fall by it, and the others to 0.
    pub fn shifted(self, shift: f64) -> f64 {
        let rise = shift >= 0.0;
        let edge = if rise { 1.0 - shift } else { -shift };
        let x = (edge / self.most).clamp(0.0, 1.0);
        let below = |a: f64| checked_beta_reg(a, self.b, x).unwrap_or(0.0);
        let (share, part) = (below(self.a), below(self.a + 1.0));
        if rise {
            shift * share + (1.0 - share) - self.mean() * (1.0 - part)
        } else {
            shift * (1.0 - share) - self.mean() * part
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn shifts_of_a_uniform_baseline_by_hand() {
        // Rates uniform on [0, 1]: a rise by s is s on 1 − s of them and on average s/2 on the
        // rest: s(1 − s) + s²/2.
        let flat = Baseline::beta(1.0, 1.0).unwrap();
        for (shift, expected) in
            [(0.0, 0.0), (0.2, 0.18), (0.5, 0.375), (1.0, 0.5), (3.0, 0.5), (-0.2, -0.18)]
        {
            let got = flat.shifted(shift);
            assert!((got - expected).abs() < 1e-12, "shift {shift}: {got}, expected {expected}");
        }
    }

    #[test]
    fn rates_of_a_part_of_the_range_by_hand() {
        // Uniform on [0, ½]: a rise by .8 is .8 up to .2 and 1 − p above: .8 · .4 + .6 · (1 − .35).
        // A fall by .3 is .3 from .3 on and p below: −(.3 · .4 + .6 · .15).
        let half = Baseline::beta(1.0, 1.0).unwrap().up_to(0.5).unwrap();
        assert!((half.mean() - 0.25).abs() < 1e-12);
        for (shift, expected) in [(0.8, 0.32 + 0.39), (-0.3, -0.21), (0.2, 0.2), (1.0, 0.75)] {
            assert!((half.shifted(shift) - expected).abs() < 1e-12, "shift {shift}: {}", half.shifted(shift));
        }
        let mut random = stream(3, Purpose::Suite, 0);
        assert!((0..1000).all(|_| half.draw_rate(&mut random) <= 0.5));
        assert_eq!(half.up_to(0.0), None);
    }

    #[test]
    fn rates_have_the_betas_spread() {
        // Variance ab/((a + b)²(a + b + 1)), for shapes below and above 1.
        for (a, b) in [(0.6, 0.9), (0.05, 0.05), (8.0, 2.0), (300.0, 100.0)] {
            let baseline = Baseline::beta(a, b).unwrap();
            let mut random = stream(9, Purpose::Suite, 0);
            let rates: Vec<f64> = (0..20_000).map(|_| baseline.draw_rate(&mut random)).collect();
            let mean = rates.iter().sum::<f64>() / 20_000.0;
            let variance = rates.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 20_000.0;
            let expected = a * b / ((a + b).powi(2) * (a + b + 1.0));
            assert!(
                (mean - baseline.mean()).abs() < 5.0 * (expected / 20_000.0).sqrt(),
                "{a}, {b}: mean {mean}"
            );
            assert!((variance / expected - 1.0).abs() < 0.05, "{a}, {b}: {variance}, expected {expected}");
        }
        assert_eq!(Baseline::beta(0.0, 1.0), None);
        assert_eq!(Baseline::beta(1.0, f64::NAN), None);
    }

    #[test]
    fn pilot_recovers_its_rates() {
        for (a, b) in [(0.6, 0.9), (8.0, 2.0), (0.5, 9.0)] {
            let truth = Baseline::beta(a, b).unwrap();
            let mut random = stream(4, Purpose::Suite, 0);
            let mut task = || {
                let rate = truth.draw_rate(&mut random);
                (0..5).map(|_| f64::from(u8::from(uniform(&mut random) < rate))).collect()
            };
            let pilot: Vec<Vec<f64>> = (0..3000).map(|_| task()).collect();
            let got = Baseline::pilot(&pilot).unwrap();
            assert!((got.mean() - truth.mean()).abs() < 0.02, "{got:?}");
            assert!((got.a / a - 1.0).abs() < 0.15 && (got.b / b - 1.0).abs() < 0.15, "{got:?} for {a}, {b}");
        }
    }

    #[test]
    fn pilot_without_spread_gets_the_default() {
        let check = |tasks: &[Vec<f64>], mean: f64| {
            let got = Baseline::pilot(tasks).unwrap();
            assert!((got.mean() - mean).abs() < 1e-12 && (got.a + got.b - 0.48).abs() < 1e-12, "{got:?}");
        };
        // One task at ½ is added: (3 + ½)/4, (1 + ½)/4.
        check(&[vec![1.0], vec![1.0], vec![1.0]], 0.875);
        check(&[vec![0.0], vec![1.0], vec![0.0]], 0.375);
        check(&[vec![0.0; 4], vec![0.0; 4]], 0.5 / 3.0);
        check(&[vec![0.0, 1.0], vec![1.0, 0.0], vec![f64::NAN]], 0.5);
        assert_eq!(Baseline::pilot(&[]), None);
        assert_eq!(Baseline::pilot(&[vec![f64::NAN]]), None);
    }
}
