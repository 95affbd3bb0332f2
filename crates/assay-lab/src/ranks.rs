//! Whether two benchmarks put systems in the same order.

use std::cmp::Ordering;

use assay_stats::Interval;
use assay_stats::random::{Purpose, normal, stream};
use assay_stats::sample::tail_of;
use assay_stats::sample_quantile;

/// Draws of the interval.
const DRAWS: usize = 10_000;

/// Figures of some systems, with their uncertainty.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// One a system.
    pub means: Vec<f64>,
    /// Their covariance, which includes the common effect of the questions.
    pub covariance: Vec<Vec<f64>>,
}

/// How far two orders agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankAgreement {
    /// Spearman's ρ.
    pub spearman: f64,
    /// Interval of ρ.
    pub spearman_interval: Option<Interval>,
    /// Kendall's τ-b.
    pub kendall: f64,
    /// Interval of τ-b.
    pub kendall_interval: Option<Interval>,
}

/// Spearman's ρ: the correlation of ranks, equal values sharing the mean of their ranks (Spearman
/// 1904). `None` under two pairs, for lists of different lengths, and if all values of one list are
/// equal.
pub fn spearman(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.len() != other.len() || one.iter().chain(other).any(|value| !value.is_finite()) {
        return None;
    }
    let (one, other) = (ranks(one), ranks(other));
    let middle = f64::midpoint(one.len() as f64, 1.0);
    let sum = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let spread = (sum(&one, &one) * sum(&other, &other)).sqrt();
    (spread > 0.0).then(|| (sum(&one, &other) / spread).clamp(-1.0, 1.0))
}

/// Kendall's τ-b: pairs in the same order minus pairs in the opposite order, over the geometric
/// mean of the pairs that each list orders (Kendall 1945). `None` as for [`spearman`].
pub fn kendall(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.len() != other.len() || one.iter().chain(other).any(|value| !value.is_finite()) {
        return None;
    }
    let sign = |values: &[f64], a: usize, b: usize| {
        f64::from(i8::from(values[a] > values[b]) - i8::from(values[a] < values[b]))
    };
    let (mut sum, mut apart, mut others_apart) = (0.0, 0.0, 0.0);
    for a in 0..one.len() {
        for b in a + 1..one.len() {
            let (own, theirs) = (sign(one, a, b), sign(other, a, b));
            sum += own * theirs;
            apart += own.abs();
            others_apart += theirs.abs();
        }
    }
    (apart > 0.0 && others_apart > 0.0).then(|| sum / f64::sqrt(apart * others_apart))
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal =
            values.iter().filter(|other| other.partial_cmp(&value).is_some_and(Ordering::is_eq)).count()
                as f64;
        below + f64::midpoint(equal, 1.0)
    };
    values.iter().map(rank).collect()
}

/// The correlation of two orders of the same systems, with intervals at `level` for another set of
/// questions of the same kinds: both lists of means are drawn 10,000 times from the normal
/// distributions with their covariances. The systems themselves stay fixed.
///
/// `None` under two systems, if all values of a list are equal, and if means and covariance differ
/// in size.
pub fn rank_agreement(one: &Figures, other: &Figures, level: f64, seed: u64) -> Option<RankAgreement> {
    let tail = tail_of(level)?;
    let (own, others) = (root(one)?, root(other)?);
    let estimate = (spearman(&one.means, &other.means)?, kendall(&one.means, &other.means)?);
    let mut random = stream(seed, Purpose::RankAgreement, 0);
    let mut draw = |figures: &Figures, root: &[Vec<f64>]| -> Vec<f64> {
        let noise: Vec<f64> = root.iter().map(|_| normal(&mut random)).collect();
        let moved =
            |row: &Vec<f64>| row.iter().zip(&noise).map(|(weight, noise)| weight * noise).sum::<f64>();
        figures.means.iter().zip(root).map(|(mean, row)| mean + moved(row)).collect()
    };
    let (mut rho, mut tau) = (Vec::with_capacity(DRAWS), Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let (one, other) = (draw(one, &own), draw(other, &others));
        rho.extend(spearman(&one, &other));
        tau.extend(kendall(&one, &other));
    }
    let interval = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        Some(Interval { low: sample_quantile(&values, tail)?, high: sample_quantile(&values, 1.0 - tail)? })
    };
    Some(RankAgreement {
        spearman: estimate.0,
        spearman_interval: interval(rho),
        kendall: estimate.1,
        kendall_interval: interval(tau),
    })
}

/// The lower triangle L with L·Lᵀ the covariance (Cholesky); a pivot of nothing, as equal systems
/// have it, gives a column of zeros.
fn root(figures: &Figures) -> Option<Vec<Vec<f64>>> {
    let (n, covariance) = (figures.means.len(), &figures.covariance);
    if covariance.len() != n || covariance.iter().any(|row| row.len() != n) {
        return None;
    }
    let mut root = vec![vec![0.0; n]; n];
    for row in 0..n {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| root[row][k] * root[column][k]).sum();
            let rest = covariance[row][column] - known;
            let pivot: f64 = root[column][column];
            root[row][column] = match (row == column, pivot > 0.0) {
                (true, _) => rest.max(0.0).sqrt(),
                (false, true) => rest / pivot,
                (false, false) => 0.0,
            };
            // A variance of the size of rounding errors counts as 0.
            if row == column && root[row][row] < 1e-9 * covariance[row][row].max(0.0).sqrt() {
                root[row][row] = 0.0;
            }
        }
    }
    root.iter().flatten().all(|value| value.is_finite()).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_by_hand() {
        let check = |one: &[f64], other: &[f64], expected: Option<(f64, f64)>| match (
            spearman(one, other).zip(kendall(one, other)),
            expected,
        ) {
            (Some(found), Some(expected)) => {
                let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
                assert!(
                    near(found.0, expected.0) && near(found.1, expected.1),
                    "{one:?} {other:?}: {found:?}"
                );
            }
            (found, expected) => assert_eq!(found, expected, "{one:?} {other:?}"),
        };
        check(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], Some((1.0, 1.0)));
        check(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], Some((-1.0, -1.0)));
        // ρ = 1 − 6·Σd²/(n(n² − 1)) with d = 0, 1, −1, 0: 1 − 12/60; five of six pairs agree.
        check(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0], Some((0.8, 4.0 / 6.0)));
        // scipy 1.17.1: spearmanr and kendalltau of [1, 2, 2, 4] and [3, 1, 4, 5].
        check(
            &[1.0, 2.0, 2.0, 4.0],
            &[3.0, 1.0, 4.0, 5.0],
            Some((3.0 / (4.5_f64 * 5.0).sqrt(), 3.0 / (5.0_f64 * 6.0).sqrt())),
        );
        check(&[1.0, 1.0], &[1.0, 2.0], None);
        check(&[1.0], &[1.0], None);
        check(&[1.0, 2.0], &[1.0], None);
        check(&[1.0, f64::NAN], &[1.0, 2.0], None);
    }

    #[test]
    fn rank_agreement_width_reflects_uncertainty() {
        let figures = |means: &[f64], variance: f64, shared: f64| Figures {
            means: means.to_vec(),
            covariance: (0..means.len())
                .map(|row| {
                    (0..means.len()).map(|column| if row == column { variance } else { shared }).collect()
                })
                .collect(),
        };
        let agreement = |variance: f64, shared: f64| {
            let (one, other) =
                (figures(&[0.1, 0.2, 0.3], variance, shared), figures(&[0.5, 0.6, 0.7], variance, shared));
            rank_agreement(&one, &other, 0.95, 1).unwrap()
        };
        let sure = agreement(0.0, 0.0);
        assert_eq!((sure.spearman, sure.kendall), (1.0, 1.0));
        assert_eq!(sure.spearman_interval, Some(Interval { low: 1.0, high: 1.0 }));
        let unsure = agreement(0.01, 0.0);
        assert!(unsure.kendall_interval.unwrap().low < 0.0, "{unsure:?}");
        // A shift of all systems does not change an order.
        let together = agreement(0.01, 0.01);
        assert_eq!(together.kendall_interval, Some(Interval { low: 1.0, high: 1.0 }));
        let bad = Figures { means: vec![1.0, 2.0], covariance: vec![vec![1.0]] };
        assert!(rank_agreement(&bad, &bad, 0.95, 1).is_none());
    }
}
