//! Simulated experiments without an effect that are looked at before they are complete: how often a verdict is false.

use super::sequential::{Rates, SequentialTruth};
use assay_stats::sequential::first_rounds;
use assay_stats::simulate::{Design, Effect, Loss};
use assay_stats::{VerdictKind, closing_verdict, verdict};

/// The equivalence margin of all cells.
const MARGIN: f64 = 0.1;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooksCell {
    /// No effect, or effects of both signs that sum to none.
    pub truth: SequentialTruth,
    /// Tasks.
    pub tasks: usize,
    /// Repetitions.
    pub repetitions: usize,
}

/// The shares of suites with a false `helps` or `harms`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LooksFigures {
    /// At the end alone.
    pub end: f64,
    /// At the first verdict of one look after each repetition.
    pub each: f64,
    /// If the run is closed after half of its repetitions (rounded up), whatever they show.
    pub half: f64,
    /// If the run is closed at the first repetition at which its closing gives a verdict, and completed if none does: the
    /// worst use of a closing.
    pub closed: f64,
}

/// The grid.
pub fn looks_grid() -> Vec<LooksCell> {
    use SequentialTruth::{Null, Opposite};
    let truths = [Null(Rates::Half), Null(Rates::Skewed), Null(Rates::Bimodal), Opposite];
    let designs = [(12, 5), (30, 5), (84, 3), (30, 10)];
    truths
        .into_iter()
        .flat_map(|truth| designs.map(|(tasks, repetitions)| LooksCell { truth, tasks, repetitions }))
        .collect()
}

impl LooksCell {
    fn design(&self) -> Design {
        let (rates, effect) = match self.truth {
            SequentialTruth::Opposite => (Rates::Half, Effect::Opposite { shift: 0.4 }),
            SequentialTruth::Null(rates)
            | SequentialTruth::Planned(rates)
            | SequentialTruth::Twice(rates) => (rates, Effect::None),
        };
        Design {
            baseline: rates.baseline(),
            effect,
            tasks: self.tasks,
            repetitions: self.repetitions,
            base_repetitions: self.repetitions,
            arms: 1,
            margin: MARGIN,
            drift: 0.0,
            arm_loss: Loss::default(),
            base_loss: Loss::default(),
        }
    }

    /// Draws `suites` suites, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> LooksFigures {
        let design = self.design();
        let is_false = |kind: VerdictKind| matches!(kind, VerdictKind::Helps | VerdictKind::Harms);
        let is_decided = |kind: VerdictKind| kind != VerdictKind::Inconclusive;
        let count = |yes: bool| f64::from(u8::from(yes));
        let mut sums = LooksFigures::default();
        for index in 0..suites {
            let suite = design.suite(seed, index);
            let at = |round: usize| first_rounds(&suite.arms[0], round);
            let fixed: Vec<VerdictKind> =
                (1..=self.repetitions).map(|round| verdict(&at(round), 1, MARGIN, None).kind).collect();
            let closed: Vec<VerdictKind> = (1..=self.repetitions)
                .map(|round| {
                    let share = round as f64 / self.repetitions as f64;
                    closing_verdict(&at(round), 1, MARGIN, None, share).kind
                })
                .collect();
            let first = |kinds: &[VerdictKind]| {
                kinds.iter().copied().find(|kind| is_decided(*kind)).is_some_and(is_false)
            };
            sums.end += count(fixed.last().copied().is_some_and(is_false));
            sums.each += count(first(&fixed));
            sums.half += count(is_false(closed[self.repetitions.div_ceil(2) - 1]));
            sums.closed += count(first(&closed));
        }
        let suites = suites.max(1) as f64;
        for sum in [&mut sums.end, &mut sums.each, &mut sums.half, &mut sums.closed] {
            *sum /= suites;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_before_the_end_are_false_more_often() {
        let cell = LooksCell { truth: SequentialTruth::Opposite, tasks: 30, repetitions: 5 };
        let found = cell.simulate(2_000, 1);
        assert!(found.end < 0.06 && found.each > found.end + 0.01, "{found:?}");
        // A closing has a part of the error rate, and even its worst use has little more than all of it.
        assert!(found.half < 0.02 && found.closed < found.each && found.closed < 0.065, "{found:?}");
    }
}
