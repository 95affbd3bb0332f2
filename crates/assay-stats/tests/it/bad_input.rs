//! Hostile and empty numbers: a plain answer or none, and never a NaN.

use assay_stats::{
    Interval, Losses, PairedTask, clopper_pearson, holm, lift, mde, normalized_gain, rate, run_to_run_noise,
    sign_flip, skillsbench_interval, tasks_needed, verdict, wilcoxon, within_tasks_interval,
};
use proptest::prelude::*;

use crate::{suite, task};

#[test]
fn empty_input_gives_none() {
    let unpaired = [task(&[1.0], &[]), task(&[], &[0.0]), task(&[f64::NAN], &[1.0])];
    for tasks in [&[][..], &unpaired] {
        assert_eq!(lift(tasks, 0.95), None);
        assert_eq!(normalized_gain(tasks, 0.95), None);
        assert_eq!(mde(tasks, 1), None);
        assert_eq!(tasks_needed(tasks, 1, 0.1), None);
        assert_eq!(skillsbench_interval(tasks, 1), None);
        assert_eq!(within_tasks_interval(tasks, 0.95), None);
    }
    assert_eq!(rate(&[], 0.95), None);
    assert_eq!(rate(&[vec![], vec![f64::NAN]], 0.95), None);
    assert_eq!(sign_flip(&[], 1), None);
    assert_eq!(sign_flip(&[f64::NAN, f64::INFINITY], 1), None);
    assert_eq!(wilcoxon(&[]), None);
    assert_eq!(wilcoxon(&[f64::NEG_INFINITY]), None);
    assert_eq!(run_to_run_noise(&[], &[], 1), None);
}

#[test]
fn one_task_has_a_mean_and_no_interval() {
    let one = rate(&[vec![1.0, 0.0]], 0.95).unwrap();
    assert_eq!((one.mean, one.interval, one.tasks, one.trials), (0.5, None, 1, 2));
}

#[test]
fn non_finite_scores_are_dropped_and_others_clamped() {
    let dirty = [task(&[1.0, f64::NAN], &[-3.0, f64::INFINITY]), task(&[7.0], &[0.0])];
    let got = lift(&dirty, 0.95).unwrap();
    assert_eq!((got.mean, got.tasks, got.trials), (1.0, 2, 4));
    assert_eq!(sign_flip(&[0.1, f64::NAN, 0.2], 1), sign_flip(&[0.1, 0.2], 1));
    assert_eq!(wilcoxon(&[0.1, f64::NAN, 0.2]), wilcoxon(&[0.1, 0.2]));
}

#[test]
fn invalid_level_gives_no_interval() {
    let tasks = suite(2, &[(2, 1); 6]);
    for level in [0.0, 1.0, 1.5, -0.2, f64::NAN, f64::INFINITY] {
        assert_eq!(lift(&tasks, level).unwrap().interval, None, "level {level}");
        assert_eq!(normalized_gain(&tasks, level).unwrap().interval, None);
        assert_eq!(within_tasks_interval(&tasks, level), None);
        assert_eq!(clopper_pearson(1, 2, level), Interval { low: 0.0, high: 1.0 });
    }
}

#[test]
fn huge_and_tiny_differences_do_not_overflow() {
    for scale in [f64::MAX, 1e300, 1e-300, f64::MIN_POSITIVE, 5e-324] {
        let differences = [scale, scale, scale, -scale];
        // Two-sided, three of four: (1 + 4) · 2 of 16 patterns.
        assert_eq!(sign_flip(&differences, 1), Some(0.625), "scale {scale}");
        assert_eq!(wilcoxon(&differences), Some(0.625), "scale {scale}");
    }
    let p = wilcoxon(&vec![1.0; 5000]).unwrap();
    assert!(p > 0.0 && p < 1e-100);
}

#[test]
fn a_family_of_any_size_is_judged() {
    let tasks = suite(5, &[(5, 0); 30]);
    for m in [0, 1, 1_000_000_000, usize::MAX] {
        let said = verdict(&tasks, m, 0.1, None);
        let interval = said.interval.unwrap();
        assert!(interval.low.is_finite() && interval.high <= 1.0, "{said:?}");
        assert!(mde(&tasks, m).unwrap().is_finite());
    }
    assert_eq!(verdict(&tasks, 0, 0.1, None), verdict(&tasks, 1, 0.1, None));
}

#[test]
fn absurd_losses_do_not_overflow() {
    let tasks = suite(5, &[(5, 0); 30]);
    let both = |lost, planned| Losses {
        arm_lost: lost,
        arm_planned: planned,
        base_lost: lost,
        base_planned: planned,
        best: tasks.clone(),
        worst: tasks.clone(),
        ..Losses::default()
    };
    for losses in [both(usize::MAX, usize::MAX), both(5, 0), both(0, 0)] {
        assert_eq!(verdict(&tasks, 1, 0.1, Some(&losses)), verdict(&tasks, 1, 0.1, None));
    }
}

#[test]
fn counts_beyond_any_suite_are_bounded() {
    for (successes, n) in [(5, 2), (1, u64::MAX), (u64::MAX, u64::MAX), (1 << 40, 1 << 41)] {
        let got = clopper_pearson(successes, n, 0.95);
        assert!(got.low >= 0.0 && got.low <= got.high && got.high <= 1.0, "{successes} of {n}: {got:?}");
    }
}

fn any_score() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(-0.0), 0.0..=1.0, any::<f64>()]
}

fn any_task() -> impl Strategy<Value = PairedTask> {
    let scores = || prop::collection::vec(any_score(), 0..5);
    (scores(), scores(), prop::option::of(0..8_u64)).prop_map(|(arm, base, cluster)| PairedTask {
        arm,
        base,
        cluster,
    })
}

fn sound(interval: Option<Interval>) -> bool {
    interval.is_none_or(|i| i.low.is_finite() && i.high.is_finite() && i.low <= i.high)
}

proptest! {
    #[test]
    fn results_are_never_nan(
        tasks in prop::collection::vec(any_task(), 0..12),
        level in any_score(),
        margin in any_score(),
        m in prop_oneof![0..20_usize, any::<usize>()],
        differences in prop::collection::vec(any_score(), 0..24),
    ) {
        if let Some(got) = lift(&tasks, level) {
            prop_assert!((-1.0..=1.0).contains(&got.mean) && sound(got.interval));
        }
        let arms: Vec<Vec<f64>> = tasks.iter().map(|t| t.arm.clone()).collect();
        if let Some(got) = rate(&arms, level) {
            prop_assert!((0.0..=1.0).contains(&got.mean) && sound(got.interval));
        }
        let losses = Losses { arm_lost: m, arm_planned: m, best: tasks.clone(), ..Losses::default() };
        for losses in [None, Some(&losses)] {
            let said = verdict(&tasks, m, margin, losses);
            prop_assert!(sound(said.interval) && sound(said.equivalence));
        }
        if let Some(got) = normalized_gain(&tasks, level) {
            prop_assert!((-1.0..=1.0).contains(&got.value) && sound(got.interval));
        }
        prop_assert!(mde(&tasks, m).is_none_or(f64::is_finite));
        prop_assert!(tasks_needed(&tasks, m, margin).is_none_or(|n| n >= 5));
        prop_assert!(sound(within_tasks_interval(&tasks, level)));
        for p in [sign_flip(&differences, 1), wilcoxon(&differences)].into_iter().flatten() {
            prop_assert!(p > 0.0 && p <= 1.0, "{p}");
        }
        prop_assert!(holm(&differences).iter().all(|p| (0.0..=1.0).contains(p)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn resampling_is_never_nan(tasks in prop::collection::vec(any_task(), 0..8), seed: u64) {
        prop_assert!(sound(skillsbench_interval(&tasks, seed)));
        let base: Vec<Vec<f64>> = tasks.iter().map(|t| t.base.clone()).collect();
        let repetitions: Vec<usize> = tasks.iter().map(|t| t.arm.len()).collect();
        prop_assert!(run_to_run_noise(&base, &repetitions, seed).is_none_or(|f| (0.0..=1.0).contains(&f)));
    }
}
