//! Simulated experiments that are looked at after each round: error rates, coverage, power and trials, beside the
//! fixed design on the same suites.

use super::baseline::Baseline;
use super::truth::{Design, Effect, Loss};
use crate::paired_task::PairedTask;
use crate::sequential::{Look, SequentialPlan, StagedEnd, first_rounds, rounds_to_look_at};
use crate::verdict::{VerdictKind, verdict};

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

/// What the suites of a cell gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SequentialFigures {
    /// The true lift.
    pub lift: f64,
    /// Share of suites with a false `helps` or `harms`.
    pub false_verdicts: f64,
    /// The same of the fixed design.
    pub fixed_false_verdicts: f64,
    /// Share of the intervals at the stop that contain the true lift.
    pub coverage: f64,
    /// Share of comparisons with the right `helps`; 0 without an effect.
    pub power: f64,
    /// The same of the fixed design.
    pub fixed_power: f64,
    /// Trials executed, as a share of the fixed design's.
    pub share: f64,
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

/// Simulates a design whose repetitions are rounds, beside the fixed design with `repetitions` of them, at a true
/// lift of `lift`. Its arms are the family.
pub fn simulate_rounds(
    design: &Design,
    lift: f64,
    repetitions: usize,
    suites: u64,
    seed: u64,
) -> SequentialFigures {
    let conditions = design.arms;
    let Some(plan) = SequentialPlan::new(design.repetitions, conditions, design.margin) else {
        return SequentialFigures::default();
    };
    let plan = plan.looking_after(&rounds_to_look_at(design.repetitions, design.tasks));
    let mut sums = SequentialFigures { lift, ..SequentialFigures::default() };
    let mut intervals = 0.0;
    let is = |yes: bool| f64::from(u8::from(yes));
    let wrong = |kind: VerdictKind| match kind {
        VerdictKind::Helps => lift <= 0.0,
        VerdictKind::Harms => lift >= 0.0,
        VerdictKind::Negligible | VerdictKind::Inconclusive => false,
    };
    let right = |kind: VerdictKind| lift > 0.0 && kind == VerdictKind::Helps;
    for index in 0..suites {
        let suite = design.suite(seed, index);
        let (ends, trials) = stop(&plan, &suite.arms);
        let fixed: Vec<VerdictKind> = suite
            .arms
            .iter()
            .map(|tasks| verdict(&first_rounds(tasks, repetitions), conditions, design.margin, None).kind)
            .collect();
        sums.false_verdicts += is(ends.iter().any(|look| wrong(look.verdict.kind)));
        sums.fixed_false_verdicts += is(fixed.iter().any(|kind| wrong(*kind)));
        let arms = conditions as f64;
        sums.power += ends.iter().map(|look| is(right(look.verdict.kind))).sum::<f64>() / arms;
        sums.fixed_power += fixed.iter().map(|kind| is(right(*kind))).sum::<f64>() / arms;
        sums.share += trials as f64 / ((conditions + 1) * repetitions) as f64;
        for interval in ends.iter().filter_map(|look| look.verdict.interval) {
            intervals += 1.0;
            sums.coverage += is(interval.low <= lift && lift <= interval.high);
        }
    }
    let suites = suites.max(1) as f64;
    for sum in [
        &mut sums.false_verdicts,
        &mut sums.fixed_false_verdicts,
        &mut sums.power,
        &mut sums.fixed_power,
        &mut sums.share,
    ] {
        *sum /= suites;
    }
    sums.coverage /= f64::max(intervals, 1.0);
    sums
}

/// Simulated figures of designs with tasks after the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StagedFigures {
    /// Share of comparisons with `helps`.
    pub helps: f64,
    /// Share of experiments of which a comparison goes on with the tasks after the rounds.
    pub goes_on: f64,
    /// Trials, as a share of those of the fixed design with all tasks.
    pub share: f64,
}

/// Simulates a design whose repetitions are rounds of all but `more` tasks; these come after the rounds, with `repetitions`
/// trials each, where the rounds leave a comparison open. Its arms are the family.
pub fn simulate_stages(
    design: &Design,
    more: usize,
    repetitions: usize,
    suites: u64,
    seed: u64,
) -> StagedFigures {
    let first = design.tasks.saturating_sub(more);
    let Some(plan) = SequentialPlan::new(design.repetitions, design.arms, design.margin) else {
        return StagedFigures::default();
    };
    let plan = plan.looking_after(&rounds_to_look_at(design.repetitions, first)).with_more_tasks(first, more);
    let mut sums = StagedFigures::default();
    let arms = design.arms.max(1) as f64;
    let fixed = (design.tasks * repetitions) as f64 * (arms + 1.0);
    for index in 0..suites {
        let suite = design.suite(seed, index);
        let ends: Vec<StagedEnd> = suite
            .arms
            .iter()
            .filter_map(|tasks| {
                let (first, more) = tasks.split_at(first);
                plan.end_in_stages(first, &first_rounds(more, repetitions))
            })
            .collect();
        let helps = ends.iter().filter(|end| end.kind == VerdictKind::Helps).count();
        let on = ends.iter().filter(|end| end.goes_on).count();
        let rounds = ends.iter().map(|end| end.round).sum::<usize>()
            + ends.iter().map(|end| end.round).max().unwrap_or_default();
        let trials = first * rounds + if on > 0 { more * repetitions * (on + 1) } else { 0 };
        sums.helps += helps as f64 / arms;
        sums.goes_on += f64::from(u8::from(on > 0));
        sums.share += trials as f64 / fixed.max(1.0);
    }
    let suites = suites.max(1) as f64;
    StagedFigures { helps: sums.helps / suites, goes_on: sums.goes_on / suites, share: sums.share / suites }
}

/// The looks at which the comparisons of a suite end, and the trials of each task until then. Conditions that are
/// decided stop; the baseline goes on for the others.
fn stop(plan: &SequentialPlan, arms: &[Vec<PairedTask>]) -> (Vec<Look>, usize) {
    let stops: Vec<(usize, Look)> = arms.iter().filter_map(|tasks| plan.stop(tasks)).collect();
    let base = stops.iter().map(|(round, _)| *round).max().unwrap_or_default();
    let trials = base + stops.iter().map(|(round, _)| *round).sum::<usize>();
    (stops.into_iter().map(|(_, look)| look).collect(), trials)
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
    fn more_tasks_add_power_and_cost_nothing_where_the_rounds_decide() {
        let stages = |lift: f64| {
            let design = Design::skewed(Effect::Uniform { lift, spread: 0.2 }, 24, 6);
            simulate_stages(&design, 12, 5, 300, 1)
        };
        let (large, medium) = (stages(0.6), stages(0.25));
        // Twelve tasks of 24 in the rounds: at most 60% of the fixed design.
        assert!(large.goes_on < 0.2 && large.helps > 0.95 && large.share < 0.6, "{large:?}");
        assert!(medium.goes_on > 0.3 && medium.share <= 1.1, "{medium:?}");
        let alone = Design::skewed(Effect::Uniform { lift: 0.25, spread: 0.2 }, 12, 6);
        let alone = simulate_rounds(&alone, 0.25, 5, 300, 1);
        assert!(medium.helps > alone.power + 0.1, "{medium:?} {alone:?}");
    }

    #[test]
    fn the_grid_has_all_cells() {
        let grid = sequential_grid();
        assert_eq!(grid.len(), 4 * 4 * 2 * 2 + 6 * 2 * 2);
        assert!(grid.iter().all(|cell| cell.rounds() > cell.repetitions));
        assert_eq!(grid.iter().filter(|cell| !cell.truth.is_null()).count(), 24);
    }
}
