//! Properties of every suite.

use assay_stats::{
    PairedTask, VerdictKind, clopper_pearson, holm, interval_p, lift, mde, normalized_gain, rate,
    run_to_run_noise, sign_flip, skillsbench_interval, tasks_needed, verdict, wilcoxon,
    within_tasks_interval,
};
use proptest::prelude::*;

use crate::{suite, trials};

fn arm() -> impl Strategy<Value = Vec<f64>> {
    (1..6_usize, 0..6_usize).prop_map(|(of, passes)| trials(passes.min(of), of))
}

fn tasks(from: usize) -> impl Strategy<Value = Vec<PairedTask>> {
    let task = (arm(), arm(), prop::option::weighted(0.3, 0..9_u64));
    let task = task.prop_map(|(arm, base, cluster)| PairedTask { arm, base, cluster });
    prop::collection::vec(task, from..25)
}

/// A suite with the same suite in another order, repetitions shuffled as well.
fn shuffled() -> impl Strategy<Value = (Vec<PairedTask>, Vec<PairedTask>)> {
    tasks(1).prop_flat_map(|tasks| {
        let other = Just(tasks.clone()).prop_shuffle().prop_map(|mut tasks| {
            for task in &mut tasks {
                task.arm.reverse();
                task.base.reverse();
            }
            tasks
        });
        (Just(tasks), other)
    })
}

fn swapped(tasks: &[PairedTask]) -> Vec<PairedTask> {
    let swap = |t: &PairedTask| PairedTask { arm: t.base.clone(), base: t.arm.clone(), cluster: t.cluster };
    tasks.iter().map(swap).collect()
}

fn differences() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![(-6..=6_i32).prop_map(|i| f64::from(i) / 3.0), -1.0..1.0], 1..24)
}

fn mirrored(kind: VerdictKind) -> VerdictKind {
    match kind {
        VerdictKind::Helps => VerdictKind::Harms,
        VerdictKind::Harms => VerdictKind::Helps,
        other => other,
    }
}

proptest! {
    #[test]
    fn intervals_contain_their_mean_and_nest(tasks in tasks(5), m in 1..9_usize) {
        let wide = lift(&tasks, 0.99).unwrap();
        let narrow = lift(&tasks, 0.8).unwrap();
        if let (Some(wide), Some(narrow)) = (wide.interval, narrow.interval) {
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
        for estimate in [wide, narrow] {
            if let Some(interval) = estimate.interval {
                prop_assert!(interval.low <= estimate.mean && estimate.mean <= interval.high);
            }
        }
        let arms: Vec<Vec<f64>> = tasks.iter().map(|t| t.arm.clone()).collect();
        let rate = rate(&arms, 0.95).unwrap();
        let interval = rate.interval.unwrap();
        prop_assert!(0.0 <= interval.low && interval.low <= rate.mean);
        prop_assert!(rate.mean <= interval.high && interval.high <= 1.0);
        // Apart from the term for the margin the equivalence interval is inside the other, and a
        // larger family widens both.
        let (one, more) = (verdict(&tasks, m, 1e-15, None), verdict(&tasks, m + 1, 1e-15, None));
        if let (Some(outer), Some(inner), Some(wider)) = (one.interval, one.equivalence, more.interval) {
            prop_assert!(outer.low <= inner.low + 1e-12 && inner.high <= outer.high + 1e-12);
            prop_assert!(wider.low <= outer.low && outer.high <= wider.high);
        }
    }

    /// The printed p agrees with the verdict.
    #[test]
    fn p_agrees_with_the_verdict(tasks in tasks(5), m in 1..9_usize) {
        let said = verdict(&tasks, m, 0.1, None);
        let p = interval_p(&tasks);
        prop_assert_eq!(p.is_some(), said.interval.is_some());
        if let (Some(p), Some(interval)) = (p, said.interval) {
            prop_assert!(p > 0.0 && p <= 1.0);
            let adjusted = (p * m as f64).min(1.0);
            // At the level itself either may win by rounding.
            if (adjusted - 0.05).abs() > 1e-9 {
                prop_assert_eq!(adjusted <= 0.05, interval.excludes_zero(), "p {} of {:?}", adjusted, interval);
            }
        }
    }

    #[test]
    fn order_changes_nothing((tasks, other) in shuffled(), m in 1..5_usize) {
        prop_assert_eq!(lift(&tasks, 0.95), lift(&other, 0.95));
        prop_assert_eq!(verdict(&tasks, m, 0.1, None), verdict(&other, m, 0.1, None));
        prop_assert_eq!(normalized_gain(&tasks, 0.95), normalized_gain(&other, 0.95));
        prop_assert_eq!(mde(&tasks, m), mde(&other, m));
        prop_assert_eq!(within_tasks_interval(&tasks, 0.95), within_tasks_interval(&other, 0.95));
    }

    #[test]
    fn swapping_the_arms_mirrors_the_answer(tasks in tasks(1), m in 1..5_usize, margin in 0.05..0.5) {
        let back = swapped(&tasks);
        let (one, other) = (lift(&tasks, 0.95).unwrap(), lift(&back, 0.95).unwrap());
        prop_assert!((one.mean + other.mean).abs() < 1e-12);
        if let (Some(one), Some(other)) = (one.interval, other.interval) {
            prop_assert!((one.low + other.high).abs() < 1e-9 && (one.high + other.low).abs() < 1e-9);
        }
        let (one, other) = (verdict(&tasks, m, margin, None), verdict(&back, m, margin, None));
        prop_assert_eq!(one.kind, mirrored(other.kind));
        prop_assert_eq!(one.reason, other.reason);
    }

    #[test]
    fn equal_differences_keep_their_width(of in 1..9_usize, passes: (u8, u8), n in 5..200_usize) {
        let passes = (usize::from(passes.0) % (of + 1), usize::from(passes.1) % (of + 1));
        let tasks = suite(of, &vec![passes; n]);
        let interval = lift(&tasks, 0.95).unwrap().interval.unwrap();
        prop_assert!(interval.width() > 0.0, "{:?}", interval);
        prop_assert!(within_tasks_interval(&tasks, 0.95).unwrap().width() > 0.0);
        prop_assert!(rate(&[trials(of, of), trials(of, of)], 0.95).unwrap().interval.unwrap().width() > 0.0);
    }

    #[test]
    fn gain_contains_zero_if_the_lift_does(tasks in tasks(5), level in 0.5..0.999) {
        let lift = lift(&tasks, level).unwrap();
        if let Some(gain) = normalized_gain(&tasks, level) {
            prop_assert_eq!(gain.interval.is_some(), lift.interval.is_some());
            if let (Some(gained), Some(lifted)) = (gain.interval, lift.interval) {
                prop_assert!(gained.low <= gain.value && gain.value <= gained.high);
                prop_assert!(-1.0 <= gained.low && gained.high <= 1.0);
                // If a bound is within rounding of 0, either may be larger.
                if lifted.low.abs().min(lifted.high.abs()) > 1e-9 && !lifted.excludes_zero() {
                    prop_assert!(!gained.excludes_zero(), "{gained:?} {lifted:?}");
                }
                // It may span a gap around 0, and then it reaches to the other side of what the lift says.
                if gained.excludes_zero() && lifted.excludes_zero() {
                    prop_assert_eq!(gained.low > 0.0, lifted.low > 0.0, "{:?} {:?}", gained, lifted);
                }
            }
        }
    }

    #[test]
    fn permutation_tests_are_symmetric_and_probabilities(differences in differences(), factor in 0.1..10.0) {
        let negated: Vec<f64> = differences.iter().map(|d| -d).collect();
        let scaled: Vec<f64> = differences.iter().map(|d| d * factor).collect();
        let reversed: Vec<f64> = differences.iter().rev().copied().collect();
        for test in [|d: &[f64]| sign_flip(d, 11), wilcoxon] {
            let p = test(&differences).unwrap();
            prop_assert!(p > 0.0 && p <= 1.0);
            for other in [&negated, &scaled, &reversed] {
                prop_assert!((test(other).unwrap() - p).abs() < 1e-12);
            }
        }
        // No test of n signs can give less than 2/2^n.
        let smallest = 2.0 / 2.0_f64.powi(i32::try_from(differences.len()).unwrap());
        prop_assert!(wilcoxon(&differences).unwrap() >= smallest - 1e-15);
    }

    #[test]
    fn holm_is_monotone_and_between_raw_and_bonferroni(p in prop::collection::vec(0.0..=1.0, 1..12_usize)) {
        let adjusted = holm(&p);
        for (i, (&raw, &held)) in p.iter().zip(&adjusted).enumerate() {
            prop_assert!(raw <= held && held <= (raw * p.len() as f64).min(1.0) + 1e-15);
            for (j, &other) in p.iter().enumerate() {
                prop_assert!(raw > other || held <= adjusted[j], "{} against {}", i, j);
            }
        }
    }

    #[test]
    fn clopper_pearson_is_monotone_and_mirrors(n in 1..300_u64, x in 0..300_u64, level in 0.5..0.999) {
        let x = x % (n + 1);
        let got = clopper_pearson(x, n, level);
        prop_assert!(got.low <= x as f64 / n as f64 && x as f64 / n as f64 <= got.high);
        let mirror = clopper_pearson(n - x, n, level);
        prop_assert!((got.low + mirror.high - 1.0).abs() < 1e-12);
        if x < n {
            let next = clopper_pearson(x + 1, n, level);
            prop_assert!(got.low < next.low && got.high <= next.high);
        }
    }

    #[test]
    fn smaller_effects_need_more_tasks(tasks in tasks(5), m in 1..9_usize, effect in 0.02..0.9, more in 0.01..0.3) {
        let (small, large) = (tasks_needed(&tasks, m, effect), tasks_needed(&tasks, m, effect + more));
        prop_assert!(small >= large, "{:?} {:?}", small, large);
        prop_assert!(tasks_needed(&tasks, m + 1, effect) >= small);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn order_changes_no_draw((tasks, other) in shuffled(), seed: u64) {
        prop_assert_eq!(skillsbench_interval(&tasks, seed), skillsbench_interval(&other, seed));
        let floor = |tasks: &[PairedTask]| {
            let base: Vec<Vec<f64>> = tasks.iter().map(|t| t.base.clone()).collect();
            let repetitions: Vec<usize> = tasks.iter().map(|t| t.arm.len()).collect();
            run_to_run_noise(&base, &repetitions, seed)
        };
        prop_assert_eq!(floor(&tasks), floor(&other));
    }
}

/// Four of five tasks leave no room for a gain, so that its denominator is poorly known.
#[test]
fn the_interval_of_a_gain_spans_a_gap_around_zero() {
    let task =
        |arm: &[f64], base: &[f64]| PairedTask { arm: arm.to_vec(), base: base.to_vec(), cluster: None };
    let tasks = [
        task(&[1.0; 2], &[1.0; 2]),
        task(&[1.0, 1.0, 1.0, 1.0, 0.0], &[1.0; 3]),
        task(&[1.0; 2], &[1.0; 2]),
        task(&[0.0; 3], &[1.0, 1.0, 1.0, 0.0]),
        task(&[1.0; 2], &[1.0; 4]),
    ];
    let level = 0.722_680_956_376_361_6;
    let lifted = lift(&tasks, level).unwrap().interval.unwrap();
    let gain = normalized_gain(&tasks, level).unwrap();
    let gained = gain.interval.unwrap();
    assert!(lifted.high < 0.0 && gain.value < 0.0, "{lifted:?} {gain:?}");
    assert!(gained.low < gain.value && gained.high > 0.0, "{gained:?}");
}
