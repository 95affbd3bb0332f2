//! Scores between 0 and 1, from judges' scores that vary little within a task to outcomes that are partial now and then.

use rand_chacha::ChaCha8Rng;

use assay_stats::random::{Purpose, stream, uniform};
use assay_stats::sample::{Sample, paired};
use assay_stats::{FEWEST_UNITS, Interval, PairedTask, VerdictKind, lift, verdict};

use super::sequential::Rates;

/// The equivalence margin of all cells.
const MARGIN: f64 = 0.1;

/// The share of tasks with an effect, and how much more of their trials pass.
const MOVED: (f64, f64) = (0.15, 0.8);

/// Draws of a task that give the true lift with a standard error below .001.
const TRUTH: u64 = 200_000;

/// One cell of the grid: suites of tasks that mostly pass or fail, with partial credit in some trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradedCell {
    /// The pass rates of the tasks.
    pub rates: Rates,
    /// Tasks.
    pub tasks: usize,
    /// Repetitions.
    pub repetitions: usize,
    /// The share of trials whose score is between their outcome and 1.
    pub partial: f64,
}

/// Shares of suites, with the estimated variance of a trial and with ¼ for every trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GradedFigures {
    /// With a false `helps` or `harms` where no task has an effect.
    pub wrong: f64,
    /// The same with ¼.
    pub quarter_wrong: f64,
    /// Whose 95% interval contains the lift where 15% of the tasks have a large effect.
    pub coverage: f64,
    /// The same with ¼.
    pub quarter_coverage: f64,
}

/// The grid.
pub fn graded_grid() -> Vec<GradedCell> {
    let mut cells = Vec::new();
    for rates in [Rates::Half, Rates::Skewed, Rates::Bimodal] {
        for (tasks, repetitions) in [(8, 3), (12, 3), (12, 5), (30, 3)] {
            for partial in [0.02, 0.1, 0.3] {
                cells.push(GradedCell { rates, tasks, repetitions, partial });
            }
        }
    }
    cells
}

/// The 95% interval with a variance of ¼ for every trial, the rule for scores of 0 and 1.
fn quarter(tasks: &[PairedTask]) -> Option<Interval> {
    let sample = Sample::of_paired(&paired(tasks), 0.25, 1.0);
    sample.has(FEWEST_UNITS).then(|| sample.moments().interval(0.025, (-1.0, 1.0))).flatten()
}

impl GradedCell {
    /// Draws `suites` suites without an effect and as many with one on few tasks, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> GradedFigures {
        let truth = self.true_lift(seed);
        let mut sums = GradedFigures::default();
        let count = |yes: bool| f64::from(u8::from(yes));
        for number in 0..suites {
            let mut random = stream(seed, Purpose::Graded, number);
            let none = self.suite(false, &mut random);
            let is_wrong =
                matches!(verdict(&none, 1, MARGIN, None).kind, VerdictKind::Helps | VerdictKind::Harms);
            sums.wrong += count(is_wrong);
            sums.quarter_wrong += count(quarter(&none).is_some_and(Interval::excludes_zero));
            let some = self.suite(true, &mut random);
            let covers = |interval: Option<Interval>| {
                count(interval.is_some_and(|found| found.low <= truth && truth <= found.high))
            };
            sums.coverage += covers(lift(&some, 0.95).and_then(|lift| lift.interval));
            sums.quarter_coverage += covers(quarter(&some));
        }
        for sum in [&mut sums.wrong, &mut sums.quarter_wrong, &mut sums.coverage, &mut sums.quarter_coverage]
        {
            *sum /= suites.max(1) as f64;
        }
        sums
    }

    fn suite(&self, is_moved: bool, random: &mut ChaCha8Rng) -> Vec<PairedTask> {
        (0..self.tasks)
            .map(|_| {
                let [base, arm] = self.task_rates(is_moved, random);
                let mut scores =
                    |rate: f64| (0..self.repetitions).map(|_| self.score(rate, random)).collect();
                PairedTask { base: scores(base), arm: scores(arm), cluster: None }
            })
            .collect()
    }

    fn task_rates(&self, is_moved: bool, random: &mut ChaCha8Rng) -> [f64; 2] {
        let base = self.rates.baseline().draw_rate(random);
        let more = if is_moved && uniform(random) < MOVED.0 { MOVED.1 } else { 0.0 };
        [base, (base + more).min(1.0)]
    }

    fn score(&self, rate: f64, random: &mut ChaCha8Rng) -> f64 {
        let outcome = f64::from(u8::from(uniform(random) < rate));
        if uniform(random) < self.partial { 0.5 * (outcome + uniform(random)) } else { outcome }
    }

    /// The mean of partial credit halves an outcome and adds a quarter.
    fn true_lift(&self, seed: u64) -> f64 {
        let mut random = stream(seed, Purpose::Graded, u64::from(u32::MAX));
        let sum: f64 = (0..TRUTH)
            .map(|_| {
                let [base, arm] = self.task_rates(true, &mut random);
                arm - base
            })
            .sum();
        (1.0 - 0.5 * self.partial) * sum / TRUTH as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_credit_gives_no_false_verdicts() {
        for cell in graded_grid().into_iter().filter(|cell| cell.tasks < 30) {
            let found = cell.simulate(500, 5);
            // 5.5% and two standard errors.
            assert!(found.wrong <= 0.055 + 0.021, "{cell:?} {found:?}");
            assert!(
                found.coverage > 0.8 && found.coverage <= found.quarter_coverage + 0.02,
                "{cell:?} {found:?}"
            );
        }
    }
}
