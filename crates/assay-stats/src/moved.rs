//! The share of the tasks on which an arm moved the score.

use statrs::function::erf::erfc;

use crate::paired_task::PairedTask;
use crate::sample::{mean, order, paired};

/// Where p-values are counted: λ.
const LAMBDA: f64 = 0.5;

/// A permutation distribution of more arrangements is taken to be normal.
const ARRANGEMENTS: f64 = 2_000.0;

/// The share of the tasks that the arm moved, in either direction, as far as trials show it: 1 − π₀, with Storey's
/// (2002, *JRSS B* 64, 479–498) π₀ at λ = ½ over one exact test a task.
///
/// The test of a task permutes its trials between the arms; p is randomized, so that it is uniform for a task that the
/// arm does not move however few results there are (Dickhaus et al. 2012, *Statistical Applications in Genetics and
/// Molecular Biology* 11(4), 12), and π₀ is its expectation over that randomization. Tasks that move a little are
/// found in part only, so the share is on average too low, never too high, except that it is at least 0.
///
/// `None` if no task could show a move: with one trial in each arm none can.
pub fn moved_share(tasks: &[PairedTask]) -> Option<f64> {
    let tasks = paired(tasks);
    let mut beyond: Vec<f64> = tasks.iter().map(probability_beyond).collect();
    beyond.sort_by(f64::total_cmp);
    // Of one trial in each arm both arrangements have the same difference.
    let tells = tasks.iter().any(|task| task.arm.len() + task.base.len() > 2);
    (tells && !beyond.is_empty()).then(|| (1.0 - mean(&beyond) / (1.0 - LAMBDA)).clamp(0.0, 1.0))
}

/// The probability that a task's randomized p is above λ.
fn probability_beyond(task: &PairedTask) -> f64 {
    let [above, equal] = tail_probabilities(&task.arm, &task.base);
    if above >= LAMBDA {
        1.0
    } else if above + equal <= LAMBDA {
        0.0
    } else {
        (above + equal - LAMBDA) / equal
    }
}

/// The shares of arrangements of a task's trials with a larger difference of means than the observed one, and with
/// one as large.
fn tail_probabilities(arm: &[f64], base: &[f64]) -> [f64; 2] {
    let mut all: Vec<f64> = arm.iter().chain(base).copied().collect();
    all.sort_by(f64::total_cmp);
    let (n, r) = (all.len(), arm.len());
    let total: f64 = all.iter().sum();
    // The difference of means is a line in the arm's sum.
    let center = total * r as f64 / n as f64;
    let observed = (arm.iter().sum::<f64>() - center).abs();
    let sums = arrangements(&all, r);
    let Some(sums) = sums else {
        let variance = variance_of(&all) * r as f64 * (n - r) as f64 / n as f64;
        if variance <= 0.0 {
            return [0.0, 1.0];
        }
        let p = erfc(observed / (2.0 * variance).sqrt());
        return [p, 0.0];
    };
    let weight: f64 = sums.iter().map(|(_, weight)| weight).sum();
    let share = |holds: &dyn Fn(f64) -> bool| {
        sums.iter().filter(|(sum, _)| holds((sum - center).abs())).map(|(_, weight)| weight).sum::<f64>()
            / weight
    };
    [share(&|size| size > observed + 1e-9), share(&|size| (size - observed).abs() <= 1e-9)]
}

/// The sums of the arm in all arrangements, with how often each occurs; `None` if there are too many. Scores of 0 and 1
/// have few different sums however many trials there are.
fn arrangements(all: &[f64], r: usize) -> Option<Vec<(f64, f64)>> {
    // Sums of k of the first values, by k.
    let mut sums: Vec<Vec<(f64, f64)>> = vec![Vec::new(); r + 1];
    sums[0].push((0.0, 1.0));
    for value in all {
        for k in (1..=r).rev() {
            let more: Vec<(f64, f64)> =
                sums[k - 1].iter().map(|(sum, weight)| (sum + value, *weight)).collect();
            sums[k].extend(more);
            merge_equal(&mut sums[k]);
            if sums[k].len() as f64 > ARRANGEMENTS {
                return None;
            }
        }
    }
    sums.pop()
}

/// Joins equal sums.
fn merge_equal(sums: &mut Vec<(f64, f64)>) {
    sums.sort_by(|one, other| order(&[one.0], &[other.0]));
    sums.dedup_by(|next, kept| {
        let equal = (next.0 - kept.0).abs() < 1e-9;
        if equal {
            kept.1 += next.1;
        }
        equal
    });
}

/// Without bias.
fn variance_of(numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    let center = numbers.iter().sum::<f64>() / n;
    numbers.iter().map(|x| (x - center).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(arm: &[f64], base: &[f64]) -> PairedTask {
        PairedTask { arm: arm.to_vec(), base: base.to_vec(), cluster: None }
    }

    #[test]
    fn arrangements_of_small_tasks_by_hand() {
        let check = |arm: &[f64], base: &[f64], expected: [f64; 2]| {
            let found = tail_probabilities(arm, base);
            let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
            assert!(near, "{arm:?} {base:?}: {found:?} is not {expected:?}");
        };
        // Two of the C(6, 3) = 20 arrangements are as far apart.
        check(&[1.0; 3], &[0.0; 3], [0.0, 0.1]);
        // Four passes of six: the arm has 1, 2 or 3 of them in 4, 12 and 4 arrangements.
        check(&[1.0, 1.0, 0.0], &[1.0, 1.0, 0.0], [0.4, 0.6]);
        check(&[1.0; 3], &[1.0; 3], [0.0, 1.0]);
        // .1 + .2 against .7: 4 of the arrangements {.1 .2} {.1 .7} {.2 .7} by the arm's sum, whose center is 2/3.
        check(&[0.7], &[0.1, 0.2], [0.0, 1.0 / 3.0]);
        check(&[1.0], &[0.0], [0.0, 1.0]);
    }

    #[test]
    fn all_or_nothing_moves_are_counted() {
        let check = |tasks: &[PairedTask], expected: Option<f64>| {
            let found = moved_share(tasks);
            let near = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
                (found, expected) => found == expected,
            };
            assert!(near, "{found:?} is not {expected:?}");
        };
        let (moved, same) = (task(&[1.0; 3], &[0.0; 3]), task(&[1.0; 3], &[1.0; 3]));
        // A move cannot have a p above ½; a task without a difference has any p.
        check(&[moved.clone(), same.clone(), same.clone(), same.clone()], Some(0.25));
        check(&[moved.clone(), moved], Some(1.0));
        check(&[same.clone(), same], Some(0.0));
        // F against P in one trial each is as likely as its reverse.
        check(&[task(&[1.0], &[0.0]), task(&[1.0], &[0.0])], None);
        check(&[], None);
        check(&[task(&[f64::NAN], &[1.0, 0.0])], None);
    }

    /// P(p > ½) is ½ for a task that nothing moves, so that π₀ is 1 on average: by enumeration of all results of five
    /// and three trials at a pass rate of .3.
    #[test]
    fn a_task_that_does_not_move_counts_as_one_on_average() {
        let (r, b, p) = (5_i32, 3_i32, 0.3_f64);
        let choose = |n: i32, k: i32| (0..k).fold(1.0, |all, i| all * f64::from(n - i) / f64::from(i + 1));
        let of = |n: i32, k: i32| choose(n, k) * p.powi(k) * (1.0 - p).powi(n - k);
        let trials = |n: i32, k: i32| (0..n).map(|i| if i < k { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let mut expected = 0.0;
        for i in 0..=r {
            for j in 0..=b {
                expected += of(r, i) * of(b, j) * probability_beyond(&task(&trials(r, i), &trials(b, j)));
            }
        }
        assert!((expected - 0.5).abs() < 1e-12, "{expected}");
    }

    #[test]
    fn many_fractional_scores_have_a_normal_test() {
        let scores: Vec<f64> = (2..32).map(|i| f64::from(i).sqrt().fract()).collect();
        assert!(arrangements(&scores, 15).is_none());
        let far = task(&[0.913, 0.921, 0.934, 0.947].repeat(9), &[0.011, 0.023, 0.037].repeat(9));
        assert!(probability_beyond(&far) < 1e-9);
    }
}
