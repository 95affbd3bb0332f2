//! Simulated strata by difficulty: what selection by the compared trials does, and what separate
//! halves do.

use rand_chacha::ChaCha8Rng;

use assay_stats::PairedTask;
use assay_stats::lift;
use assay_stats::random::{Purpose, stream, uniform};
use assay_stats::{Difficulty, held_out};

/// Tasks of a suite.
const TASKS: [usize; 2] = [20, 60];

/// Repetitions of either arm.
const REPETITIONS: [usize; 3] = [2, 4, 10];

/// The true lift on a task, as far as its pass rate does not exceed 1.
const LIFTS: [f64; 2] = [0.0, 0.2];

/// One cell of the grid. Pass rates of the baseline are uniform between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifficultyCell {
    /// The true lift.
    pub lift: f64,
    /// Tasks.
    pub tasks: usize,
    /// Trials of a task in either arm.
    pub repetitions: usize,
}

/// The figures of one stratum, over the suites that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifficultyFigures {
    /// The stratum.
    pub difficulty: Difficulty,
    /// Mean error of the lift where the same trials decide and are compared.
    pub error_same: f64,
    /// Mean error of the lift where halves are separate.
    pub error_separate: f64,
    /// Share of 95% intervals with separate halves that contain the true lift.
    pub coverage: f64,
    /// Share of suites with an interval.
    pub with_interval: f64,
}

/// The grid.
pub fn difficulty_grid() -> Vec<DifficultyCell> {
    let mut cells = Vec::new();
    for lift in LIFTS {
        for tasks in TASKS {
            cells.extend(REPETITIONS.map(|repetitions| DifficultyCell { lift, tasks, repetitions }));
        }
    }
    cells
}

/// A simulated task: true rates of baseline and arm, and their trials.
struct Simulated {
    rates: [f64; 2],
    trials: [Vec<f64>; 2],
}

impl Simulated {
    fn true_lift(&self) -> f64 {
        self.rates[1] - self.rates[0]
    }
}

/// Sums over suites.
#[derive(Default)]
struct Sums {
    suites: u64,
    same: f64,
    same_suites: u64,
    separate: f64,
    intervals: u64,
    covered: u64,
}

impl DifficultyCell {
    fn suite(&self, random: &mut ChaCha8Rng) -> Vec<Simulated> {
        let mut task = || {
            let base = uniform(random);
            let rates = [base, (base + self.lift).min(1.0)];
            let trials = rates.map(|rate| {
                (0..self.repetitions).map(|_| f64::from(u8::from(uniform(random) < rate))).collect()
            });
            Simulated { rates, trials }
        };
        (0..self.tasks).map(|_| task()).collect()
    }

    /// Draws `suites` suites, each with its own random stream. One row for each stratum.
    pub fn simulate(&self, suites: u64, seed: u64) -> Vec<DifficultyFigures> {
        let mut sums: [Sums; 3] = Default::default();
        for suite in 0..suites {
            let tasks = self.suite(&mut stream(seed, Purpose::Difficulty, suite));
            let bases: Vec<Vec<f64>> = tasks.iter().map(|task| task.trials[0].clone()).collect();
            let halves = held_out(&bases);
            for (difficulty, sums) in Difficulty::ALL.into_iter().zip(&mut sums) {
                sums.add_same(&tasks, difficulty);
                let own = halves.iter().filter(|half| half.difficulty == difficulty);
                let pairs: Vec<(PairedTask, f64)> = own
                    .map(|half| {
                        let task = &tasks[half.task];
                        let base = half.trials.iter().map(|at| task.trials[0][*at]).collect();
                        let cluster = Some(half.task as u64);
                        (PairedTask { arm: task.trials[1].clone(), base, cluster }, task.true_lift())
                    })
                    .collect();
                sums.add_separate(pairs);
            }
        }
        let share = |part: f64, whole: u64| part / whole.max(1) as f64;
        Difficulty::ALL
            .into_iter()
            .zip(sums)
            .map(|(difficulty, sums)| DifficultyFigures {
                difficulty,
                error_same: share(sums.same, sums.same_suites),
                error_separate: share(sums.separate, sums.suites),
                coverage: share(sums.covered as f64, sums.intervals),
                with_interval: share(sums.intervals as f64, suites),
            })
            .collect()
    }
}

impl Sums {
    /// The lift of the tasks that all trials of the baseline place in a stratum.
    fn add_same(&mut self, tasks: &[Simulated], difficulty: Difficulty) {
        let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
        let own = tasks.iter().filter(|task| Difficulty::of(mean(&task.trials[0])) == difficulty);
        let errors: Vec<f64> =
            own.map(|task| mean(&task.trials[1]) - mean(&task.trials[0]) - task.true_lift()).collect();
        if !errors.is_empty() {
            self.same += mean(&errors);
            self.same_suites += 1;
        }
    }

    /// The lift of a stratum's halves, with the true lift of each.
    fn add_separate(&mut self, pairs: Vec<(PairedTask, f64)>) {
        let truth = pairs.iter().map(|(_, truth)| truth).sum::<f64>() / pairs.len().max(1) as f64;
        let tasks: Vec<PairedTask> = pairs.into_iter().map(|(task, _)| task).collect();
        let Some(estimate) = lift(&tasks, 0.95) else { return };
        self.suites += 1;
        self.separate += estimate.mean - truth;
        if let Some(interval) = estimate.interval {
            self.intervals += 1;
            self.covered += u64::from(interval.low <= truth && truth <= interval.high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an effect the same trials make hard tasks better and easy tasks worse; separate halves
    /// do not.
    #[test]
    fn separate_halves_have_no_regression_to_the_mean() {
        let cell = DifficultyCell { lift: 0.0, tasks: 20, repetitions: 4 };
        let [hard, medium, easy] = cell.simulate(2000, 1)[..] else { panic!("three strata") };
        // With pass rates uniform in [0, 1] and k passes of n = 4 trials, E[p] = (k + 1)/(n + 2). Hard is
        // k = 0 and 1: both have probability 1/5, and errors of 1/6 − 0 and 2/6 − 1/4; the mean is 1/8.
        assert!((hard.error_same - 0.125).abs() < 0.01, "{hard:?}");
        assert!((easy.error_same + 0.125).abs() < 0.01, "{easy:?}");
        for found in [hard, medium, easy] {
            // Standard error below .003.
            assert!(found.error_separate.abs() < 0.01, "{found:?}");
            assert!(found.coverage > 0.935 && found.with_interval > 0.5, "{found:?}");
        }
    }
}
