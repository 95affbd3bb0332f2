//! Simulated metrics with known effects: costs with log-normal and heavy tails.
//!
//! A task has a level exp(N(0, 1)), and the value of a trial is that level times the noise of a
//! trial. Effects are ratios on a log scale, and differences in units of the median level on a
//! linear one.

use rand_chacha::ChaCha8Rng;

use assay_stats::PairedTask;
use assay_stats::random::{Purpose, normal, stream, uniform};
use assay_stats::{MetricScale, MetricVerdict, metric_effect, metric_verdict};

/// Tasks of a suite.
const TASKS: [usize; 4] = [8, 12, 20, 40];

/// Repetitions of either arm.
const REPETITIONS: [[usize; 2]; 3] = [[1, 1], [3, 3], [5, 2]];

/// Standard deviation of a trial's logarithm around its task's.
const NOISE: f64 = 0.4;

/// The margin: a ratio on a log scale, a difference on a linear one.
const MARGIN: [f64; 2] = [1.25, 0.25];

/// The lower limit of coverage.
const COVERAGE: f64 = 0.935;

/// The upper limit of each kind of wrong verdict.
const WRONG: f64 = 0.05;

/// The noise of a trial: what its value is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricNoise {
    /// The logarithm is normal.
    LogNormal,
    /// The logarithm has Student's t distribution with three degrees of freedom: now and then a trial
    /// costs a multiple or a fraction.
    LogT,
    /// A Pareto number with index 2.5: now and then a trial runs away. Its variance is barely finite.
    Pareto,
}

/// The effect of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricTruth {
    /// None.
    Null,
    /// None on average; half as large as the noise, in either direction, from task to task.
    Mixed,
    /// Exactly the margin, on every task.
    Margin,
    /// The margin on average, exponentially distributed over tasks.
    Skewed,
}

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricCell {
    /// The effect.
    pub truth: MetricTruth,
    /// The scale of the comparison.
    pub scale: MetricScale,
    /// The noise of trials.
    pub noise: MetricNoise,
    /// Tasks.
    pub tasks: usize,
    /// Trials of a task under the baseline and under the arm.
    pub repetitions: [usize; 2],
}

/// How often intervals and verdicts were right; shares of suites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricFigures {
    /// 95% intervals that contain the effect.
    pub coverage: f64,
    /// Verdicts `higher`.
    pub higher: f64,
    /// Verdicts `lower`.
    pub lower: f64,
    /// Verdicts `negligible`.
    pub negligible: f64,
    /// Verdicts that are false: `higher` or `lower` without an effect, `lower` or `negligible` with one
    /// of the margin's size.
    pub false_verdicts: f64,
}

/// The grid: every truth, scale and noise at every size.
pub fn metric_grid() -> Vec<MetricCell> {
    let mut cells = Vec::new();
    for scale in [MetricScale::Log, MetricScale::Linear] {
        for noise in [MetricNoise::LogNormal, MetricNoise::LogT, MetricNoise::Pareto] {
            for truth in [MetricTruth::Null, MetricTruth::Mixed, MetricTruth::Margin, MetricTruth::Skewed] {
                for tasks in TASKS {
                    for repetitions in REPETITIONS {
                        cells.push(MetricCell { truth, scale, noise, tasks, repetitions });
                    }
                }
            }
        }
    }
    cells
}

impl MetricCell {
    /// The figures outside their limits, by name: `coverage` or `false verdicts`.
    pub fn misses(&self, figures: &MetricFigures) -> Vec<&'static str> {
        let mut misses = Vec::new();
        if figures.coverage < COVERAGE {
            misses.push("coverage");
        }
        if figures.false_verdicts > WRONG {
            misses.push("false verdicts");
        }
        misses
    }

    fn margin(&self) -> f64 {
        MARGIN[usize::from(self.scale == MetricScale::Linear)]
    }

    /// The true effect, in the terms of [`metric_effect`].
    fn effect(&self) -> f64 {
        match (self.truth, self.scale) {
            (MetricTruth::Null | MetricTruth::Mixed, MetricScale::Log) => 1.0,
            (MetricTruth::Null | MetricTruth::Mixed, MetricScale::Linear) => 0.0,
            (MetricTruth::Margin | MetricTruth::Skewed, _) => self.margin(),
        }
    }

    /// One suite.
    fn suite(&self, random: &mut ChaCha8Rng) -> Vec<PairedTask> {
        let margin = if self.scale == MetricScale::Log { self.margin().ln() } else { self.margin() };
        (0..self.tasks)
            .map(|_| {
                let level = normal(random).exp();
                let effect = match self.truth {
                    MetricTruth::Null => 0.0,
                    MetricTruth::Mixed => 0.5 * NOISE * normal(random),
                    MetricTruth::Margin => margin,
                    MetricTruth::Skewed => -margin * uniform(random).ln(),
                };
                let [base, arm] = self.repetitions.map(|trials| {
                    (0..trials).map(|_| level * self.noise.factor(random)).collect::<Vec<f64>>()
                });
                let changed = |value: f64| match self.scale {
                    MetricScale::Log => value * effect.exp(),
                    MetricScale::Linear => value + effect,
                };
                PairedTask { arm: arm.into_iter().map(changed).collect(), base, cluster: None }
            })
            .collect()
    }

    /// Draws `suites` suites, each with its own random stream, and judges them.
    pub fn simulate(&self, suites: u64, seed: u64) -> MetricFigures {
        let [mut covered, mut higher, mut lower, mut negligible] = [0_u64; 4];
        for suite in 0..suites {
            let tasks = self.suite(&mut stream(seed, Purpose::Metric, suite));
            let Some(interval) = metric_effect(&tasks, self.scale, 0.95).and_then(|found| found.interval)
            else {
                continue;
            };
            let effect = self.effect();
            covered += u64::from(interval.low <= effect && effect <= interval.high);
            match metric_verdict(interval, self.scale, Some(self.margin())) {
                MetricVerdict::Higher => higher += 1,
                MetricVerdict::Lower => lower += 1,
                MetricVerdict::Negligible => negligible += 1,
                MetricVerdict::Inconclusive => {}
            }
        }
        let share = |count: u64| count as f64 / suites.max(1) as f64;
        let is_null = matches!(self.truth, MetricTruth::Null | MetricTruth::Mixed);
        MetricFigures {
            coverage: share(covered),
            higher: share(higher),
            lower: share(lower),
            negligible: share(negligible),
            false_verdicts: share(lower + if is_null { higher } else { negligible }),
        }
    }
}

impl MetricNoise {
    fn factor(self, random: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::LogNormal => (NOISE * normal(random)).exp(),
            Self::LogT => {
                // t(3) = N/√(χ²(3)/3), whose standard deviation is √3.
                let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                (NOISE / 3_f64.sqrt() * normal(random) / (squares / 3.0).sqrt()).exp()
            }
            Self::Pareto => uniform(random).powf(-1.0 / 2.5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `assay lab simulate --grid metrics` prints the whole grid. The figures of so few suites vary by
    /// two percentage points (four standard errors).
    #[test]
    fn intervals_of_metrics_contain_the_effect_and_verdicts_are_rarely_false() {
        for cell in metric_grid().into_iter().filter(|cell| cell.tasks == 12 && cell.repetitions == [3, 3]) {
            let found = cell.simulate(2_000, 7);
            assert!(found.false_verdicts < WRONG + 0.02, "{cell:?}: {found:?}");
            let least = if cell.truth == MetricTruth::Skewed { 0.90 } else { COVERAGE - 0.02 };
            assert!(found.coverage > least, "{cell:?}: {found:?}");
        }
    }

    #[test]
    fn a_ratio_of_the_margin_is_found_in_large_suites() {
        let cell = MetricCell {
            truth: MetricTruth::Margin,
            scale: MetricScale::Log,
            noise: MetricNoise::LogNormal,
            tasks: 40,
            repetitions: [3, 3],
        };
        assert!(cell.simulate(200, 1).higher > 0.8);
    }
}
