//! Prediction of a sum of further values.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::Interval;

/// The 95% prediction interval of the sum of `count` further values like the given ones, which are
/// not negative: n·m ± t·s·√(n + n²/k) for k values of mean m and standard deviation s, t with
/// k − 1 degrees of freedom (Hahn & Meeker, "Statistical Intervals", 1991, section 4.8, times n).
/// The lower end is at least 0.
///
/// Values that are not finite are left out. `None` with fewer than two values.
pub fn predicted_sum(values: &[f64], count: usize) -> Option<Interval> {
    let mut kept: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    kept.sort_by(f64::total_cmp);
    let known = kept.len() as f64;
    if kept.len() < 2 {
        return None;
    }
    let mean = kept.iter().sum::<f64>() / known;
    let variance = kept.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (known - 1.0);
    let quantile = StudentsT::new(0.0, 1.0, known - 1.0).ok()?.inverse_cdf(0.975);
    let further = count as f64;
    let half = quantile * (variance * (further + further * further / known)).sqrt();
    Some(Interval { low: (further * mean - half).max(0.0), high: further * mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // m = 2, s = 1, k = 3, t(2, .975) = 4.302653: 20 ± 4.302653·√(10 + 100/3).
        let found = predicted_sum(&[1.0, 3.0, 2.0], 10);
        let half = 4.302_652_73 * (10.0_f64 + 100.0 / 3.0).sqrt();
        assert!(found.is_some_and(|found| found.low == 0.0 && (found.high - 20.0 - half).abs() < 1e-6));
        let equal = predicted_sum(&[0.5; 4], 6);
        assert!(equal.is_some_and(|found| (found.low - 3.0).abs() + (found.high - 3.0).abs() < 1e-12));
        assert_eq!(predicted_sum(&[1.0], 3), None);
        assert_eq!(predicted_sum(&[1.0, f64::NAN], 3), None);
    }
}
