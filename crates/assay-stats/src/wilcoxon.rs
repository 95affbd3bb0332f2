//! Wilcoxon's signed-rank test.

use statrs::function::erf::erfc;

/// Up to this many differences the distribution is exact. At 200 it has 200 × 201 cells, filled 200
/// times.
const EXACT: usize = 200;

/// Differences closer than this, as a share of the largest, are tied: 1/3 − 2/3 and 0 − 1/3 differ
/// by a bit.
const TIE: f64 = 1e-9;

/// Wilcoxon's signed-rank test, two-sided, with Pratt's (1959) treatment of zeros.
///
/// Zeros are ranked and then left out. Ties get mid-ranks, and the distribution is that of the
/// mid-ranks: exact up to 200 differences, the normal with the same mean and variance above. p is
/// twice the smaller tail, at most 1. Differences that are not finite are dropped; `None` if none
/// remain; 1 if all are 0.
pub fn wilcoxon(differences: &[f64]) -> Option<f64> {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite()).collect();
    let largest = kept.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    if kept.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(&kept, largest);
    let total: u64 = ranks.iter().map(|(rank, _)| rank).sum();
    let positive: u64 = ranks.iter().filter(|(_, positive)| *positive).map(|(rank, _)| rank).sum();
    let larger = positive.max(total - positive);
    if larger == total - larger {
        return Some(1.0);
    }
    let ranks: Vec<u64> = ranks.into_iter().map(|(rank, _)| rank).collect();
    let p = if kept.len() <= EXACT { exact(&ranks, total, larger) } else { normal(&ranks, total, larger) };
    Some(p.clamp(f64::MIN_POSITIVE, 1.0))
}

/// Twice the mid-rank of each difference that is not 0, with whether it is above 0. Doubled ranks
/// are whole numbers.
fn doubled_ranks(differences: &[f64], largest: f64) -> Vec<(u64, bool)> {
    if largest == 0.0 {
        return Vec::new();
    }
    let mut scaled: Vec<f64> = differences.iter().map(|d| d / largest).collect();
    scaled.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    let mut ranks = Vec::with_capacity(scaled.len());
    let mut start = 0;
    while start < scaled.len() {
        let first = scaled[start].abs();
        let zero = first <= TIE;
        let tied = scaled[start..].iter().take_while(|d| d.abs() - first <= TIE).count();
        // Ranks start + 1 to start + tied: their mean is start + (tied + 1)/2.
        let doubled = (2 * start + tied + 1) as u64;
        if !zero {
            ranks.extend(scaled[start..start + tied].iter().map(|d| (doubled, *d > 0.0)));
        }
        start += tied;
    }
    ranks
}

/// Twice P(W ≥ `larger`) where each rank is in the sum with probability ½.
fn exact(ranks: &[u64], total: u64, larger: u64) -> f64 {
    // Ranks are at most 2 × 200 each, so all these are small.
    let index = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let mut probability = vec![0.0_f64; index(total) + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        let rank = index(rank);
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = 0.5 * (probability[sum] + with);
        }
    }
    // From the far end inwards: the smallest first.
    2.0 * probability[index(larger)..].iter().rev().sum::<f64>()
}

/// The normal approximation; the variance Σ(rank/2)² includes the corrections for ties and for
/// zeros.
fn normal(ranks: &[u64], total: u64, larger: u64) -> f64 {
    let variance: f64 = ranks.iter().map(|&rank| (rank as f64).powi(2)).sum();
    // In doubled ranks: (W − T/2) / √(Σ rank²/4).
    let z = (2.0 * larger as f64 - total as f64) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2)
}
