//! Versions of a skill on one set of tasks.

use rand_chacha::ChaCha8Rng;

use assay_stats::random::{Purpose, normal, stream, uniform};
use assay_stats::simulate::Baseline;

/// The tasks that a change of a skill affects.
const AFFECTED: f64 = 0.5;

/// The standard deviation of a change's effects over the tasks that it affects, as of [`assay_stats::plan::SPREAD`].
const SPREAD: f64 = 0.5;

/// The tasks of a skill, and the random numbers of everything that happens on them.
#[derive(Debug)]
pub struct Versions {
    random: ChaCha8Rng,
    rates: Vec<f64>,
}

impl Versions {
    /// The set of tasks with number `index` under `seed`.
    pub fn new(baseline: Baseline, tasks: usize, seed: u64, index: u64) -> Self {
        let mut random = stream(seed, Purpose::Versions, index);
        let rates = (0..tasks).map(|_| baseline.draw_rate(&mut random)).collect();
        Self { random, rates }
    }

    /// The pass rates of the first version.
    pub fn rates(&self) -> Vec<f64> {
        self.rates.clone()
    }

    /// The rates of a version that is worse by `loss` on average, if those given have the mean `mean` in the population of
    /// tasks. Half of the tasks lose the same share of their rate, or all tasks where that is not enough.
    pub fn worsened(&mut self, rates: &[f64], mean: f64, loss: f64) -> Vec<f64> {
        let share = if mean > 0.0 { (loss / mean).clamp(0.0, 1.0) } else { 1.0 };
        let (affected, factor) =
            if share <= AFFECTED { (AFFECTED, 1.0 - share / AFFECTED) } else { (1.0, 1.0 - share) };
        rates
            .iter()
            .map(|rate| if uniform(&mut self.random) < affected { rate * factor } else { *rate })
            .collect()
    }

    /// The rates of a version that is worse by `loss` on average, all of it on few tasks: a share of them never passes any more.
    pub fn broken(&mut self, rates: &[f64], mean: f64, loss: f64) -> Vec<f64> {
        let share = if mean > 0.0 { loss / mean } else { 1.0 };
        rates.iter().map(|rate| if uniform(&mut self.random) < share { 0.0 } else { *rate }).collect()
    }

    /// The rates of a version that is as good on average: half of the tasks change by normal variates, and each such change is
    /// as likely to be up as down at its rate, however close that is to 0 or 1.
    pub fn mixed(&mut self, rates: &[f64]) -> Vec<f64> {
        rates
            .iter()
            .map(|rate| {
                let (is_affected, change) =
                    (uniform(&mut self.random) < AFFECTED, (SPREAD * normal(&mut self.random)).abs());
                let up = uniform(&mut self.random);
                if !is_affected {
                    return *rate;
                }
                // A step up of u with the chance d/(u + d) and down of d with u/(u + d) has the mean 0.
                let (rise, fall) = (change.min(1.0 - rate), change.min(*rate));
                if up * (rise + fall) < fall { rate + rise } else { rate - fall }
            })
            .collect()
    }

    /// The rates of a session in which all tasks are harder or easier by one normal variate.
    pub fn session(&mut self, rates: &[f64], sd: f64) -> Vec<f64> {
        let shift = sd * normal(&mut self.random);
        rates.iter().map(|rate| (rate + shift).clamp(0.0, 1.0)).collect()
    }

    /// Trials of a version with these rates, task by task.
    pub fn trials(&mut self, rates: &[f64], repetitions: usize) -> Vec<Vec<f64>> {
        let random = &mut self.random;
        rates
            .iter()
            .map(|rate| (0..repetitions).map(|_| if uniform(random) < *rate { 1.0 } else { 0.0 }).collect())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn changes_have_their_mean() {
        let baseline = Baseline::default();
        let mut versions = Versions::new(baseline, 40_000, 3, 0);
        let first = versions.rates();
        let before = mean(&first);
        let mut check = |loss: f64, factor: f64| {
            let worse = versions.worsened(&first, baseline.mean(), loss);
            assert!(
                (before - mean(&worse) - loss.min(before)).abs() < 0.006,
                "{loss}: {before} {}",
                mean(&worse)
            );
            assert!(
                worse
                    .iter()
                    .zip(&first)
                    .all(|(new, old)| { (new - old).abs() < 1e-15 || (new - old * factor).abs() < 1e-12 })
            );
        };
        // A share of 1/4 of the mean: half of the tasks lose half. Of 3/4: all lose 3/4.
        check(0.1, 0.5);
        check(0.3, 0.25);
        check(0.9, 0.0);
        let broken = versions.broken(&first, baseline.mean(), 0.1);
        assert!((before - mean(&broken) - 0.1).abs() < 0.006, "{before} {}", mean(&broken));
        assert!(broken.iter().zip(&first).all(|(new, old)| new.abs() < 1e-15 || (new - old).abs() < 1e-15));
        let shifted = versions.session(&[0.5; 3], 0.1);
        assert!((shifted[0] - 0.5).abs() > 1e-9 && shifted == [shifted[0]; 3], "{shifted:?}");
        let mixed = versions.mixed(&first);
        assert!((before - mean(&mixed)).abs() < 0.01, "{before} {}", mean(&mixed));
        assert!(mixed.iter().all(|rate| (0.0..=1.0).contains(rate)));
        let moved = mixed.iter().zip(&first).filter(|(new, old)| (*new - *old).abs() > 0.05).count();
        assert!(moved > 2_000, "{moved}");
    }

    #[test]
    fn trials_pass_at_their_rates_and_each_set_has_its_own() {
        let mut versions = Versions::new(Baseline::default(), 3, 1, 7);
        let trials = versions.trials(&[0.0, 1.0, 0.5], 2_000);
        assert_eq!((mean(&trials[0]), mean(&trials[1])), (0.0, 1.0));
        assert!((mean(&trials[2]) - 0.5).abs() < 0.05);
        let rates = |seed, index| Versions::new(Baseline::default(), 3, seed, index).rates();
        assert_eq!(rates(1, 7), rates(1, 7));
        assert!(rates(1, 7) != rates(1, 8) && rates(1, 7) != rates(2, 7));
    }
}
