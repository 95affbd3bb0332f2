//! Against enumeration of every sign pattern, with ties and zeros.

use assay_stats::{sign_flip, wilcoxon};

/// The share of all 2^n sign patterns for which `extreme` is true.
fn share(n: usize, extreme: impl Fn(&[f64]) -> bool) -> f64 {
    let patterns = 1_u32 << n;
    let holds = (0..patterns).filter(|pattern| {
        let signs: Vec<f64> = (0..n).map(|i| if pattern >> i & 1 == 0 { 1.0 } else { -1.0 }).collect();
        extreme(&signs)
    });
    holds.count() as f64 / f64::from(patterns)
}

/// Mid-ranks by counting: the number of smaller ones plus half of one more than the equal ones. In
/// whole numbers, so that nothing depends on rounding.
fn pratt_ranks(values: &[i32]) -> Vec<f64> {
    let rank = |value: &i32| {
        let smaller = values.iter().filter(|v| v.abs() < value.abs()).count();
        let equal = values.iter().filter(|v| v.abs() == value.abs()).count();
        if *value == 0 { 0.0 } else { smaller as f64 + f64::midpoint(equal as f64, 1.0) }
    };
    values.iter().map(rank).collect()
}

/// Differences in whole steps; the tests divide them by `step`, which binary cannot represent
/// exactly.
const CASES: &[&[i32]] = &[
    &[1],
    &[0, 1],
    &[0, 0, 0, -2],
    &[1, 1],
    &[1, -1],
    &[3, -3, 1, 1, 0, 2],
    &[1, 1, 1, 1, 1],
    &[-1, 1, 1, 1, 1, 0, 0],
    &[3, 2, 2, 1, 0, -1, 1, 3, 2],
    &[1, 2, 3, 4, 5, 6, 7, 8],
    &[-1, 2, -3, 4, -5, 6, -7, 8, 0, 0],
    &[2, 2, 2, -2, 1, 0, 3, 3, -1, 1, 1, 2],
    &[0, 0, 0, 0, 5, -4, 4, 3, 3, 3, -1, 2, 2],
];

#[test]
fn wilcoxon_is_exact_with_ties_and_zeros() {
    for case in CASES {
        let ranks = pratt_ranks(case);
        let signed = |signs: &[f64]| ranks.iter().zip(signs).map(|(r, s)| r * s).sum::<f64>();
        let signs: Vec<f64> = case.iter().map(|v| f64::from(v.signum())).collect();
        let observed = signed(&signs).abs();
        let expected = share(case.len(), |signs| signed(signs).abs() >= observed);
        for step in [1.0, 3.0, 7.0, 10.0] {
            let differences: Vec<f64> = case.iter().map(|&v| f64::from(v) / step).collect();
            let p = wilcoxon(&differences).unwrap();
            assert!((p - expected).abs() < 1e-12, "{case:?} by {step}: {p}, expected {expected}");
        }
    }
}

#[test]
fn sign_flip_is_exact_with_ties_and_zeros() {
    for case in CASES {
        let sum = |signs: &[f64]| case.iter().zip(signs).map(|(&v, s)| f64::from(v) * s).sum::<f64>();
        let observed = sum(&vec![1.0; case.len()]).abs();
        let expected = share(case.len(), |signs| sum(signs).abs() >= observed);
        for step in [1.0, 3.0, 7.0, 10.0] {
            let differences: Vec<f64> = case.iter().map(|&v| f64::from(v) / step).collect();
            let p = sign_flip(&differences, 0).unwrap();
            assert!((p - expected).abs() < 1e-12, "{case:?} by {step}: {p}, expected {expected}");
        }
    }
}

#[test]
fn differences_of_means_tie_with_their_mirror_images() {
    // 1/3 − 2/3, 2/3 − 1 and 0 − 1/3 are all −1/3 but for the last bit. All three of five equal
    // sizes: p = 2/2^5.
    let differences =
        [1.0 / 3.0 - 2.0 / 3.0, 2.0 / 3.0 - 1.0, 0.0 - 1.0 / 3.0, 1.0 / 3.0 - 2.0 / 3.0, -1.0 / 3.0];
    assert_eq!(wilcoxon(&differences), Some(0.0625));
    assert_eq!(sign_flip(&differences, 0), Some(0.0625));
    // A zero that is not quite one is still a zero: .1 + .2 − .3 against 1.
    let nearly = 0.1 + 0.2 - 0.3;
    assert!(nearly != 0.0);
    assert_eq!(wilcoxon(&[nearly, 1.0, 1.0]), wilcoxon(&[0.0, 1.0, 1.0]));
}

#[test]
fn drawn_patterns_approximate_the_exact_share() {
    // 24 differences of one size, 17 above 0: |sum| ≥ 10 is 17 or more of one sign.
    // 2 × Σ C(24, k ≥ 17) / 2^24 = 2 × 536,155 / 16,777,216 = .0639.
    let choose = |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
    let exact = 2.0 * (17..=24).map(|k| choose(24, k)).sum::<f64>() / f64::from(1_u32 << 24);
    let differences: Vec<f64> = (0..24).map(|i| if i < 17 { 0.1 } else { -0.1 }).collect();
    for seed in 0..5 {
        // Four standard errors of a share of 99,999 draws.
        let p = sign_flip(&differences, seed).unwrap();
        let error = (exact * (1.0 - exact) / 99_999.0).sqrt();
        assert!((p - exact).abs() < 4.0 * error, "seed {seed}: {p}, exact {exact}");
    }
    assert_eq!(sign_flip(&differences, 3), sign_flip(&differences, 3));
    assert_ne!(sign_flip(&differences, 3), sign_flip(&differences, 4));
    // Never 0: with all 40 on one side no drawn pattern reaches it, and p = (0 + 1)/(99,999 + 1).
    assert_eq!(sign_flip(&[0.5; 40], 1), Some(1e-5));
}
