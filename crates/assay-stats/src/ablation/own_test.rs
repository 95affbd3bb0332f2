//! Whether a single task needs a part: Fisher's exact test of its trials with the part and without it.

use statrs::distribution::{DiscreteCDF, Hypergeometric};

use super::effects::AblatedTask;

/// A trial counts as passed from this score on.
const PASSED: f64 = 0.5;

/// The passed trials and all trials of a task with a part, and the same without it.
pub fn with_and_without(task: &AblatedTask, part: usize) -> [(u64, u64); 2] {
    [true, false].map(|has| {
        let variants = task.variants.iter().filter(|variant| variant.kept.has(part) == has);
        let scores = variants.flat_map(|variant| variant.scores.iter().filter(|score| score.is_finite()));
        scores.fold((0, 0), |(passed, all), score| (passed + u64::from(*score >= PASSED), all + 1))
    })
}

/// The one-sided p-value of Fisher's exact test that the first of two groups of trials passes no more often: the
/// probability of at least as many passes in it, with the margins fixed (Fisher 1935, *The Design of Experiments*). 1 if a
/// group is empty.
pub fn exact_p([(with, with_all), (without, without_all)]: [(u64, u64); 2]) -> f64 {
    let (all, passed) = (with_all + without_all, with + without);
    if with_all == 0 || without_all == 0 || with == 0 {
        return 1.0;
    }
    Hypergeometric::new(all, passed.min(all), with_all)
        .map_or(1.0, |found| found.sf(with - 1).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1/C(12, 6) = 1/924; 6 of 6 against 1 of 6: C(6, 6)·C(6, 1)/C(12, 7) = 6/792.
    #[test]
    fn fisher_by_hand() {
        let check = |groups, expected: f64| {
            assert!((exact_p(groups) - expected).abs() < 1e-12, "{groups:?}: {}", exact_p(groups));
        };
        check([(6, 6), (0, 6)], 1.0 / 924.0);
        check([(6, 6), (1, 6)], 6.0 / 792.0);
        check([(0, 6), (6, 6)], 1.0);
        check([(3, 3), (0, 0)], 1.0);
        check([(6, 6), (6, 6)], 1.0);
        // 2 of 2 against 1 of 2: C(2, 2)·C(2, 1)/C(4, 3) = ½.
        check([(2, 2), (1, 2)], 0.5);
    }
}
