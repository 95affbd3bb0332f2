//! Rules by which tools that edit skills accept an edit. Candidates come one after another, and an accepted one is the incumbent
//! from then on.

use crate::campaign::{TrialArm, World};

/// Tasks of a minibatch: the default of GEPA (`reflection_minibatch_size`).
const MINIBATCH: usize = 3;

/// The standard errors of cap-evolve's default (`gate_k_se`).
const STANDARD_ERRORS: f64 = 1.0;

/// The error rate of an e-process per edit.
const E_PROCESS_LEVEL: f64 = 0.05;

/// The largest share of the wealth that is bet: no outcome can take all of it.
const LARGEST_BET: f64 = 0.5;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptRule {
    /// That of [`crate::campaign`].
    Assay,
    /// The mean over all tasks is higher than that of the incumbent, which is measured once.
    StrictlyHigher,
    /// The sum over a minibatch, on which both are measured, is higher.
    MinibatchSum,
    /// The mean of the paired differences over all tasks is above its standard error.
    StandardErrors,
    /// An e-process of paired differences reaches 20: PACE (arXiv 2606.08106), with the bets of Waudby-Smith & Ramdas (2024).
    EProcess,
}

impl AcceptRule {
    /// All rules.
    pub const ALL: [Self; 5] =
        [Self::Assay, Self::StrictlyHigher, Self::MinibatchSum, Self::StandardErrors, Self::EProcess];

    /// The name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assay => "assay",
            Self::StrictlyHigher => "strictly-higher",
            Self::MinibatchSum => "minibatch-sum",
            Self::StandardErrors => "k-standard-errors",
            Self::EProcess => "e-process",
        }
    }

    /// The candidates that a rule of another tool accepts in a campaign, and the number of trials.
    pub(super) fn run(self, world: &mut World) -> (Vec<usize>, usize) {
        let mut course = Course { world, incumbent: TrialArm::Incumbent, trials: 0, accepted: Vec::new() };
        match self {
            Self::Assay => {}
            Self::StrictlyHigher => course.compare_all(|candidate, incumbent| {
                candidate.iter().sum::<f64>() > incumbent.iter().sum::<f64>()
            }),
            Self::StandardErrors => course.compare_all(is_above_standard_errors),
            Self::MinibatchSum => course.compare_minibatches(),
            Self::EProcess => course.bet(),
        }
        (course.accepted, course.trials)
    }
}

/// A campaign of a rule.
struct Course<'a> {
    world: &'a mut World,
    incumbent: TrialArm,
    trials: usize,
    accepted: Vec<usize>,
}

impl Course<'_> {
    fn trial(&mut self, arm: TrialArm, task: usize) -> f64 {
        self.trials += 1;
        self.world.trial(arm, task)
    }

    fn all_tasks(&mut self, arm: TrialArm) -> Vec<f64> {
        (0..self.world.tasks()).map(|task| self.trial(arm, task)).collect()
    }

    fn accept(&mut self, candidate: usize) {
        self.incumbent = TrialArm::Candidate(candidate);
        self.accepted.push(candidate);
    }

    /// Compares the scores of all tasks, of which those of the incumbent are kept.
    fn compare_all(&mut self, accepts: impl Fn(&[f64], &[f64]) -> bool) {
        let mut best = self.all_tasks(TrialArm::Incumbent);
        for candidate in 0..self.world.candidates() {
            let scores = self.all_tasks(TrialArm::Candidate(candidate));
            if accepts(&scores, &best) {
                self.accept(candidate);
                best = scores;
            }
        }
    }

    /// Compares sums over minibatches, which go through the tasks in random order again and again. An accepted candidate is
    /// measured on all tasks, as the first incumbent is.
    fn compare_minibatches(&mut self) {
        self.all_tasks(TrialArm::Incumbent);
        let mut order = Vec::new();
        for candidate in 0..self.world.candidates() {
            let mut difference = 0.0;
            for _ in 0..MINIBATCH {
                if order.is_empty() {
                    order = (0..self.world.tasks()).collect::<Vec<usize>>();
                }
                let at = self.world.draw_index(order.len());
                let task = order.swap_remove(at);
                difference +=
                    self.trial(TrialArm::Candidate(candidate), task) - self.trial(self.incumbent, task);
            }
            if difference > 0.5 {
                self.accept(candidate);
                self.all_tasks(self.incumbent);
            }
        }
    }

    /// Bets on each task that the candidate is better, until the wealth is that of the level or no task is left.
    fn bet(&mut self) {
        for candidate in 0..self.world.candidates() {
            let (mut wealth, mut sum, mut squares) = (1.0, 0.0, 0.0);
            for task in 0..self.world.tasks() {
                let bet = bet(task as f64, sum, squares);
                let difference =
                    self.trial(TrialArm::Candidate(candidate), task) - self.trial(self.incumbent, task);
                wealth *= 1.0 + bet * difference;
                sum += difference;
                squares += difference * difference;
                if wealth >= 1.0 / E_PROCESS_LEVEL {
                    self.accept(candidate);
                    break;
                }
            }
        }
    }
}

/// The share that is bet after `n` differences: their mean over the sum of their variance and its square (aGRAPA), with one
/// difference of variance ¼ before the first.
fn bet(n: f64, sum: f64, squares: f64) -> f64 {
    let mean = sum / (n + 1.0);
    let variance = ((squares + 0.25) / (n + 1.0) - mean * mean).max(1e-6);
    (mean / (variance + mean * mean)).clamp(0.0, LARGEST_BET)
}

/// Whether the mean difference is above its standard error; without any spread, whether it is above 0.
fn is_above_standard_errors(candidate: &[f64], incumbent: &[f64]) -> bool {
    let differences: Vec<f64> = candidate.iter().zip(incumbent).map(|(one, other)| one - other).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // A single task that turned has a mean of exactly one standard error, which is not above it.
    mean > STANDARD_ERRORS * (variance / n).sqrt() + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_errors_by_hand() {
        let check = |differences: &[f64], expected: bool| {
            let base = vec![0.0; differences.len()];
            assert_eq!(is_above_standard_errors(differences, &base), expected, "{differences:?}");
        };
        check(&[1.0, 0.0, 0.0, 0.0], false);
        check(&[1.0, 1.0, 0.0, 0.0], true);
        check(&[0.0; 4], false);
        check(&[0.5; 4], true);
        check(&[-1.0, 0.0, 0.0, 0.0], false);
    }

    #[test]
    fn bets_are_on_candidates_that_were_better_so_far() {
        assert!(bet(0.0, 0.0, 0.0).abs() < 1e-12);
        assert!(bet(4.0, -2.0, 2.0).abs() < 1e-12);
        assert!((bet(4.0, 4.0, 4.0) - LARGEST_BET).abs() < 1e-12);
        // A mean of 1/9 and a variance of 4.25/9 − 1/81.
        assert!((bet(8.0, 1.0, 4.0) - (1.0 / 9.0) / (4.25 / 9.0)).abs() < 1e-12);
    }
}
