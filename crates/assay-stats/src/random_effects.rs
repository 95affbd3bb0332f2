//! One estimate over units that have an effect with a known variance each: skills, or models.
//!
//! The units are a sample: their true effects vary around a mean with a variance τ². τ² is estimated by restricted
//! maximum likelihood (Viechtbauer 2005, *Journal of Educational and Behavioral Statistics* 30, 261–293),
//! the mean by weights 1/(vᵢ + τ²). Its interval is Hartung & Knapp's (2001, *Statistics in Medicine* 20, 3875–3889):
//! variance q/Σw with q = Σw(y − μ)²/(k − 1), and Student's t with k − 1 degrees of freedom; q is at least 1, so that
//! units that agree by chance do not have an interval shorter than their own variances allow (Röver, Knapp & Friede
//! 2015, *BMC Medical Research Methodology* 15, 99). The interval of τ is that of the Q-profile (Viechtbauer 2007,
//! *Statistics in Medicine* 26, 37–52), and the prediction interval of a new unit μ ± t(k − 2)·√(τ² + q/Σw) (Higgins,
//! Thompson & Spiegelhalter 2009, *JRSS A* 172, 137–159; Partlett & Riley 2017, *Statistics in Medicine* 36, 301–317).

use crate::bootstrap::WithinTasks;
use crate::estimate::FEWEST_UNITS;
use crate::heterogeneity::chi_squared;
use crate::interval::Interval;
use crate::paired_task::PairedTask;
use crate::quantile::student_tail;
use crate::sample::{Sample, order};

/// The probability outside each end of an interval.
const TAIL: f64 = 0.025;

/// The effect of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitEffect {
    /// Its estimate.
    pub effect: f64,
    /// The variance of the estimate, above 0.
    pub variance: f64,
}

impl UnitEffect {
    /// The lift of a unit whose tasks are a sample, such as a skill: variance max(s², s̃²)/n, that of the default interval.
    /// `None` under five tasks or effective clusters.
    pub fn of_sample(tasks: &[PairedTask]) -> Option<UnitEffect> {
        let sample = Sample::of(tasks);
        let moments = sample.moments();
        let variance = moments.variance().max(moments.shrunk(moments.n)) / moments.n;
        sample.has(FEWEST_UNITS).then_some(UnitEffect { effect: moments.mean, variance })
    }

    /// The lift of a unit on given tasks, such as a model whose tasks are those of the other models: the variance is that
    /// of its trials alone, as in [`crate::within_tasks_interval`]. `None` if no task has trials under both arms.
    pub fn of_fixed_tasks(tasks: &[PairedTask]) -> Option<UnitEffect> {
        WithinTasks::of(tasks).map(|within| UnitEffect { effect: within.lift, variance: within.variance })
    }
}

/// The estimate over units.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomEffects {
    /// The mean of the units' true effects.
    pub mean: f64,
    /// Its 95% interval.
    pub interval: Interval,
    /// The standard deviation of the true effects.
    pub tau: f64,
    /// Its 95% interval; `None` if the units agree better than their variances explain, so that every τ is rejected.
    pub tau_interval: Option<Interval>,
    /// The 95% prediction interval of the true effect of a new unit; `None` under three units.
    pub prediction: Option<Interval>,
    /// The effect of each unit, shrunk towards the mean by τ²/(τ² + v), in their order.
    pub shrunk: Vec<f64>,
}

/// The estimate over units. `None` under two, and if an effect or a variance is not a number above 0.
pub fn random_effects(units: &[UnitEffect]) -> Option<RandomEffects> {
    let is_usable =
        |unit: &UnitEffect| unit.effect.is_finite() && unit.variance.is_finite() && unit.variance > 0.0;
    if units.len() < 2 || !units.iter().all(is_usable) {
        return None;
    }
    let fit = Fit::of(units);
    let freedom = units.len() as f64 - 1.0;
    let between = fit.reml();
    let Weighed { mean, total, q, .. } = fit.weighed(between);
    let error = ((q / freedom).max(1.0) / total).sqrt();
    let around = |half: f64| Interval { low: mean - half, high: mean + half };
    let prediction = student_tail(freedom - 1.0, TAIL);
    Some(RandomEffects {
        mean,
        interval: around(student_tail(freedom, TAIL)? * error),
        tau: between.sqrt(),
        tau_interval: fit.tau_interval(freedom),
        prediction: prediction.map(|quantile| around(quantile * (between + error * error).sqrt())),
        shrunk: units
            .iter()
            .map(|unit| mean + between / (between + unit.variance) * (unit.effect - mean))
            .collect(),
    })
}

/// The units in order, so that sums do not depend on theirs.
struct Fit(Vec<UnitEffect>);

/// Sums at one τ².
struct Weighed {
    mean: f64,
    /// Σw.
    total: f64,
    /// Σw².
    squares: f64,
    /// Σw(y − μ)².
    q: f64,
    /// Σw²(y − μ)².
    score: f64,
}

impl Fit {
    fn of(units: &[UnitEffect]) -> Fit {
        let mut units = units.to_vec();
        units.sort_by(|one, other| order(&[one.effect, one.variance], &[other.effect, other.variance]));
        Fit(units)
    }

    fn weighed(&self, between: f64) -> Weighed {
        let weight = |unit: &UnitEffect| 1.0 / (unit.variance + between);
        let sum = |of: &dyn Fn(&UnitEffect) -> f64| self.0.iter().map(of).sum::<f64>();
        let total = sum(&weight);
        let mean = sum(&|unit| weight(unit) * unit.effect) / total;
        Weighed {
            mean,
            total,
            squares: sum(&|unit| weight(unit).powi(2)),
            q: sum(&|unit| weight(unit) * (unit.effect - mean).powi(2)),
            score: sum(&|unit| (weight(unit) * (unit.effect - mean)).powi(2)),
        }
    }

    /// The τ² at which the derivative of the restricted likelihood, ½(Σw²(y − μ)² − Σw + Σw²/Σw), is 0; 0 if it falls
    /// from there.
    fn reml(&self) -> f64 {
        let slope = |between: f64| {
            let Weighed { total, squares, score, .. } = self.weighed(between);
            score - total + squares / total
        };
        if slope(0.0) <= 0.0 {
            return 0.0;
        }
        let far = self.largest();
        bisect(far, |between| slope(between) > 0.0)
    }

    /// A variance above every one that the data could have.
    fn largest(&self) -> f64 {
        let [low, high] = [self.0.first(), self.0.last()].map(|unit| unit.map_or(0.0, |unit| unit.effect));
        let variances = self.0.iter().map(|unit| unit.variance).fold(0.0, f64::max);
        1e4 * ((high - low).powi(2) + variances)
    }

    /// All τ² at which Q is within the central 95% of χ²(k − 1). Q falls as τ² grows.
    fn tau_interval(&self, freedom: f64) -> Option<Interval> {
        let [most, least] = [chi_squared(freedom, 1.0 - TAIL)?, chi_squared(freedom, TAIL)?];
        let at_none = self.weighed(0.0).q;
        let where_q = |quantile: f64| bisect(self.largest(), |between| self.weighed(between).q > quantile);
        let low = if at_none <= most { 0.0 } else { where_q(most).sqrt() };
        (at_none > least).then(|| Interval { low, high: where_q(least).sqrt() })
    }
}

/// The number from 0 to `far` at which `is_below` ends.
fn bisect(far: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, far);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(effects: &[f64], variances: &[f64]) -> Vec<UnitEffect> {
        effects.iter().zip(variances).map(|(&effect, &variance)| UnitEffect { effect, variance }).collect()
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 2e-7, "{found} is not {expected}");
    }

    /// The values of scipy 1.x: the restricted likelihood by bounded minimization, Q by Brent's method.
    #[test]
    fn six_units_equal_an_independent_implementation() {
        let units =
            units(&[0.30, 0.12, -0.05, 0.44, 0.21, 0.02], &[0.010, 0.021, 0.008, 0.035, 0.004, 0.016]);
        let found = random_effects(&units).unwrap();
        close(found.mean, 0.155_582_075);
        close(found.interval.low, -0.020_347_247);
        close(found.interval.high, 0.331_511_398);
        close(found.tau, 0.120_588_419);
        let tau = found.tau_interval.unwrap();
        close(tau.low, 0.0);
        close(tau.high, 0.421_465_130);
        close(found.prediction.unwrap().low, -0.229_389_147);
        close(found.prediction.unwrap().high, 0.540_553_298);
        let expected =
            [0.241_153_747, 0.141_023_935, 0.022_961_060, 0.239_065_149, 0.198_260_340, 0.091_028_223];
        found.shrunk.iter().zip(expected).for_each(|(found, expected)| close(*found, expected));
    }

    /// q is .007: the interval is that of q = 1, t(2)·√(1/183.3).
    #[test]
    fn units_that_agree_have_no_shorter_interval_than_their_variances() {
        let found = random_effects(&units(&[0.1, 0.12, 0.11], &[0.01, 0.02, 0.03])).unwrap();
        close(found.mean, 0.107_272_727);
        close(found.interval.low, -0.210_499_237);
        assert_eq!((found.tau, found.tau_interval), (0.0, None));
        found.shrunk.iter().for_each(|shrunk| close(*shrunk, found.mean));
    }

    /// With equal variances everything has a closed form: τ² = s² − v, and the mean's variance is s²/k.
    #[test]
    fn equal_variances_have_a_closed_form() {
        let found = random_effects(&units(&[0.0, 0.3, 0.6, 0.9], &[0.05; 4])).unwrap();
        // s² = .15.
        close(found.mean, 0.45);
        close(found.tau, 0.1_f64.sqrt());
        close(found.interval.high, 0.45 + 3.182_446_305 * (0.15_f64 / 4.0).sqrt());
    }

    #[test]
    fn too_few_units_and_impossible_variances_give_none() {
        for (effects, variances) in [
            (&[0.1][..], &[0.1][..]),
            (&[], &[]),
            (&[0.1, 0.2], &[0.1, 0.0]),
            (&[0.1, f64::NAN], &[0.1, 0.1]),
        ] {
            assert_eq!(random_effects(&units(effects, variances)), None, "{effects:?} {variances:?}");
        }
        assert_eq!(random_effects(&units(&[0.1, 0.3], &[0.1, 0.1])).unwrap().prediction, None);
    }

    /// Five tasks of one trial: differences 1, 1, 0, 0, 1 with s² = .3, v₀ = ½ and s̃² = (4·.3 + 2·½)/6 = 11/30. On these
    /// tasks each arm has ¼ a trial: ṽ = (5·½ + 2·½)/7 = ½.
    #[test]
    fn variances_of_units_by_hand() {
        let task = |passed: f64| PairedTask { arm: vec![passed], base: vec![0.0], cluster: None };
        let tasks: Vec<PairedTask> = [1.0, 1.0, 0.0, 0.0, 1.0].map(task).into();
        let found = UnitEffect::of_sample(&tasks).unwrap();
        close(found.effect, 0.6);
        close(found.variance, 11.0 / 150.0);
        assert_eq!(UnitEffect::of_sample(&tasks[..4]), None);
        let fixed = UnitEffect::of_fixed_tasks(&tasks).unwrap();
        close(fixed.effect, 0.6);
        close(fixed.variance, 0.1);
        assert_eq!(UnitEffect::of_fixed_tasks(&[]), None);
    }
}
