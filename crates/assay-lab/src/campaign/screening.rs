//! The ranking of candidates on development tasks.
//!
//! All candidates are ranked on the same tasks, so the incumbent, which would be taken from each of them alike, is not measured.
//! Nothing of it is an estimate of an effect: the best of many is best by luck as well.

use std::ops::Range;

use super::results::{Results, TrialArm};

/// The best `keep` of some candidates by their mean score on tasks, in the order of their numbers.
///
/// A score counts as its distance from the mean of all candidates on its task, so that a candidate that lost its trial on an
/// easy task is not taken for a worse one. One without any result is the last. Equal ones rank by their numbers.
pub(super) fn best(results: &Results, candidates: &[usize], tasks: Range<usize>, keep: usize) -> Vec<usize> {
    let mut sums = vec![(0.0, 0_usize); candidates.len()];
    for task in tasks {
        let scores: Vec<Vec<f64>> =
            candidates.iter().map(|candidate| results.of(TrialArm::Candidate(*candidate), task).0).collect();
        let means: Vec<Option<f64>> = scores.iter().map(|scores| mean(scores)).collect();
        let known: Vec<f64> = means.iter().flatten().copied().collect();
        let Some(center) = mean(&known) else { continue };
        for (sum, score) in sums.iter_mut().zip(means) {
            if let Some(score) = score {
                *sum = (sum.0 + score - center, sum.1 + 1);
            }
        }
    }
    // Rounded: sums of the same scores in another order may differ in the last bits, which must not decide.
    let rate = |at: usize| {
        let (sum, count) = sums[at];
        if count == 0 { f64::NEG_INFINITY } else { (1e9 * sum / count as f64).round() + 0.0 }
    };
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    // Stable.
    order.sort_by(|one, other| rate(*other).total_cmp(&rate(*one)));
    let mut kept: Vec<usize> = order.into_iter().take(keep).map(|at| candidates[at]).collect();
    kept.sort_unstable();
    kept
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::TrialKey;

    /// Scores of candidates by task: `1`, `0`, or `-` for a lost one.
    fn results(candidates: &[&str]) -> Results {
        let mut results = Results::default();
        for (candidate, scores) in candidates.iter().enumerate() {
            for (task, score) in scores.chars().enumerate() {
                let score = score.to_digit(10).map(f64::from);
                results.record(TrialKey { arm: TrialArm::Candidate(candidate), task, repetition: 0 }, score);
            }
        }
        results
    }

    #[test]
    fn the_best_are_kept() {
        let check = |candidates: &[&str], keep: usize, expected: &[usize]| {
            let numbers: Vec<usize> = (0..candidates.len()).collect();
            let found = best(&results(candidates), &numbers, 0..candidates[0].len(), keep);
            assert_eq!(found, expected, "{candidates:?}");
        };
        check(&["1100", "1110", "0000", "1111"], 2, &[1, 3]);
        // Equal ones by their numbers.
        check(&["1100", "0011", "1010"], 2, &[0, 1]);
        // The lost trial is on a task that all others pass: what is left of 1 is as good as 0, and better than 2.
        check(&["1100", "-100", "1000"], 2, &[0, 1]);
        check(&["----", "0000", "1000"], 2, &[1, 2]);
        check(&["10", "01"], 5, &[0, 1]);
    }

    #[test]
    fn other_candidates_and_tasks_do_not_count() {
        let results = results(&["1100", "0111", "1111"]);
        assert_eq!(best(&results, &[0, 1], 0..1, 1), [0]);
        assert_eq!(best(&results, &[0, 1], 0..4, 1), [1]);
    }
}
