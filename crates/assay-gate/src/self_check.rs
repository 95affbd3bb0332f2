//! How often a decision flips where nothing changed: repetitions of one arm against other repetitions of it.

mod checked;
mod scores;

use assay_stats::sequential::shuffle;
use assay_stats::{PairedTask, VerdictKind, verdict};
use serde::Serialize;

pub use self::checked::SelfCheck;
pub use self::scores::{ScoreGroups, SelfCheckError};

/// Decisions on halves of the same arms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct NullSplits {
    /// Splits that were decided.
    pub splits: usize,
    /// Of them, with `helps` or `harms`.
    pub flips: usize,
}

impl NullSplits {
    /// The share of flips; `None` without a split.
    pub fn rate(&self) -> Option<f64> {
        (self.splits > 0).then(|| self.flips as f64 / self.splits as f64)
    }
}

/// Splits the trials of every task of an arm in two halves and decides between them: once in the order in which they are
/// given, then in random order. Tasks with an odd number of trials lose one; those with one are left out. Splits
/// without an interval are not counted.
pub fn null_splits(arms: &[Vec<Vec<f64>>], orders: u64, margin: f64) -> NullSplits {
    let mut found = NullSplits::default();
    for (number, tasks) in (0_u64..).zip(arms) {
        for order in 0..orders.max(1) {
            let halves: Vec<PairedTask> = (0_u64..)
                .zip(tasks)
                .filter(|(_, trials)| trials.len() >= 2)
                .map(|(task, trials)| {
                    let mut trials = trials.clone();
                    if order > 0 {
                        shuffle(&mut trials, order, number << 24 | task);
                    }
                    let half = trials.len() / 2;
                    PairedTask {
                        base: trials[..half].to_vec(),
                        arm: trials[half..2 * half].to_vec(),
                        cluster: None,
                    }
                })
                .collect();
            let decided = verdict(&halves, 1, margin, None);
            if decided.interval.is_some() {
                found.splits += 1;
                let flipped = matches!(decided.kind, VerdictKind::Helps | VerdictKind::Harms);
                found.flips += usize::from(flipped);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_the_same_trials_rarely_differ() {
        let noisy: Vec<Vec<f64>> = (0..40).map(|task| vec![f64::from(task % 2), 1.0, 0.0, 1.0]).collect();
        let found = null_splits(&[noisy], 200, 0.1);
        assert_eq!(found.splits, 200);
        assert!(found.rate().unwrap() <= 0.1, "{found:?}");
        // In the order of the table, the second half is always better: drift is found.
        let drift = vec![vec![0.0, 0.0, 1.0, 1.0]; 20];
        assert_eq!(null_splits(std::slice::from_ref(&drift), 1, 0.1), NullSplits { splits: 1, flips: 1 });
        assert_eq!(null_splits(&[drift[..4].to_vec()], 5, 0.1).rate(), None);
    }
}
