//! Suites with a known truth, on fixed seeds.

use assay_stats::{PairedTask, VerdictKind, verdict};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Trials that pass with probability `p`.
fn arm(random: &mut ChaCha8Rng, p: f64, repetitions: usize) -> Vec<f64> {
    (0..repetitions).map(|_| f64::from(u8::from(random.random::<f64>() < p))).collect()
}

/// Suites of 10 tasks whose four arms share one baseline, with so many trials of the baseline and of
/// each arm: the verdicts of each, with the arms' true lift on every task. Baseline rates of the tasks are U², so that a third of them is below
/// .11 and the mean is ⅓.
fn verdicts(seed: u64, suites: usize, lift: f64, [trials, own]: [usize; 2]) -> Vec<[VerdictKind; 4]> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut run = || {
        let rates: Vec<f64> = (0..10).map(|_| random.random::<f64>().powi(2)).collect();
        let base: Vec<Vec<f64>> = rates.iter().map(|&p| arm(&mut random, p, trials)).collect();
        std::array::from_fn(|_| {
            let one = |(&p, base): (&f64, &Vec<f64>)| PairedTask {
                arm: arm(&mut random, (p + lift).min(1.0), own),
                base: base.clone(),
                cluster: None,
            };
            let tasks: Vec<PairedTask> = rates.iter().zip(&base).map(one).collect();
            verdict(&tasks, 4, 0.1, None).kind
        })
    };
    (0..suites).map(|_| run()).collect()
}

/// With four arms without an effect, 10 × 3, `helps` or `harms` occurs in at most 5% of suites, and
/// `negligible` almost never.
#[test]
fn arms_without_effect_get_no_verdict() {
    let suites = verdicts(1, 2000, 0.0, [3, 3]);
    let decided = |kinds: &[VerdictKind; 4]| {
        kinds.iter().any(|kind| matches!(kind, VerdictKind::Helps | VerdictKind::Harms))
    };
    let share = suites.iter().filter(|kinds| decided(kinds)).count() as f64 / suites.len() as f64;
    // About .005 with these baselines, standard error .0016; above 0, or nothing was ever decided.
    assert!(share > 0.0 && share < 0.02, "false verdicts in {share} of suites");
    assert!(suites.iter().flatten().all(|kind| *kind != VerdictKind::Negligible));
}

/// The same where the baseline has more trials than the arms, or fewer, as with `repetitions` of
/// single conditions; a large effect is still found.
#[test]
fn unequal_repetitions_give_no_false_verdicts() {
    for trials in [[6, 3], [9, 2], [2, 9], [1, 6]] {
        let suites = verdicts(3, 2000, 0.0, trials);
        let decided = |kinds: &[VerdictKind; 4]| kinds.iter().any(|kind| *kind != VerdictKind::Inconclusive);
        let share = suites.iter().filter(|kinds| decided(kinds)).count() as f64 / suites.len() as f64;
        assert!(share < 0.03, "{trials:?}: false verdicts in {share} of suites");
        let kinds = verdicts(4, 100, 0.6, trials);
        let found = kinds.iter().flatten().filter(|kind| **kind == VerdictKind::Helps).count();
        assert!(found > 200, "{trials:?}: {found} of 400");
    }
}

/// A rule that never decides would pass the test above.
#[test]
fn arms_with_a_large_effect_help() {
    let suites = verdicts(2, 300, 0.6, [3, 3]);
    let kinds: Vec<VerdictKind> = suites.into_iter().flatten().collect();
    let share = kinds.iter().filter(|kind| **kind == VerdictKind::Helps).count() as f64 / kinds.len() as f64;
    assert!(share > 0.7, "helps in {share} of comparisons");
    assert!(kinds.iter().all(|kind| *kind != VerdictKind::Harms));
}

/// A suite of clusters of the given sizes, three repetitions: each cluster has its own effect,
/// normal with a standard deviation of .3 and mean 0, over baselines of ½.
fn clustered(random: &mut ChaCha8Rng, sizes: &[usize]) -> Vec<PairedTask> {
    let mut tasks = Vec::new();
    for (cluster, &size) in sizes.iter().enumerate() {
        // Twelve uniform numbers less 6 are as good as normal here.
        let effect = 0.3 * ((0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0);
        tasks.extend((0..size).map(|_| PairedTask {
            arm: arm(random, 0.5 + effect, 3),
            base: arm(random, 0.5, 3),
            cluster: Some(cluster as u64),
        }));
    }
    tasks
}

/// Clusters of unequal size: without CR2 `helps` or `harms` occurred in 10 to 69% of these suites.
#[test]
fn one_large_cluster_gives_no_false_verdicts() {
    let one = |large: usize, others: usize| {
        let mut sizes = vec![1; others];
        sizes.push(large);
        sizes
    };
    let shapes =
        [one(10, 40), one(25, 60), vec![1, 1, 2, 2, 3, 3, 5, 8, 11, 17], vec![4; 8], one(15, 4), one(60, 19)];
    for sizes in shapes {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let (mut wrong, mut silent) = (0, 0);
        for _ in 0..2000 {
            let said = verdict(&clustered(&mut random, &sizes), 1, 0.1, None);
            wrong += usize::from(matches!(said.kind, VerdictKind::Helps | VerdictKind::Harms));
            silent += usize::from(said.interval.is_none());
        }
        let share = f64::from(u32::try_from(wrong).unwrap()) / 2000.0;
        // 5 % and three standard errors of 2,000 suites.
        assert!(share < 0.065, "{sizes:?}: {share} false verdicts");
        let tasks: usize = sizes.iter().sum();
        let effective = (tasks * tasks) as f64 / sizes.iter().map(|n| n * n).sum::<usize>() as f64;
        assert_eq!(silent, if effective < 5.0 { 2000 } else { 0 }, "{sizes:?}: {effective} effective units");
    }
}
