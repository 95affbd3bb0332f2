//! Coverage of the lifts of pass^k and pass@k.

use assay_stats::random::{Purpose, stream};
use assay_stats::{Reliability, reliability_lift};

use super::effects::{TaskEffects, draw_task};

/// k.
const TRIALS: u32 = 3;

/// Tasks from which the true lift is computed.
const POPULATION: u32 = 2_000_000;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityCell {
    /// The effects of the tasks.
    pub truth: TaskEffects,
    /// Tasks.
    pub tasks: usize,
    /// Trials of a task in either arm.
    pub repetitions: usize,
}

/// What suites of a cell gave, for pass^k and for pass@k.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReliabilityFigures {
    /// The true lifts.
    pub lift: [f64; 2],
    /// Mean errors of the estimates.
    pub error: [f64; 2],
    /// Shares of 95% intervals that contain the true lift.
    pub coverage: [f64; 2],
    /// Their mean widths.
    pub width: [f64; 2],
}

/// The grid.
pub fn reliability_grid() -> Vec<ReliabilityCell> {
    let mut cells = Vec::new();
    for truth in TaskEffects::ALL {
        for tasks in [10, 30, 84] {
            cells.extend([3, 5, 10].map(|repetitions| ReliabilityCell { truth, tasks, repetitions }));
        }
    }
    cells
}

impl ReliabilityCell {
    /// Draws `suites` suites, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> ReliabilityFigures {
        let mut found = ReliabilityFigures { lift: self.true_lifts(seed), ..ReliabilityFigures::default() };
        for suite in 0..suites {
            let random = &mut stream(seed, Purpose::Reliability, suite + 1);
            let rates: Vec<[f64; 2]> = (0..self.tasks).map(|_| self.truth.draw_rates(random)).collect();
            let tasks: Vec<_> =
                rates.iter().map(|rates| draw_task(*rates, self.repetitions, random)).collect();
            for (at, what) in [Reliability::All(TRIALS), Reliability::Any(TRIALS)].into_iter().enumerate() {
                let Some(estimate) = reliability_lift(&tasks, what, 0.95) else { continue };
                let Some(interval) = estimate.interval else { continue };
                let truth = found.lift[at];
                found.error[at] += (estimate.lift - truth) / suites as f64;
                let inside = interval.low <= truth && truth <= interval.high;
                found.coverage[at] += f64::from(u8::from(inside)) / suites as f64;
                found.width[at] += interval.width() / suites as f64;
            }
        }
        found
    }

    fn true_lifts(&self, seed: u64) -> [f64; 2] {
        if self.truth.is_null() {
            return [0.0, 0.0];
        }
        let random = &mut stream(seed, Purpose::Reliability, 0);
        let mut sums = [0.0, 0.0];
        for _ in 0..POPULATION {
            let [base, arm] = self.truth.draw_rates(random);
            let power = |rate: f64| rate.powf(f64::from(TRIALS));
            sums[0] += power(arm) - power(base);
            sums[1] += power(1.0 - base) - power(1.0 - arm);
        }
        sums.map(|sum| sum / f64::from(POPULATION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of 0 and .2 in equal parts, of which 15% rise to .8 and 1: pass^3 rises by .15·(.8³ + 1 − .2³)/2, pass@3 by
    /// .15·(1 − .2³ + .8³)/2.
    #[test]
    fn estimates_are_right_on_average_and_intervals_cover() {
        let cell = ReliabilityCell { truth: TaskEffects::Bimodal, tasks: 30, repetitions: 5 };
        let found = cell.simulate(400, 1);
        for at in 0..2 {
            assert!((found.lift[at] - 0.15 * (0.512 + 1.0 - 0.008) / 2.0).abs() < 0.001, "{found:?}");
            // Standard errors of .004 and .011.
            assert!(found.error[at].abs() < 0.015 && found.coverage[at] > 0.91, "{found:?}");
        }
    }
}
