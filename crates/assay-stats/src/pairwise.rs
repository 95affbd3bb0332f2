//! Which of two results a judge prefers: shares of rows that may be tied, and the win rate at equal
//! length.
//!
//! Judges prefer longer results whatever their quality (Dubois et al. 2024, arXiv 2404.04475). The
//! length-controlled win rate is what a logistic regression of the preference on the length
//! difference predicts for a difference of 0: with y 1 where `a` is preferred, 0 where `b` is and ½
//! for a tie, d the length of `a` less that of `b`, and s the standard deviation of d,
//!
//! logit P(y) = α + φ·tanh(d/s), and the win rate at equal length is 1/(1 + e^−α).
//!
//! It is the model of Dubois et al. for one pair of systems, without their term for the difficulty
//! of the instruction, and by maximum likelihood without a penalty. The estimate does not exist where
//! the length separates preferences (Albert & Anderson 1984); a penalised one would (Firth 1993), but
//! its size would be that of the penalty, so nothing is estimated then.
//!
//! Rows of a task share a cluster. The variance is the linearised cluster jackknife, CV3L, of
//! MacKinnon, Nielsen & Webb (arXiv 2406.00650), with Student's t at k − 1 degrees of freedom for k
//! clusters: (k − 1)/k·Σ dd′ with d = (H − H_g)⁻¹·s_g, H the information, H_g and s_g the part of
//! cluster g in it and in the score. Without clusters each row is one.

use std::collections::BTreeMap;

use crate::interval::Interval;
use crate::judge::{Figure, cluster_variance, clusters, proportion, quantile, wilson};
use crate::quantile::student_tail;

/// Fewest clusters of a length-controlled win rate, and fewest rows without a tie.
const FEWEST: usize = 10;

/// Fewest wins and fewest losses, ties counting half: five for each estimated parameter beside the
/// intercept (Vittinghoff & McCulloch 2007).
const FEWEST_OUTCOMES: f64 = 5.0;

/// Steps of Newton's method. It needs fewer than 10 unless preferences are nearly separated.
const STEPS: usize = 100;

/// Which of two results is preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// The first.
    A,
    /// The second.
    B,
    /// Neither.
    Tie,
}

impl Preference {
    /// What the row adds to the wins of `a`: 1, 0, or ½ for a tie.
    pub fn share(self) -> f64 {
        match self {
            Self::A => 1.0,
            Self::B => 0.0,
            Self::Tie => 0.5,
        }
    }
}

/// A judged pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Which is preferred.
    pub preference: Preference,
    /// The length of `a` less that of `b`, if both are known.
    pub length_difference: Option<f64>,
    /// The task, if pairs of a task are not independent.
    pub cluster: Option<usize>,
}

/// The win rate at equal length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthControl {
    /// The share of wins of `a` at equal length.
    pub win_rate: Figure,
    /// φ: how much the log odds of `a` rise from equal length to a difference of many standard
    /// deviations. Positive where longer results are preferred.
    pub coefficient: Figure,
}

/// Why there is no win rate at equal length.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LengthControlError {
    /// Lengths are unknown, of so many pairs.
    #[error("the lengths of {0} pairs are unknown")]
    NoLengths(usize),
    /// Too little to estimate two parameters.
    #[error(
        "too few pairs: {clusters} clusters, {decided} pairs without a tie, {wins} wins and {losses} losses with ties \
         as halves; at least {FEWEST}, {FEWEST}, {FEWEST_OUTCOMES} and {FEWEST_OUTCOMES} are needed"
    )]
    FewPairs {
        /// Clusters, or pairs if there are none.
        clusters: usize,
        /// Pairs without a tie.
        decided: usize,
        /// Wins of `a`, ties counting half.
        wins: f64,
        /// Its losses, ties counting half.
        losses: f64,
    },
    /// All differences of lengths are equal.
    #[error("the length difference is the same in all pairs")]
    EqualLengths,
    /// Above some difference all pairs are won, and below all are lost, or the other way round.
    #[error("the length difference separates wins from losses")]
    Separated,
    /// One cluster decides nearly everything.
    #[error("one cluster has nearly all the information, or lengths nearly separate wins from losses")]
    Unstable,
}

/// The mean of shares in [0, 1], with an interval that a proportion has.
///
/// Wilson's interval with n = p(1 − p)/V, where V is over clusters and not below that of independent
/// rows, nor below that with one row of each kind more (Agresti & Coull 1998), so that ties do not
/// give an interval of no width. Without a value strictly between 0 and 1 it is
/// [`crate::judge::proportion`]. Shares that are not finite are dropped. `None` without a share.
pub fn mean_share(shares: &[(f64, Option<usize>)]) -> Option<Figure> {
    let kept: Vec<(f64, Option<usize>)> = shares
        .iter()
        .filter(|(share, _)| share.is_finite())
        .map(|(share, cluster)| (share.clamp(0.0, 1.0), *cluster))
        .collect();
    if kept.iter().all(|(share, _)| *share <= 0.0 || *share >= 1.0) {
        return proportion(&kept.iter().map(|(share, cluster)| (*share > 0.5, *cluster)).collect::<Vec<_>>());
    }
    let n = kept.len() as f64;
    let squares = |mean: f64| kept.iter().map(|(share, _)| (share - mean).powi(2)).sum::<f64>();
    let mean = kept.iter().map(|(share, _)| share).sum::<f64>() / n;
    let moved = (mean * n + 1.0) / (n + 2.0);
    let floor = (squares(moved) + moved.powi(2) + (1.0 - moved).powi(2)) / (n + 2.0).powi(2);
    let found = clusters(kept.iter().map(|(_, cluster)| *cluster));
    let clustered = match found {
        None => 0.0,
        Some(_) => cluster_variance(kept.iter().map(|(share, cluster)| (share - mean, *cluster))) / (n * n),
    };
    let variance = clustered.max(squares(mean) / (n * n)).max(floor);
    let interval = quantile(found.into_iter()).map(|t| wilson(mean, variance, t));
    Some(Figure { value: mean, interval })
}

/// The share of wins of `a`, ties counting half. `None` without a pair.
pub fn win_rate(pairs: &[Pair]) -> Option<Figure> {
    mean_share(&pairs.iter().map(|pair| (pair.preference.share(), pair.cluster)).collect::<Vec<_>>())
}

/// A preference in which the shorter result wins a tie; it stays a tie at equal length. `None` for a
/// tie whose lengths are unknown.
pub fn tie_to_shorter(preference: Preference, length_difference: Option<f64>) -> Option<Preference> {
    match (preference, length_difference) {
        (Preference::Tie, None) => None,
        (Preference::Tie, Some(difference)) if difference < 0.0 => Some(Preference::A),
        (Preference::Tie, Some(difference)) if difference > 0.0 => Some(Preference::B),
        (preference, _) => Some(preference),
    }
}

/// The share of wins of `a` if the shorter result wins a tie. `None` without a pair, or if the
/// lengths of a tied pair are unknown.
pub fn win_rate_ties_to_shorter(pairs: &[Pair]) -> Option<Figure> {
    let broken = pairs.iter().map(|pair| {
        let preference = tie_to_shorter(pair.preference, pair.length_difference)?;
        Some((preference.share(), pair.cluster))
    });
    mean_share(&broken.collect::<Option<Vec<_>>>()?)
}

/// The win rate of `a` at equal length, and the effect of length.
///
/// # Errors
///
/// [`LengthControlError`]: lengths are unknown, do not vary or separate preferences, or there are
/// too few pairs.
pub fn length_control(pairs: &[Pair]) -> Result<LengthControl, LengthControlError> {
    let differences: Vec<f64> =
        pairs.iter().filter_map(|pair| pair.length_difference).filter(|d| d.is_finite()).collect();
    if differences.len() < pairs.len() {
        return Err(LengthControlError::NoLengths(pairs.len() - differences.len()));
    }
    check_size(pairs)?;
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let deviation = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    if deviation <= 1e-9 * (1.0 + mean.abs()) {
        return Err(LengthControlError::EqualLengths);
    }
    let rows: Vec<(f64, f64)> = differences
        .iter()
        .zip(pairs)
        .map(|(d, pair)| ((d / deviation).tanh(), pair.preference.share()))
        .collect();
    if is_separated(&rows) {
        return Err(LengthControlError::Separated);
    }
    let fitted = maximize(&rows).ok_or(LengthControlError::Unstable)?;
    let (variances, clusters) =
        jackknife_variances(&rows, pairs, fitted).ok_or(LengthControlError::Unstable)?;
    let t = student_tail(clusters as f64 - 1.0, 0.025).ok_or(LengthControlError::Unstable)?;
    let ends = |at: usize| {
        let half = t * variances[at].sqrt();
        Interval { low: fitted[at] - half, high: fitted[at] + half }
    };
    let intercept = ends(0);
    Ok(LengthControl {
        win_rate: Figure {
            value: logistic(fitted[0]),
            interval: Some(Interval { low: logistic(intercept.low), high: logistic(intercept.high) }),
        },
        coefficient: Figure { value: fitted[1], interval: Some(ends(1)) },
    })
}

fn check_size(pairs: &[Pair]) -> Result<(), LengthControlError> {
    let clusters = clusters(pairs.iter().map(|pair| pair.cluster)).unwrap_or(pairs.len());
    let decided = pairs.iter().filter(|pair| pair.preference != Preference::Tie).count();
    let wins: f64 = pairs.iter().map(|pair| pair.preference.share()).sum();
    let losses = pairs.len() as f64 - wins;
    if clusters < FEWEST || decided < FEWEST || wins.min(losses) < FEWEST_OUTCOMES {
        return Err(LengthControlError::FewPairs { clusters, decided, wins, losses });
    }
    Ok(())
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Whether some point has all wins on one side and all losses on the other. A tie is both.
fn is_separated(rows: &[(f64, f64)]) -> bool {
    let ends = |is_counted: fn(f64) -> bool| {
        let of = rows.iter().filter(|(_, y)| is_counted(*y)).map(|(x, _)| *x);
        of.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (wins, losses) = (ends(|y| y > 0.0), ends(|y| y < 1.0));
    wins.1 <= losses.0 || losses.1 <= wins.0
}

/// A symmetric matrix of two rows: its diagonal, and the other entry.
type Symmetric = [f64; 3];

/// Solves `matrix`·x = `vector`. `None` if the matrix is nearly singular.
fn solve(matrix: Symmetric, vector: [f64; 2]) -> Option<[f64; 2]> {
    let [a, b, c] = matrix;
    let determinant = a * b - c * c;
    (determinant > 1e-10 * a * b).then(|| {
        [(b * vector[0] - c * vector[1]) / determinant, (a * vector[1] - c * vector[0]) / determinant]
    })
}

/// The part of a row in the score and in the information.
fn parts((x, y): (f64, f64), [intercept, slope]: [f64; 2]) -> ([f64; 2], Symmetric) {
    let p = logistic(intercept + slope * x);
    let (residual, weight) = (y - p, p * (1.0 - p));
    ([residual, residual * x], [weight, weight * x * x, weight * x])
}

fn sum_of<const N: usize>(sum: [f64; N], part: [f64; N]) -> [f64; N] {
    std::array::from_fn(|at| sum[at] + part[at])
}

fn log_likelihood(rows: &[(f64, f64)], [intercept, slope]: [f64; 2]) -> f64 {
    let of = |(x, y): &(f64, f64)| {
        let z = intercept + slope * x;
        // −ln(1 + e^z), without overflow.
        y * z - z.max(0.0) - (-z.abs()).exp().ln_1p()
    };
    rows.iter().map(of).sum()
}

/// Intercept and slope of the largest likelihood, by Newton's method with halved steps.
fn maximize(rows: &[(f64, f64)]) -> Option<[f64; 2]> {
    let mut at = [0.0, 0.0];
    let mut height = log_likelihood(rows, at);
    for _ in 0..STEPS {
        let (mut score, mut information) = ([0.0; 2], [0.0; 3]);
        for row in rows {
            let (own_score, own_information) = parts(*row, at);
            score = sum_of(score, own_score);
            information = sum_of(information, own_information);
        }
        let step = solve(information, score)?;
        if step.iter().all(|part| part.abs() < 1e-10) {
            return Some(at);
        }
        let mut length = 1.0;
        let next = loop {
            let next = [at[0] + length * step[0], at[1] + length * step[1]];
            let there = log_likelihood(rows, next);
            // The likelihood is concave: a short enough step never falls, but for rounding.
            if there >= height - 1e-12 * height.abs() {
                height = there;
                break next;
            }
            length /= 2.0;
            if length < 1e-6 {
                return None;
            }
        };
        at = next;
    }
    None
}

/// The variances of intercept and slope by CV3L, and the number of clusters.
fn jackknife_variances(rows: &[(f64, f64)], pairs: &[Pair], fitted: [f64; 2]) -> Option<([f64; 2], usize)> {
    let is_clustered = clusters(pairs.iter().map(|pair| pair.cluster)).is_some();
    let mut by_cluster = BTreeMap::<usize, ([f64; 2], Symmetric)>::new();
    let mut information = [0.0; 3];
    for (at, (row, pair)) in rows.iter().zip(pairs).enumerate() {
        let (own_score, own_information) = parts(*row, fitted);
        let cluster = pair.cluster.filter(|_| is_clustered).unwrap_or(at);
        let (score, part) = by_cluster.entry(cluster).or_default();
        *score = sum_of(*score, own_score);
        *part = sum_of(*part, own_information);
        information = sum_of(information, own_information);
    }
    let k = by_cluster.len();
    let mut squares = [0.0; 2];
    for (score, part) in by_cluster.into_values() {
        let rest = std::array::from_fn(|at| information[at] - part[at]);
        let moved = solve(rest, score)?;
        squares = sum_of(squares, moved.map(|part| part * part));
    }
    Some((squares.map(|sum| sum * (k as f64 - 1.0) / k as f64), k))
}
