//! The results of trials.

use std::collections::BTreeMap;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrialArm {
    /// The skill that is used.
    Incumbent,
    /// A candidate, by its number from 0.
    Candidate(usize),
}

/// A trial of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialKey {
    /// What is measured.
    pub arm: TrialArm,
    /// The task: development tasks first, then held-out ones, each in the order of the split.
    pub task: usize,
    /// The repetition, from 0.
    pub repetition: usize,
}

/// The results so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    trials: BTreeMap<TrialKey, Option<f64>>,
}

impl Results {
    /// Records a score in [0, 1], or `None` for a trial that was executed and has no result.
    pub fn record(&mut self, trial: TrialKey, score: Option<f64>) {
        self.trials.insert(trial, score.filter(|score| score.is_finite()));
    }

    /// Whether a trial was executed.
    pub fn has(&self, trial: TrialKey) -> bool {
        self.trials.contains_key(&trial)
    }

    /// The trials that were executed.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether no trial was executed.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// The scores of an arm on a task, and the number of its trials without a result.
    pub(crate) fn of(&self, arm: TrialArm, task: usize) -> (Vec<f64>, usize) {
        let key = |repetition: usize| TrialKey { arm, task, repetition };
        let all: Vec<Option<f64>> =
            self.trials.range(key(0)..=key(usize::MAX)).map(|(_, score)| *score).collect();
        let scores: Vec<f64> = all.iter().flatten().copied().collect();
        let lost = all.len() - scores.len();
        (scores, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_and_losses_of_a_cell() {
        let mut results = Results::default();
        let key = |arm: TrialArm, task: usize, repetition: usize| TrialKey { arm, task, repetition };
        let candidate = TrialArm::Candidate(1);
        for (at, score) in [Some(1.0), None, Some(f64::NAN), Some(0.5)].into_iter().enumerate() {
            results.record(key(candidate, 3, at), score);
        }
        results.record(key(candidate, 4, 0), Some(0.0));
        results.record(key(TrialArm::Incumbent, 3, 0), Some(0.0));
        assert_eq!(results.of(candidate, 3), (vec![1.0, 0.5], 2));
        assert_eq!(results.of(TrialArm::Incumbent, 3), (vec![0.0], 0));
        assert_eq!(results.of(TrialArm::Candidate(0), 3), (vec![], 0));
        assert!(results.has(key(candidate, 4, 0)) && !results.has(key(candidate, 4, 1)));
        assert_eq!((results.len(), results.is_empty()), (6, false));
    }
}
