//! Cases worked out by hand.

use assay_stats::{
    Direction, Interval, Losses, LossyTask, PairedTask, Reason, VerdictKind, clopper_pearson, differences,
    holm, lift, mde, normalized_gain, rate, run_to_run_noise, sign_flip, skillsbench_interval, tasks_needed,
    verdict, wilcoxon, within_tasks_interval,
};

use crate::{close, suite, task, trials};

#[test]
fn rate_of_two_tasks() {
    // Means 1 and 0 of two trials each: mean ½, s² = ½, v₀ = ¼ · ½ = ⅛.
    // t(1) at 80 % two-sided is tan(.4π) = 3.0777, s/√n = ½. Half width 1.54: all of [0, 1].
    let tasks = [trials(2, 2), trials(0, 2)];
    let wide = rate(&tasks, 0.8).unwrap();
    assert_eq!((wide.mean, wide.tasks, wide.trials), (0.5, 2, 4));
    assert_eq!(wide.interval, Some(Interval { low: 0.0, high: 1.0 }));
    // At ⅓: t(1) = tan(π/6) = 1/√3, half width ½/√3 = .289. That of s̃² = (1 · ½ + 2 · ⅛)/3 = ¼
    // with nine degrees of freedom is .445 · √(¼/2) = .157.
    let narrow = rate(&tasks, 1.0 / 3.0).unwrap().interval.unwrap();
    close(narrow.low, 0.5 - 0.5 / 3.0_f64.sqrt(), 1e-12, "low");
    close(narrow.high, 0.5 + 0.5 / 3.0_f64.sqrt(), 1e-12, "high");
}

#[test]
fn lift_of_five_equal_tasks_has_width() {
    // Every task 2 of 2 against 1 of 2: d = ½, s² = 0, v₀ = ¼(½ + ½) = ¼. s̃² = (0 + ½)/6 = 1/12
    // with 6²/4 = 9 degrees of freedom; t(9, .975) = 2.262157; half width 2.262157/√60 = .292043.
    let got = lift(&suite(2, &[(2, 1); 5]), 0.95).unwrap();
    assert_eq!((got.mean, got.tasks, got.trials), (0.5, 5, 20));
    let interval = got.interval.unwrap();
    close(interval.low, 0.5 - 0.292_043, 1e-6, "low");
    close(interval.high, 0.5 + 0.292_043, 1e-6, "high");
    // Four tasks have a lift and no interval.
    let four = lift(&suite(2, &[(2, 1); 4]), 0.95).unwrap();
    assert_eq!((four.mean, four.interval), (0.5, None));
}

#[test]
fn clusters_are_the_units() {
    // Ten tasks in five clusters of two equal ones: as five tasks, with half of v₀.
    let differences = [(2, 0), (1, 0), (1, 1), (2, 1), (0, 0)];
    let mut pairs = suite(2, &differences);
    pairs.extend(suite(2, &differences));
    let alone = lift(&pairs, 0.95).unwrap();
    for (i, task) in pairs.iter_mut().enumerate() {
        task.cluster = Some((i % 5) as u64);
    }
    let clustered = lift(&pairs, 0.95).unwrap();
    assert_eq!((alone.mean, alone.tasks), (clustered.mean, clustered.tasks));
    // d = 1, ½, 0, ½, 0: mean .4, Σ(d − .4)² = .36 + .01 + .16 + .01 + .16 = .7; v₀ = ¼ · 1/2 = ⅛
    // for a mean of two. s² = .175, half width 2.776445 · √(.175/5) = .519425; of s̃² = (.7 + ¼)/6
    // = .158333 it is 2.262157 · √(.158333/5) = .402555. m₃ = (.216 + 2 · .001 − 2 · .064)/5 =
    // .018: .018/(12 · .175 · 5) · (1 + 2 · 2.776445²) = .028144 above.
    close(clustered.interval.unwrap().low, 0.4 - 0.519_425, 1e-5, "clustered low");
    close(clustered.interval.unwrap().high, 0.4 + 0.519_425 + 0.028_144, 1e-5, "clustered high");
    assert!(clustered.interval.unwrap().width() > alone.interval.unwrap().width());
    assert_eq!((clustered.clusters, clustered.effective), (Some(5), 5.0));
    assert_eq!((alone.clusters, alone.effective), (None, 10.0));
    // Four clusters are too few, however many tasks they have; a task without one is its own unit.
    for task in &mut pairs {
        task.cluster = task.cluster.map(|c| c % 4);
    }
    assert_eq!(lift(&pairs, 0.95).unwrap().interval, None);
    // Clusters of 3, 3, 2, 2 are four, and 100/26 = 3.8 effective ones; with two of their tasks
    // alone they are 100/16.
    pairs[0].cluster = None;
    assert_eq!(lift(&pairs, 0.95).unwrap().interval, None);
    (pairs[1].cluster, pairs[4].cluster, pairs[5].cluster) = (None, None, None);
    let mixed = lift(&pairs, 0.95).unwrap();
    assert_eq!((mixed.clusters, mixed.effective), (Some(8), 100.0 / 14.0));
    assert!(mixed.interval.is_some());
}

#[test]
fn unequal_clusters_keep_the_lift_over_tasks() {
    // A cluster of four with d = 1 and four single tasks with d = 0: the lift over tasks is ½, not
    // 1/5.
    let mut tasks = suite(1, &[(1, 0), (1, 0), (1, 0), (1, 0), (0, 0), (0, 0), (0, 0), (0, 0)]);
    for task in &mut tasks[..4] {
        task.cluster = Some(1);
    }
    let got = lift(&tasks, 0.95).unwrap();
    assert_eq!(got.mean, 0.5);
    // 8²/(4² + 4) = 3.2 effective units: half of the weight is in one cluster.
    assert_eq!((got.clusters, got.effective, got.interval), (Some(5), 3.2, None));
    // Five units; the cluster counts as 4 of 8 tasks, 2.5 times an average unit.
    assert_eq!(differences(&tasks), vec![0.0, 0.0, 0.0, 0.0, 2.5]);
    assert_eq!(differences(&suite(2, &[(2, 1), (0, 2)])), vec![-1.0, 0.5]);
}

/// What numpy gives for the matrices of CR2 (`tests/reference/generate.py` does the same for larger
/// suites):
///
/// ```python
/// sizes = np.array([3, 1, 1, 1, 1, 1, 1]); a = sizes / 9; d = np.array([.5, 1, 0, 0, -.5, 0, 0]); mean = a @ d
/// residual = np.eye(7) - np.outer(np.ones(7), a); h = residual @ residual.T
/// variance = np.sum(a**2 * (d - mean)**2 / np.diag(h))             # .0335097
/// ch = np.diag(a**2 / np.diag(h)) @ h
/// freedom = np.trace(ch)**2 / np.trace(ch @ ch)                    # 2.2149410
/// half = stats.t.ppf(.9, freedom) * np.sqrt(variance)              # .3308940, above that of the pseudo-tasks
/// skew = np.sum(a**3 * (d - mean)**3) / (12 * variance) * (1 + 2 * stats.t.ppf(.9, freedom)**2)
/// ```
#[test]
fn unequal_clusters_have_the_interval_of_cr2() {
    let mut tasks = suite(2, &[(2, 1), (2, 1), (2, 1), (2, 0), (1, 1), (0, 0), (1, 2), (0, 0), (2, 2)]);
    for task in &mut tasks[..3] {
        task.cluster = Some(7);
    }
    let got = lift(&tasks, 0.8).unwrap();
    assert_eq!((got.tasks, got.clusters), (9, Some(7)));
    close(got.effective, 81.0 / 15.0, 1e-12, "effective units");
    close(got.mean, 2.0 / 9.0, 1e-12, "mean");
    close(got.interval.unwrap().low, -0.108_671_786_164, 1e-9, "low");
    close(got.interval.unwrap().high, 0.569_273_637_412, 1e-9, "high");
}

#[test]
fn clopper_pearson_closed_forms() {
    // None of n: the upper end is 1 − (α/2)^(1/n). 0 of 10 at 95%: 1 − .025^.1 = .308497.
    let none = clopper_pearson(0, 10, 0.95);
    assert_eq!(none.low, 0.0);
    close(none.high, 1.0 - 0.025_f64.powf(0.1), 1e-12, "0 of 10");
    let all = clopper_pearson(10, 10, 0.95);
    assert_eq!(all.high, 1.0);
    close(all.low, 0.025_f64.powf(0.1), 1e-12, "10 of 10");
    assert_eq!(clopper_pearson(0, 0, 0.95), Interval { low: 0.0, high: 1.0 });
}

fn kind(tasks: &[PairedTask], m: usize, margin: f64) -> VerdictKind {
    verdict(tasks, m, margin, None).kind
}

#[test]
fn the_four_verdicts() {
    // Five equal lifts of ½ on two trials: [.208, .792] at 95 % (above), so they help; mirrored,
    // they harm.
    let helps = verdict(&suite(2, &[(2, 1); 5]), 1, 0.1, None);
    assert_eq!((helps.kind, helps.direction), (VerdictKind::Helps, Some(Direction::Positive)));
    assert_eq!((helps.reason, helps.tasks_needed), (None, None));
    let harms = verdict(&suite(2, &[(1, 2); 5]), 1, 0.1, None);
    assert_eq!((harms.kind, harms.direction), (VerdictKind::Harms, Some(Direction::Negative)));
    // In a family of 24, t(9, 1 − .05/48) = 4.269 and the half width is .551: no longer.
    let family = verdict(&suite(2, &[(2, 1); 5]), 24, 0.1, None);
    assert_eq!((family.kind, family.direction), (VerdictKind::Inconclusive, None));
    // Nothing ever moves on 40 tasks × 10: v₀ = .05 and .1 · .9 of the margin, s̃² = .28/41, half
    // width of the 90 % interval t(41²/39, .95) = 1.6810 · √(.28/41/40) = .02197.
    let same = suite(10, &[(7, 7); 40]);
    let equivalence = verdict(&same, 1, 0.1, None).equivalence.unwrap();
    close(equivalence.high, 0.021_97, 1e-5, "half width");
    assert_eq!(kind(&same, 1, 0.1), VerdictKind::Negligible);
    // ln .05/ln(1 − d) is 40 at d = .0722.
    assert_eq!(kind(&same, 1, 0.073), VerdictKind::Negligible);
    assert_eq!(kind(&same, 1, 0.072), VerdictKind::Inconclusive);
}

#[test]
fn negligible_needs_tasks_for_a_sparse_effect() {
    // ln .05/ln .9 = 28.4; at d = .2 13.4; in a family of 4 ln .0125/ln .9 = 41.6.
    for (enough, m, margin) in [(29, 1, 0.1), (14, 1, 0.2), (42, 4, 0.1)] {
        assert_eq!(
            kind(&suite(100, &vec![(70, 70); enough]), m, margin),
            VerdictKind::Negligible,
            "{enough}"
        );
        let few = kind(&suite(100, &vec![(70, 70); enough - 1]), m, margin);
        assert_eq!(few, VerdictKind::Inconclusive, "{}", enough - 1);
    }
    // Clusters count, and not their tasks.
    let mut tasks = suite(100, &[(70, 70); 56]);
    for (n, task) in tasks.iter_mut().enumerate() {
        task.cluster = Some(n as u64 / 2);
    }
    assert_eq!(kind(&tasks, 1, 0.1), VerdictKind::Inconclusive);
}

#[test]
fn negligible_has_priority_and_a_direction() {
    // A lift of .05 on every one of 40 tasks × 20: v₀ = .025, half width of the 95% interval
    // t(43.1, .975) = 2.017 times √(.05/41/40) = .005522, so that [.0388, .0612] excludes 0; with
    // .09 more that of the 90% interval is 1.681 times √(.23/41/40) = .011843, and [.0301, .0699]
    // is inside ±.1.
    let said = verdict(&suite(20, &[(11, 10); 40]), 1, 0.1, None);
    assert_eq!((said.kind, said.direction), (VerdictKind::Negligible, Some(Direction::Positive)));
    assert_eq!(kind(&suite(20, &[(11, 10); 40]), 1, 0.05), VerdictKind::Helps);
}

#[test]
fn impossible_margin_is_never_negligible() {
    let same = suite(10, &[(7, 7); 40]);
    for margin in [0.0, -0.1, 1.0, 5.0, f64::NAN, f64::INFINITY] {
        assert_eq!(kind(&same, 1, margin), VerdictKind::Inconclusive, "margin {margin}");
    }
}

#[test]
fn reasons_for_inconclusive() {
    let check = |tasks: &[PairedTask], m: usize, reason: Reason, needed: bool| {
        let said = verdict(tasks, m, 0.1, None);
        assert_eq!((said.kind, said.reason), (VerdictKind::Inconclusive, Some(reason)));
        assert_eq!(said.tasks_needed.is_some(), needed, "{said:?}");
    };
    // No task, one, four.
    check(&[], 1, Reason::Design, false);
    check(&suite(3, &[(3, 0)]), 1, Reason::Design, false);
    check(&suite(3, &[(3, 0); 4]), 1, Reason::Design, true);
    // Five tasks × 1, all equal, in a family of 100: s̃/√n = √(1/6/5) = .1826, t(9, .99975) + t(9,
    // .8) = 5.291 + .883: 1.127, above any lift.
    check(&suite(1, &[(1, 1); 5]), 100, Reason::Design, true);
    close(mde(&suite(1, &[(1, 1); 5]), 100).unwrap(), 1.127, 1e-3, "smallest detectable");
    // Alone, with one lift among four zeros: Σ(d − .2)² = .8, s̃/√n = √((.8 + 1)/6/5) = .2449,
    // times 2.262 + .883 is .771, and s/√n = .2, times 2.776 + .941 is .743: a lift of 1 could have
    // been found.
    check(&suite(1, &[(1, 0), (1, 1), (0, 0), (0, 0), (1, 1)]), 1, Reason::Noise, true);
}

#[test]
fn tasks_needed_inverts_the_mde() {
    let tasks = suite(3, &[(3, 1), (2, 2), (1, 0), (0, 1), (3, 3), (2, 0), (1, 1), (3, 2)]);
    let found = mde(&tasks, 2).unwrap();
    assert_eq!(tasks_needed(&tasks, 2, found + 1e-9), Some(8));
    assert_eq!(tasks_needed(&tasks, 2, found - 1e-9), Some(9));
    // Never fewer than an interval needs; none for an invalid request.
    assert_eq!(tasks_needed(&tasks, 1, 10.0), Some(5));
    for effect in [0.0, -0.2, f64::NAN, f64::INFINITY, 1e-9] {
        assert_eq!(tasks_needed(&tasks, 1, effect), None, "effect {effect}");
    }
}

#[test]
fn losses_make_a_verdict_inconclusive() {
    let tasks = suite(2, &[(2, 1); 5]);
    let losses = |arm_lost, base_lost, worst: &[PairedTask]| Losses {
        arm_lost,
        arm_planned: 100,
        base_lost,
        base_planned: 100,
        best: tasks.clone(),
        worst: worst.to_vec(),
        ..Losses::default()
    };
    let check = |losses: &Losses, expected: VerdictKind| {
        let said = verdict(&tasks, 1, 0.1, Some(losses));
        assert_eq!(said.kind, expected, "{losses:?}");
        let reason = (expected == VerdictKind::Inconclusive).then_some(Reason::Losses);
        assert_eq!((said.reason, said.tasks_needed), (reason, None));
        assert_eq!(said.direction.is_some(), reason.is_none());
        assert!(said.interval.is_some());
    };
    // Equal losses that change nothing; shares 5 points apart, which is not more than 5; 6 points
    // apart.
    check(&losses(3, 3, &tasks), VerdictKind::Helps);
    check(&losses(7, 2, &tasks), VerdictKind::Helps);
    check(&losses(8, 2, &tasks), VerdictKind::Inconclusive);
    check(&losses(2, 8, &tasks), VerdictKind::Inconclusive);
    // The lost trials failed in the worst case: two tasks lose their lift, and the interval
    // contains 0.
    let fallen = suite(2, &[(2, 1), (2, 1), (2, 1), (1, 1), (0, 1)]);
    check(&losses(3, 0, &fallen), VerdictKind::Inconclusive);
}

#[test]
fn completely_lost_arm_is_a_loss() {
    let lossy = |tasks: usize| -> Vec<LossyTask> {
        (0..tasks).map(|_| LossyTask { kept: task(&[], &[1.0, 0.0]), arm_lost: 2, base_lost: 0 }).collect()
    };
    let said = verdict(&[], 1, 0.1, Some(&Losses::of(&lossy(5))));
    assert_eq!((said.kind, said.reason), (VerdictKind::Inconclusive, Some(Reason::Losses)));
    // Four tasks would have been too few with every trial.
    let said = verdict(&[], 1, 0.1, Some(&Losses::of(&lossy(4))));
    assert_eq!((said.kind, said.reason), (VerdictKind::Inconclusive, Some(Reason::Design)));
}

#[test]
fn lost_trials_count_a_quarter_around_their_cell_rate() {
    let tasks = [
        LossyTask { kept: task(&[1.0, 0.0], &[1.0, 1.0, 0.0]), arm_lost: 2, base_lost: 1 },
        // 1 − ¼ and no more than 1; a cell without results has its arm's rate, (⅔ + ⅓)/2.
        LossyTask { kept: task(&[1.0, 1.0], &[]), arm_lost: 1, base_lost: 2 },
        LossyTask { kept: task(&[0.0], &[0.0, 0.0, 1.0]), arm_lost: 0, base_lost: 0 },
    ];
    let losses = Losses::of(&tasks);
    assert_eq!((losses.arm_lost, losses.arm_planned), (3, 8));
    assert_eq!((losses.base_lost, losses.base_planned), (3, 9));
    assert_eq!(losses.best[0].arm, [1.0, 0.0, 0.75, 0.75]);
    close(losses.best[0].base[3], 2.0 / 3.0 - 0.25, 1e-12, "a lost trial of the baseline");
    assert_eq!(losses.best[1].arm, [1.0, 1.0, 1.0]);
    assert_eq!(losses.worst[1].arm, [1.0, 1.0, 0.75]);
    close(losses.best[1].base[0], 0.5 - 0.25, 1e-12, "a cell that was lost whole");
    assert_eq!(losses.best[2], tasks[2].kept);
    let [worst, best] = losses.lifts().unwrap();
    assert!(worst < best);
    assert_eq!(Losses::of(&tasks[2..]).lifts(), None);
}

/// 10 of 150 trials of either arm are lost at random: counted as passed in one arm and failed in
/// the other they would change the verdict; a quarter around their cells' rates they do not. Noise
/// remains noise, whatever the losses.
#[test]
fn irrelevant_losses_keep_the_verdict() {
    let lossy = |passes: &[(usize, usize)], lost: usize| -> Vec<LossyTask> {
        let tasks = suite(5, passes).into_iter().enumerate();
        tasks
            .map(|(n, kept)| {
                let lost = usize::from(n < lost);
                let cut = |scores: &[f64]| scores[..5 - lost].to_vec();
                let kept = task(&cut(&kept.arm), &cut(&kept.base));
                LossyTask { kept, arm_lost: lost, base_lost: lost }
            })
            .collect()
    };
    let passes: Vec<(usize, usize)> =
        (0..30).map(|n| [(3, 2), (2, 2), (3, 2), (3, 3), (2, 2), (4, 3)][n % 6]).collect();
    let judged = |tasks: &[LossyTask]| {
        let kept: Vec<PairedTask> = tasks.iter().map(|task| task.kept.clone()).collect();
        verdict(&kept, 1, 0.1, Some(&Losses::of(tasks)))
    };
    let few = judged(&lossy(&passes, 10));
    assert_eq!((few.kind, few.reason), (VerdictKind::Helps, None));
    // With 0 and 1 the ten lost failures of the baseline would have been passes: the lift falls
    // from .1 by 10/150.
    let sabotage: Vec<PairedTask> = lossy(&passes, 10)
        .iter()
        .map(|lossy| {
            let fill = |scores: &[f64], value: f64| [scores, &vec![value; 5 - scores.len()]].concat();
            task(&fill(&lossy.kept.arm, 0.0), &fill(&lossy.kept.base, 1.0))
        })
        .collect();
    assert_ne!(kind(&sabotage, 1, 0.1), VerdictKind::Helps);

    let noisy: Vec<(usize, usize)> = (0..30).map(|n| if n % 2 == 0 { (5, 0) } else { (0, 4) }).collect();
    for arm_lost in [0, 1, 4] {
        let mut tasks = lossy(&noisy, 0);
        for task in &mut tasks {
            task.kept.arm.truncate(5 - arm_lost);
            task.arm_lost = arm_lost;
        }
        let said = judged(&tasks);
        assert_eq!((said.kind, said.reason), (VerdictKind::Inconclusive, Some(Reason::Noise)), "{arm_lost}");
        assert!(said.tasks_needed.is_some());
    }
}

#[test]
fn permutation_by_hand() {
    // Three positive differences: only +++ and −−− are as extreme, 2 of 8.
    assert_eq!(sign_flip(&[0.2, 0.5, 0.1], 0), Some(0.25));
    assert_eq!(wilcoxon(&[0.2, 0.5, 0.1]), Some(0.25));
    // Zeros double the patterns on both sides of the fraction.
    assert_eq!(sign_flip(&[0.2, 0.5, 0.1, 0.0], 0), Some(0.25));
    assert_eq!(wilcoxon(&[0.2, 0.5, 0.1, 0.0]), Some(0.25));
    // 20 of one sign: the smallest p the exact test can give.
    assert_eq!(sign_flip(&[0.3; 20], 0), Some(2.0 / f64::from(1 << 20)));
    assert_eq!(sign_flip(&[0.0; 4], 0), Some(1.0));
    assert_eq!(wilcoxon(&[0.0; 4]), Some(1.0));
}

#[test]
fn holm_by_hand() {
    // Ascending .01, .02, .03, .04 times 4, 3, 2, 1: .04, .06, .06, .04 → .06 by the running
    // maximum.
    let adjusted = holm(&[0.04, 0.01, 0.03, 0.02]);
    for (got, expected) in adjusted.iter().zip([0.06, 0.04, 0.06, 0.06]) {
        close(*got, expected, 1e-15, "adjusted");
    }
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(holm(&[0.7, 0.8]), vec![1.0, 1.0]);
    // A comparison without a p value still counts in the family.
    assert_eq!(holm(&[0.02, f64::NAN]), vec![0.04, 1.0]);
    assert_eq!(holm(&[f64::INFINITY, -0.1]), vec![1.0, 1.0]);
}

#[test]
fn run_to_run_noise_of_known_cases() {
    // One task, 1 of 2: every split sets 1 against 0, |difference| 1. The arm has 2 as well:
    // √((½ + ½)/(1 + 1)) = .7071.
    close(run_to_run_noise(&[trials(1, 2)], &[2], 3).unwrap(), 0.5_f64.sqrt(), 1e-12, "one task");
    // An arm of many trials: √((0 + ½)/2) = ½.
    close(run_to_run_noise(&[trials(1, 2)], &[1_000_000_000], 3).unwrap(), 0.5, 1e-6, "long arm");
    // Baselines that never vary show no noise.
    assert_eq!(run_to_run_noise(&[trials(3, 3), trials(0, 3)], &[3, 3], 3), Some(0.0));
    // 100 tasks, 1 of 2: the mean of 100 signs times .7071, of which 95% are within 1.96 · .07071 =
    // .1386. Steps of the mean are .014.
    let floor = run_to_run_noise(&vec![trials(1, 2); 100], &[2; 100], 3).unwrap();
    close(floor, 0.1386, 0.02, "a hundred tasks");
    // As many again that cannot be split: the comparison is of 200 tasks, √(100/200) as noisy.
    let mut half = vec![trials(1, 2); 100];
    half.extend(vec![trials(1, 1); 100]);
    let scaled = run_to_run_noise(&half, &[2; 200], 3).unwrap();
    close(scaled, floor * 0.5_f64.sqrt(), 1e-12, "half split");
    // One repetition, no arm, unequal lists: no result.
    assert_eq!(run_to_run_noise(&[trials(1, 1), trials(0, 1)], &[3, 3], 3), None);
    assert_eq!(run_to_run_noise(&[trials(1, 2)], &[0], 3), None);
    assert_eq!(run_to_run_noise(&[trials(1, 2)], &[], 3), None);
}

#[test]
fn normalised_gain_by_hand() {
    // Baseline .5, arm .75: half of the possible gain. Baseline .5, arm .25: half of the possible
    // loss.
    let value = |passes: &[(usize, usize)]| normalized_gain(&suite(4, passes), 0.95).map(|g| g.value);
    assert_eq!(value(&[(3, 2); 5]), Some(0.5));
    assert_eq!(value(&[(1, 2); 5]), Some(-0.5));
    // Ratio of means, not mean of ratios: (⅜ − ¼)/(1 − ¼) = 1/6, although the tasks' own are 0 and
    // ⅓.
    close(value(&[(0, 0), (3, 2)]).unwrap(), 0.125 / 0.75, 1e-12, "ratio of means");
    assert_eq!(value(&[(4, 4); 5]), None);
    assert_eq!(value(&[(2, 4); 5]), None);
    assert_eq!(value(&[(0, 0); 5]), Some(0.0));
    assert_eq!(value(&[(4, 0); 5]), Some(1.0));
    assert_eq!(value(&[(0, 1); 5]), Some(-1.0));
    assert_eq!(normalized_gain(&suite(4, &[(3, 2); 4]), 0.95).unwrap().interval, None);
    // Hake's: (.25 − .5)/(1 − .5), and (0 − .25)/(1 − .25).
    let hake = |passes: &[(usize, usize)]| normalized_gain(&suite(4, passes), 0.95).map(|g| g.hake);
    assert_eq!(hake(&[(3, 2); 5]), Some(0.5));
    assert_eq!(hake(&[(1, 2); 5]), Some(-0.5));
    close(hake(&[(0, 1); 5]).unwrap(), -0.25 / 0.75, 1e-12, "a loss");
}

#[test]
fn skillsbench_interval_has_binomial_width() {
    // 200 tasks, 2 of 4 against 2 of 4: a resampled difference has variance 2 · ¼/4 = ⅛, the mean
    // ⅛/200; the percentile interval is ±1.96 · .025 = .049.
    let got = skillsbench_interval(&suite(4, &[(2, 2); 200]), 5).unwrap();
    close(got.low, -0.049, 0.006, "low");
    close(got.high, 0.049, 0.006, "high");
    // Where all trials of a task agree nothing is resampled: the flaw it is printed with.
    assert_eq!(skillsbench_interval(&suite(4, &[(4, 0); 9]), 5), Some(Interval { low: 1.0, high: 1.0 }));
    assert_eq!(skillsbench_interval(&[], 5), None);
}

#[test]
fn these_tasks_by_hand() {
    // One task, 1 of 2 against 1 of 2: s² = ½, v = ½/2 + ½/2 = ½; v₀ = ¼(½ + ½) = ¼. ṽ = (½ + 2 ·
    // ¼)/3 = ⅓, n = 1, two degrees of freedom. At 50 %: t(2, .75) = √(2/3) = .8165 exactly (t² =
    // 2(2p − 1)²/(1 − (2p − 1)²) with p = .75); half width √(2/3) · √(1/3) = √2/3.
    let got = within_tasks_interval(&[task(&[1.0, 0.0], &[0.0, 1.0])], 0.5).unwrap();
    close(got.high, 2.0_f64.sqrt() / 3.0, 1e-9, "high");
    close(got.low, -got.high, 1e-12, "low");
    // One trial each: ¼ + ¼ for the task, as much for the pseudo-tasks: ṽ = (½ + 2 · ½)/3 = ½.
    let single = within_tasks_interval(&[task(&[1.0], &[1.0])], 0.5).unwrap();
    close(single.high, (2.0_f64 / 3.0).sqrt() * 0.5_f64.sqrt(), 1e-9, "single trials");
    assert_eq!(within_tasks_interval(&[], 0.95), None);
}
