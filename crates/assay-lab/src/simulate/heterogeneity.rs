//! Coverage of the interval of τ and of the prediction interval of a new task.

use assay_stats::random::{Purpose, stream};
use assay_stats::{heterogeneity, moved_share};

use super::effects::{TaskEffects, draw_task};

/// Tasks from which the true spread is computed.
const POPULATION: u32 = 400_000;

/// New tasks for each simulated suite.
const NEW_TASKS: u32 = 10;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeterogeneityCell {
    /// The effects of the tasks.
    pub truth: TaskEffects,
    /// Tasks.
    pub tasks: usize,
    /// Trials of a task in either arm.
    pub repetitions: usize,
}

/// What suites of a cell gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeterogeneityFigures {
    /// The true τ.
    pub tau: f64,
    /// Its mean estimate.
    pub estimate: f64,
    /// Share of 95% intervals that contain the true τ.
    pub coverage: f64,
    /// Their mean width.
    pub width: f64,
    /// Share of new tasks whose true lift is in the 95% prediction interval.
    pub predicted: f64,
    /// Its mean width.
    pub prediction_width: f64,
    /// The true share of tasks that move.
    pub moves: f64,
    /// Its mean estimate.
    pub moved: f64,
}

/// The grid.
pub fn heterogeneity_grid() -> Vec<HeterogeneityCell> {
    let mut cells = Vec::new();
    for truth in TaskEffects::ALL {
        for tasks in [10, 20, 30, 84] {
            cells.extend([3, 5, 10].map(|repetitions| HeterogeneityCell { truth, tasks, repetitions }));
        }
    }
    cells
}

impl HeterogeneityCell {
    /// Draws `suites` suites, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> HeterogeneityFigures {
        let mut found = self.truth_of(seed);
        let (mut intervals, mut sums) = (0_u64, HeterogeneityFigures::default());
        for suite in 0..suites {
            let random = &mut stream(seed, Purpose::Heterogeneity, suite + 1);
            let rates: Vec<[f64; 2]> = (0..self.tasks).map(|_| self.truth.draw_rates(random)).collect();
            let tasks: Vec<_> =
                rates.iter().map(|rates| draw_task(*rates, self.repetitions, random)).collect();
            let Some(spread) = heterogeneity(&tasks) else { continue };
            let Some((interval, prediction)) = spread.tau_interval.zip(spread.prediction) else { continue };
            intervals += 1;
            sums.estimate += spread.tau;
            sums.coverage += f64::from(u8::from(interval.low <= found.tau && found.tau <= interval.high));
            sums.width += interval.width();
            sums.prediction_width += prediction.width();
            sums.moved += moved_share(&tasks).unwrap_or_default();
            for _ in 0..NEW_TASKS {
                let [base, arm] = self.truth.draw_rates(random);
                let inside = prediction.low <= arm - base && arm - base <= prediction.high;
                sums.predicted += f64::from(u8::from(inside)) / f64::from(NEW_TASKS);
            }
        }
        let share = |sum: f64| sum / intervals.max(1) as f64;
        found.estimate = share(sums.estimate);
        found.coverage = share(sums.coverage);
        found.width = share(sums.width);
        found.predicted = share(sums.predicted);
        found.prediction_width = share(sums.prediction_width);
        found.moved = share(sums.moved);
        found
    }

    /// The true spread, and the true share of tasks that move.
    fn truth_of(&self, seed: u64) -> HeterogeneityFigures {
        let random = &mut stream(seed, Purpose::Heterogeneity, 0);
        let (mut sum, mut squares, mut moves) = (0.0, 0.0, 0.0);
        for _ in 0..POPULATION {
            let [base, arm] = self.truth.draw_rates(random);
            sum += arm - base;
            squares += (arm - base).powi(2);
            moves += f64::from(u8::from((arm - base).abs() > 1e-12));
        }
        let n = f64::from(POPULATION);
        let tau = (squares / n - (sum / n).powi(2)).max(0.0).sqrt();
        HeterogeneityFigures { tau, moves: moves / n, ..HeterogeneityFigures::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of 0 and .2 in equal parts, of which 15% rise to .8 and 1: every effect is .8, so τ = .8·√(.15·.85).
    #[test]
    fn the_true_spread_by_hand() {
        let cell = HeterogeneityCell { truth: TaskEffects::Bimodal, tasks: 10, repetitions: 3 };
        let found = cell.truth_of(1);
        assert!((found.tau - 0.8 * (0.15_f64 * 0.85).sqrt()).abs() < 0.003, "{found:?}");
        assert!((found.moves - 0.15).abs() < 0.003, "{found:?}");
    }

    /// Standard errors below .015 at these numbers of suites.
    #[test]
    fn intervals_cover() {
        let cell = HeterogeneityCell { truth: TaskEffects::Uniform, tasks: 20, repetitions: 5 };
        let found = cell.simulate(400, 1);
        assert!(found.coverage > 0.91 && found.predicted > 0.88, "{found:?}");
        assert!(found.width > 0.1 && found.prediction_width > found.width, "{found:?}");
        assert_eq!(found, cell.simulate(400, 1));
    }
}
