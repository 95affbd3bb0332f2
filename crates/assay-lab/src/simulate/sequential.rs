//! The grid of simulated experiments that are looked at after each round.

use assay_stats::sequential::first_rounds;
use assay_stats::simulate::{Baseline, Design, Effect, Loss, SequentialFigures, simulate_rounds};
use assay_stats::{VerdictKind, verdict};

/// The equivalence margin of all cells.
const MARGIN: f64 = 0.1;

/// Rounds at most, as a multiple of the repetitions of the fixed design.
const LONGER: f64 = 1.2;

/// Suites that find the lift at which the fixed design has its planned power.
const PILOT: u64 = 2_000;

/// The planned power of the fixed design.
const POWER: f64 = 0.8;

/// The effect of a cell, and its tasks' pass rates without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequentialTruth {
    /// No effect on any task.
    Null(Rates),
    /// Effects of ±40 pp on tasks, 0 on average.
    Opposite,
    /// The lift at which the fixed design has a power of 80%.
    Planned(Rates),
    /// Twice this lift.
    Twice(Rates),
}

/// Pass rates of the tasks under the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// One half for every task, and the same effect on every task.
    Half,
    /// Beta(0.6, 0.9), and effects of standard deviation 0.2.
    Skewed,
    /// Most tasks almost always or almost never pass: [`Baseline::default`].
    Bimodal,
}

impl Rates {
    /// The name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Half => ".5",
            Self::Skewed => "skewed",
            Self::Bimodal => "bimodal",
        }
    }

    pub(super) fn baseline(self) -> Baseline {
        match self {
            // All but constant.
            Self::Half => Baseline::beta(1e5, 1e5).unwrap_or_default(),
            Self::Skewed => Baseline::beta(0.6, 0.9).unwrap_or_default(),
            Self::Bimodal => Baseline::default(),
        }
    }

    /// The standard deviation of the effects over tasks.
    fn spread(self) -> f64 {
        if self == Self::Skewed { 0.2 } else { 0.0 }
    }
}

impl SequentialTruth {
    /// The name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null(Rates::Half) => "null, pass rate .5",
            Self::Null(Rates::Skewed) => "null, skewed pass rates",
            Self::Null(Rates::Bimodal) => "null, bimodal pass rates",
            Self::Opposite => "null, task effects ±.4",
            Self::Planned(Rates::Half) => "planned, pass rate .5",
            Self::Planned(Rates::Skewed) => "planned, skewed pass rates",
            Self::Planned(Rates::Bimodal) => "planned, bimodal pass rates",
            Self::Twice(Rates::Half) => "twice planned, pass rate .5",
            Self::Twice(Rates::Skewed) => "twice planned, skewed pass rates",
            Self::Twice(Rates::Bimodal) => "twice planned, bimodal pass rates",
        }
    }

    /// Whether there is no effect on average.
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null(_) | Self::Opposite)
    }
}

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialCell {
    /// The effect.
    pub truth: SequentialTruth,
    /// Tasks.
    pub tasks: usize,
    /// Repetitions of the fixed design.
    pub repetitions: usize,
    /// Comparisons with the baseline.
    pub conditions: usize,
}

/// The grid: null cells of 5 to 84 tasks with 1 and 4 comparisons, and effects that a design of 30 or 84 tasks
/// detects.
pub fn sequential_grid() -> Vec<SequentialCell> {
    use Rates::{Bimodal, Half, Skewed};
    use SequentialTruth::{Null, Opposite, Planned, Twice};
    let mut cells = Vec::new();
    for truth in [Null(Half), Null(Skewed), Null(Bimodal), Opposite] {
        for tasks in [5, 12, 30, 84] {
            for repetitions in [5, 10] {
                cells.extend([1, 4].map(|conditions| SequentialCell {
                    truth,
                    tasks,
                    repetitions,
                    conditions,
                }));
            }
        }
    }
    for truth in [Half, Skewed, Bimodal].into_iter().flat_map(|rates| [Planned(rates), Twice(rates)]) {
        for tasks in [30, 84] {
            cells.extend([5, 10].map(|repetitions| SequentialCell {
                truth,
                tasks,
                repetitions,
                conditions: 1,
            }));
        }
    }
    cells
}

impl SequentialCell {
    /// Rounds at most.
    pub fn rounds(&self) -> usize {
        let rounds = (LONGER * self.repetitions as f64).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small positive number"
        )]
        let rounds = rounds as usize;
        rounds
    }

    fn design(&self, lift: f64) -> Design {
        let (rates, effect) = match self.truth {
            SequentialTruth::Null(rates) => (rates, Effect::None),
            SequentialTruth::Opposite => (Rates::Half, Effect::Opposite { shift: 0.4 }),
            SequentialTruth::Planned(rates) | SequentialTruth::Twice(rates) => {
                (rates, Effect::Uniform { lift, spread: rates.spread() })
            }
        };
        Design {
            baseline: rates.baseline(),
            effect,
            tasks: self.tasks,
            repetitions: self.rounds(),
            base_repetitions: self.rounds(),
            arms: self.conditions,
            margin: MARGIN,
            drift: 0.0,
            arm_loss: Loss::default(),
            base_loss: Loss::default(),
        }
    }

    /// The shift of pass rates at which the fixed design has its planned power, by halving.
    fn planned_lift(&self, seed: u64) -> f64 {
        let power = |lift: f64| {
            let design = self.design(lift);
            let found = (0..PILOT).filter(|index| {
                let suite = design.suite(seed ^ 0x5eed, *index);
                let tasks = first_rounds(&suite.arms[0], self.repetitions);
                verdict(&tasks, self.conditions, MARGIN, None).kind == VerdictKind::Helps
            });
            found.count() as f64 / PILOT as f64
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..8 {
            let middle = f64::midpoint(low, high);
            if power(middle) < POWER { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// Draws `suites` suites, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> SequentialFigures {
        let shift = match self.truth {
            SequentialTruth::Planned(_) => self.planned_lift(seed),
            SequentialTruth::Twice(_) => 2.0 * self.planned_lift(seed),
            _ => 0.0,
        };
        let design = self.design(shift);
        let lift = if self.truth.is_null() { 0.0 } else { design.true_lift() };
        simulate_rounds(&design, lift, self.repetitions, suites, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_rates_hold_and_trials_are_saved() {
        let cell = |truth| SequentialCell { truth, tasks: 30, repetitions: 5, conditions: 1 };
        let null = cell(SequentialTruth::Null(Rates::Half)).simulate(2_000, 3);
        // 5% and four standard errors.
        assert!(null.false_verdicts <= 0.05 + 0.0195 && null.coverage >= 0.935, "{null:?}");
        assert!(null.power == 0.0 && null.share > 0.5 && null.share <= 1.2, "{null:?}");
        let twice = cell(SequentialTruth::Twice(Rates::Bimodal)).simulate(500, 3);
        assert!(twice.power > 0.97 && twice.share < 0.6, "{twice:?}");
    }

    #[test]
    fn the_grid_has_all_cells() {
        let grid = sequential_grid();
        assert_eq!(grid.len(), 4 * 4 * 2 * 2 + 6 * 2 * 2);
        assert!(grid.iter().all(|cell| cell.rounds() > cell.repetitions));
        assert_eq!(grid.iter().filter(|cell| !cell.truth.is_null()).count(), 24);
    }
}
