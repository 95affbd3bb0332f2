use super::*;

fn task(arm: (usize, usize), base: (usize, usize)) -> PairedTask {
    let trials = |(passed, of): (usize, usize)| (0..of).map(|i| if i < passed { 1.0 } else { 0.0 }).collect();
    PairedTask { arm: trials(arm), base: trials(base), cluster: None }
}

/// Eight tasks with two to four trials.
fn eight() -> Vec<PairedTask> {
    let arms = [(3, 3), (2, 3), (3, 3), (0, 3), (1, 3), (3, 3), (3, 4), (2, 2)];
    let bases = [(0, 3), (2, 3), (1, 3), (1, 3), (1, 3), (0, 3), (2, 3), (1, 3)];
    arms.into_iter().zip(bases).map(|(arm, base)| task(arm, base)).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-8, "{found} is not {expected}");
}

/// The values of numpy and scipy 1.x.
#[test]
fn eight_tasks_equal_an_independent_implementation() {
    let found = heterogeneity(&eight()).unwrap();
    close(found.variance, 0.259_796_626_984);
    close(found.noise, 0.118_923_611_111);
    close(found.tau, 0.375_330_542_153);
    let tau = found.tau_interval.unwrap();
    close(tau.low, 0.0);
    close(tau.high, 0.980_032_130_532);
    let prediction = found.prediction.unwrap();
    close(prediction.low, -0.915_985_767_442);
    close(prediction.high, 1.0);
    let shrunk: Vec<f64> = shrunk_lifts(&eight()).unwrap().into_iter().flatten().collect();
    let expected = [
        0.715_363_106,
        0.178_501_103,
        0.536_409_105,
        -0.000_452_899,
        0.178_501_103,
        0.715_363_106,
        0.217_115_212,
        0.526_165_565,
    ];
    assert_eq!(shrunk.len(), 8);
    shrunk.iter().zip(expected).for_each(|(found, expected)| close(*found, expected));
}

/// Results without chance: the variance of the differences is that of the effects, and nothing is shrunk. Two of eight
/// tasks move by 1: s² = 8·(¼·¾)/7 = 3/14.
#[test]
fn without_noise_every_difference_is_an_effect() {
    let mut tasks = vec![task((3, 3), (0, 3)); 2];
    tasks.extend(vec![task((3, 3), (3, 3)); 6]);
    let found = heterogeneity(&tasks).unwrap();
    close(found.tau, (3.0_f64 / 14.0).sqrt());
    close(found.noise, 0.0);
    let (tau, prediction) = (found.tau_interval.unwrap(), found.prediction.unwrap());
    assert!(tau.low > 0.1 && tau.low < found.tau && found.tau < tau.high, "{tau:?}");
    let ci = lift(&tasks, 0.95).unwrap().interval.unwrap();
    assert!(prediction.low < ci.low && ci.high < prediction.high, "{prediction:?} {ci:?}");
    for (task, shrunk) in tasks.iter().zip(shrunk_lifts(&tasks).unwrap()) {
        close(shrunk.unwrap(), mean(&task.arm) - mean(&task.base));
    }
}

/// Equal differences: no spread is seen, but it may be there, in tasks that the suite does not have. Where trials vary
/// much more than the differences, every spread is rejected, as by the Q-profile.
#[test]
fn equal_differences_leave_a_spread_possible() {
    let tau = |tasks: &[PairedTask]| {
        let found = heterogeneity(tasks).unwrap();
        for shrunk in shrunk_lifts(tasks).unwrap() {
            close(shrunk.unwrap(), mean(&tasks[0].arm) - mean(&tasks[0].base));
        }
        (found.tau, found.tau_interval.unwrap())
    };
    let (found, interval) = tau(&vec![task((3, 3), (0, 3)); 10]);
    assert_eq!((found, interval.low), (0.0, 0.0));
    assert!(interval.high > 0.2, "{interval:?}");
    let (found, interval) = tau(&vec![task((2, 3), (1, 3)); 10]);
    assert_eq!((found, interval), (0.0, Interval { low: 0.0, high: 0.0 }));
}

#[test]
fn unknown_parts_are_none() {
    // One trial a cell: what is chance and what is effect?
    let single = vec![task((1, 1), (0, 1)); 10];
    assert_eq!((heterogeneity(&single), shrunk_lifts(&single)), (None, None));
    assert_eq!(heterogeneity(&[task((1, 2), (0, 2))]), None);
    assert_eq!(heterogeneity(&[]), None);
    let four = heterogeneity(&eight()[..4]).unwrap();
    assert_eq!((four.tau_interval, four.prediction), (None, None));
    // A task without trials under one arm has no difference, and keeps its place.
    let mut tasks = eight();
    tasks.insert(1, task((2, 3), (0, 0)));
    let shrunk = shrunk_lifts(&tasks).unwrap();
    assert_eq!((shrunk.len(), shrunk[1]), (9, None));
    close(shrunk[2].unwrap(), 0.178_501_103);
}

/// A cluster's tasks are alike: its mean is one observation. Five clusters of two equal tasks have the variance of the
/// mean of five tasks, and the mean squared deviation of ten: s²·(4/5 + 1/5) of the five.
#[test]
fn clusters_are_units() {
    let single: Vec<PairedTask> = eight()[..5].to_vec();
    let clustered: Vec<PairedTask> = (0..5_u64)
        .flat_map(|at| {
            let of = PairedTask { cluster: Some(at), ..single[usize::try_from(at).unwrap()].clone() };
            [of.clone(), of]
        })
        .collect();
    let (one, two) = (heterogeneity(&single).unwrap(), heterogeneity(&clustered).unwrap());
    close(two.variance, one.variance);
    close(two.noise, one.noise);
}

/// scipy.stats.chi2.ppf.
#[test]
fn quantiles_of_chi_squared() {
    for (freedom, below, expected) in [
        (1.0, 0.025, 0.000_982_069_117),
        (5.0, 0.975, 12.832_501_994),
        (13.44, 0.3, 10.319_323_019),
        (83.0, 0.025, 59.691_753_034),
    ] {
        let found = chi_squared(freedom, below).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-6, "χ²({freedom}) at {below}: {found} is not {expected}");
    }
}
