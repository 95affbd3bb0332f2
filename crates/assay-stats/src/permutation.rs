//! Sign-flip permutation test and Holm's correction.

use rand::Rng;

use crate::random::{Purpose, stream};

/// Up to this many differences all sign patterns are counted.
pub(crate) const EXACT: usize = 20;

/// Random sign patterns above that.
pub(crate) const DRAWS: usize = 99_999;

/// Sums closer than this, of numbers with an absolute sum of 1, are one sum: 1/3 − 2/3 and 0 − 1/3
/// differ by a bit.
const TIE: f64 = 1e-10;

/// The two-sided sign-flip permutation test on the mean of task differences.
///
/// p is the share of sign patterns whose |mean| is at least the observed one. Up to 20 differences
/// all 2^n patterns are counted; above, 99,999 are drawn under `seed` and p = (b + 1)/(B + 1)
/// (Phipson & Smyth 2010). Differences that are not finite are dropped; `None` if none remain; 1 if
/// all are 0.
pub fn sign_flip(differences: &[f64], seed: u64) -> Option<f64> {
    let largest = differences.iter().filter(|d| d.is_finite()).fold(0.0_f64, |most, d| most.max(d.abs()));
    let mut kept: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite()).collect();
    if kept.is_empty() {
        return None;
    }
    if largest == 0.0 {
        return Some(1.0);
    }
    for difference in &mut kept {
        *difference /= largest;
    }
    // By magnitude: then the order of the tasks, and the sign of all of them, cannot move a draw.
    kept.sort_by(|one, other| one.abs().total_cmp(&other.abs()).then(one.total_cmp(other)));
    let magnitudes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let tie = TIE * magnitudes.iter().sum::<f64>();
    let observed = kept.iter().sum::<f64>().abs() - tie;
    if observed <= 0.0 {
        return Some(1.0);
    }
    Some(if kept.len() <= EXACT { exact(&magnitudes, observed) } else { drawn(&magnitudes, observed, seed) })
}

/// Share of all sign patterns with |sum| ≥ `observed`, which is above 0.
///
/// The sums of either half of the numbers are listed, and pairs of them counted in sorted order, so
/// that 2^n patterns take 2^(n/2) steps.
fn exact(magnitudes: &[f64], observed: f64) -> f64 {
    let (one, other) = magnitudes.split_at(magnitudes.len() / 2);
    let one = signed_sums(one);
    let mut other = signed_sums(other);
    other.sort_by(f64::total_cmp);
    let above: usize =
        one.iter().map(|sum| other.len() - other.partition_point(|o| sum + o < observed)).sum();
    // The distribution is symmetric: as many patterns are below −observed.
    2.0 * above as f64 / (one.len() as f64 * other.len() as f64)
}

/// The sums of all sign patterns; the pattern's bits index them.
fn signed_sums(magnitudes: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for magnitude in magnitudes {
        let flipped: Vec<f64> = sums.iter().map(|s| s - magnitude).collect();
        for sum in &mut sums {
            *sum += magnitude;
        }
        sums.extend(flipped);
    }
    sums
}

fn drawn(magnitudes: &[f64], observed: f64, seed: u64) -> f64 {
    let mut random = stream(seed, Purpose::SignFlip, 0);
    // One byte of the stream gives the signs of eight differences at once.
    let tables: Vec<Vec<f64>> = magnitudes.chunks(8).map(signed_sums).collect();
    let mut extreme = 0_usize;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for words in tables.chunks(8) {
            let bytes = random.next_u64().to_le_bytes();
            for (table, byte) in words.iter().zip(bytes) {
                sum += table[usize::from(byte) & (table.len() - 1)];
            }
        }
        extreme += usize::from(sum.abs() >= observed);
    }
    (extreme + 1) as f64 / (DRAWS + 1) as f64
}

/// Holm's (1979) step-down adjusted p-values, in the order given.
///
/// An invalid probability counts as 1: a comparison without a p-value still belongs to its family.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let probability = |p: f64| if (0.0..=1.0).contains(&p) { p } else { 1.0 };
    let mut ascending: Vec<usize> = (0..p.len()).collect();
    ascending.sort_by(|&one, &other| probability(p[one]).total_cmp(&probability(p[other])));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, &at) in ascending.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * probability(p[at])).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}
