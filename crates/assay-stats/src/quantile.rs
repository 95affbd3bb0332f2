//! Quantiles of the distributions the intervals rest on, and of samples.
//!
//! Quantiles are taken by their tail probability, not by 1 − tail: a family of a million
//! comparisons has a tail that 1 − tail would round away. Each is found by Newton's method or
//! bisection inside a bracket with a bounded number of steps, so that no input makes it wander.

use statrs::function::beta::checked_beta_reg;
use statrs::function::erf::erfc_inv;
use statrs::function::gamma::ln_gamma;

/// Above this many degrees of freedom the expansion around the normal is used.
const EXPANSION: f64 = 1000.0;

/// The standard normal's value with probability `tail` above it. `None` unless 0 < `tail` < 1/2.
pub fn normal_tail(tail: f64) -> Option<f64> {
    (tail > 0.0 && tail < 0.5).then(|| std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail))
}

/// Student's t with `df` degrees of freedom: the value with probability `tail` above it.
///
/// `None` unless `df` ≥ 1 and 0 < `tail` < 1/2. Above 1000 degrees of freedom by the expansion
/// around the normal (Abramowitz and Stegun 1964, 26.7.5, four terms), below by Newton's method on
/// the logarithms.
pub(crate) fn student_tail(df: f64, tail: f64) -> Option<f64> {
    let z = normal_tail(tail)?;
    if !df.is_finite() || df < 1.0 {
        return None;
    }
    if df > EXPANSION {
        let square = z * z;
        let first = z * (square + 1.0) / 4.0;
        let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
        let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
        let fourth = (((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0;
        let fourth = z * fourth / 92_160.0;
        return Some(z + (first + (second + (third + fourth / df) / df) / df) / df);
    }
    let above = |t: f64| 0.5 * checked_beta_reg(0.5 * df, 0.5, df / (df + t * t)).unwrap_or(0.0);
    // The upper tail falls to 0 as t grows, so doubling ends; the bound is for the reader.
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..1100 {
        if above(high) <= tail {
            break;
        }
        low = high;
        high *= 2.0;
    }
    let scale = ln_gamma(0.5 * (df + 1.0)) - ln_gamma(0.5 * df) - 0.5 * (df * std::f64::consts::PI).ln();
    let mut t = 0.5 * (low + high);
    for _ in 0..200 {
        let here = above(t);
        if here > tail {
            low = t;
        } else {
            high = t;
        }
        // In ln t the logarithm of the tail is close to a straight line of slope −t·density/tail.
        let density = (scale - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp();
        let step = here * (here / tail).ln() / (t * density);
        let mut next = t * step.exp();
        if !(next > low && next < high) {
            next = 0.5 * (low + high);
        }
        if (next - t).abs() <= 1e-13 * t {
            return Some(next);
        }
        t = next;
    }
    Some(t)
}

/// The beta distribution's value with probability `below` under it, by bisection.
///
/// For positive shapes; the end of the range nearest to the answer if the function cannot be
/// evaluated.
pub(crate) fn beta_quantile(a: f64, b: f64, below: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if checked_beta_reg(a, b, middle).is_ok_and(|p| p < below) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The `q` quantile of ascending values, linear between order statistics (Hyndman & Fan 1996, type
/// 7).
pub fn sample_quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    // Between 0 and `last`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a floor within the slice")]
    let below = (position.floor() as usize).min(last);
    let low = ascending[below];
    let high = ascending[(below + 1).min(last)];
    Some(low + (position - below as f64) * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles as scipy has them, to `tolerance` of their size.
    #[track_caller]
    fn check(got: Option<f64>, expected: f64, tolerance: f64, case: &str) {
        let got = got.expect("a quantile");
        assert!((got - expected).abs() <= tolerance * expected.abs(), "{case}: {got} for {expected}");
    }

    fn reference(name: &str) -> Vec<Vec<f64>> {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../tests/reference/reference.json")).unwrap();
        serde_json::from_value(all[name].clone()).unwrap()
    }

    #[test]
    fn normal_and_student_agree_with_scipy() {
        for case in reference("normal") {
            check(normal_tail(case[0]), case[1], 1e-11, &format!("normal {case:?}"));
        }
        for case in reference("student") {
            check(student_tail(case[0], case[1]), case[2], 1e-9, &format!("t {case:?}"));
        }
    }

    #[test]
    fn invalid_tail_gives_none() {
        for tail in [0.0, 0.5, 0.7, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(normal_tail(tail), None);
            assert_eq!(student_tail(9.0, tail), None);
        }
        for df in [0.0, 0.5, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(student_tail(df, 0.025), None);
        }
    }

    #[test]
    fn far_tails_are_finite_and_grow() {
        for df in [1.0, 1.5, 4.0, 900.0, 1e5] {
            let mut last = 0.0;
            for exponent in 1..30 {
                let t = student_tail(df, 0.3 * 10.0_f64.powi(-exponent)).unwrap();
                assert!(t.is_finite() && t > last, "df {df}, 1e-{exponent}: {t} after {last}");
                last = t;
            }
        }
    }

    #[test]
    fn sample_quantiles_are_between_order_statistics() {
        // Position .95 × 4 = 3.8: 4 + .8 × (8 − 4).
        let ascending = [0.0, 1.0, 2.0, 4.0, 8.0];
        assert!((sample_quantile(&ascending, 0.95).unwrap() - 7.2).abs() < 1e-12);
        assert_eq!(sample_quantile(&ascending, 0.0), Some(0.0));
        assert_eq!(sample_quantile(&ascending, 1.0), Some(8.0));
        assert_eq!(sample_quantile(&[3.0], 0.5), Some(3.0));
        assert_eq!(sample_quantile(&[], 0.5), None);
    }
}
