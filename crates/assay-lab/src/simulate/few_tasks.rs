//! Simulated experiments of few tasks that are looked at three times, beside looks after every round and the fixed
//! design, all on the same suites; and the lift of those that ended, as observed and median-unbiased.

use assay_stats::PairedTask;
use assay_stats::plan::{Impossible, MOVING, Plan, SPREAD};
use assay_stats::sample::Sample;
use assay_stats::sequential::{SequentialPlan, first_rounds, rounds_to_look_at};
use assay_stats::simulate::Baseline;
use assay_stats::simulate::{Design, Effect, Loss};
use assay_stats::{VerdictKind, verdict};

/// The equivalence margin of all cells.
const MARGIN: f64 = 0.1;

/// The lift of the cells with an effect.
const LIFT: f64 = 0.3;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewTasksCell {
    /// Tasks.
    pub tasks: usize,
    /// Repetitions of the fixed design; there are at most 1.2 times as many rounds.
    pub repetitions: usize,
}

/// Shares of suites, of one way of looking.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WayFigures {
    /// With the right `helps`, at a lift of 30 pp.
    pub power: f64,
    /// Trials as a share of the fixed design's, at this lift.
    pub share: f64,
    /// With a false `helps` or `harms`, where half of the tasks lose 40 pp and half gain them; or where nothing has an
    /// effect, if that is more.
    pub false_verdicts: f64,
    /// Trials as a share of the fixed design's, without an effect on average.
    pub null_share: f64,
    /// Mean of the observed lift less the true one, where the verdict is `helps`.
    pub bias: f64,
    /// Share of the suites whose observed lift is above the true one.
    pub above: f64,
    /// Mean of the median-unbiased lift less the true one, where the verdict is `helps`.
    pub unbiased_bias: f64,
    /// Share of the suites whose median-unbiased lift is above the true one.
    pub unbiased_above: f64,
}

/// What the suites of a cell gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FewTasksFigures {
    /// Decided once.
    pub fixed: WayFigures,
    /// Looked at after every round.
    pub every_round: WayFigures,
    /// Looked at as `[stopping]` does with so many tasks.
    pub planned: WayFigures,
    /// The larger share of false verdicts if as many tasks again decide what the rounds leave open.
    pub more_false_verdicts: f64,
    /// The power then.
    pub more_power: f64,
}

/// The cells of docs/STATISTICS.md.
pub fn few_tasks_grid() -> Vec<FewTasksCell> {
    [(9, 10), (12, 5), (12, 10), (20, 10)]
        .map(|(tasks, repetitions)| FewTasksCell { tasks, repetitions })
        .to_vec()
}

/// How a suite ended: the verdict, the tasks until then, and the round.
struct End {
    kind: VerdictKind,
    tasks: Vec<PairedTask>,
    round: usize,
}

impl FewTasksCell {
    fn rounds(self) -> usize {
        (6 * self.repetitions).div_ceil(5)
    }

    fn design(self, effect: Effect, baseline: Baseline) -> Design {
        let loss = Loss::default();
        Design {
            baseline,
            effect,
            tasks: self.tasks,
            repetitions: self.rounds(),
            base_repetitions: self.rounds(),
            arms: 1,
            margin: MARGIN,
            drift: 0.0,
            arm_loss: loss,
            base_loss: loss,
        }
    }

    /// The design of `assay plan` with a lift of 30 pp.
    fn moved(self) -> Result<Design, Impossible> {
        let plan = Plan {
            tasks: self.tasks,
            repetitions: self.rounds(),
            base_repetitions: self.rounds(),
            family: 1,
            margin: MARGIN,
            baseline: Baseline::default(),
            spread: SPREAD,
            moving: MOVING,
        };
        plan.design_of_lift(LIFT)
    }

    /// Draws `suites` suites for each truth.
    ///
    /// # Errors
    /// A lift that the design cannot have.
    pub fn simulate(self, suites: u64, seed: u64) -> Result<FewTasksFigures, Impossible> {
        let looks = rounds_to_look_at(self.rounds(), self.tasks);
        let every: Vec<usize> = (1..=self.rounds()).collect();
        Ok(FewTasksFigures {
            fixed: self.figures(None, suites, seed)?,
            every_round: self.figures(Some(&every), suites, seed)?,
            planned: self.figures(Some(&looks), suites, seed)?,
            more_false_verdicts: self
                .null_designs()
                .map(|design| self.more(&design, suites, seed).1)
                .into_iter()
                .fold(0.0, f64::max),
            more_power: self.more(&self.moved()?, suites, seed).0,
        })
    }

    /// Designs without an effect on average.
    fn null_designs(self) -> [Design; 2] {
        let half = Baseline::beta(1e5, 1e5).unwrap_or_default();
        [Effect::Opposite { shift: 0.4 }, Effect::None].map(|effect| self.design(effect, half))
    }

    /// Shares of `helps`, and of `helps` or `harms`, of a design with as many tasks again after the rounds.
    fn more(self, design: &Design, suites: u64, seed: u64) -> (f64, f64) {
        let looks = rounds_to_look_at(self.rounds(), self.tasks);
        let plan = SequentialPlan::new(self.rounds(), 1, MARGIN);
        let Some(plan) = plan.map(|plan| plan.looking_after(&looks).with_more_tasks(self.tasks, self.tasks))
        else {
            return (0.0, 0.0);
        };
        let design = Design { tasks: 2 * self.tasks, ..*design };
        let (mut helps, mut harms) = (0, 0);
        for index in 0..suites {
            let suite = design.suite(seed ^ 2, index);
            let (first, more) = suite.arms[0].split_at(self.tasks);
            let ended = plan.end_in_stages(first, &first_rounds(more, self.repetitions));
            match ended.map(|ended| ended.kind) {
                Some(VerdictKind::Helps) => helps += 1,
                Some(VerdictKind::Harms) => harms += 1,
                _ => {}
            }
        }
        let share = |count: u64| count as f64 / suites.max(1) as f64;
        (share(helps), share(helps + harms))
    }

    /// The figures with looks after these rounds, or of the fixed design.
    pub(crate) fn figures(
        self,
        looks: Option<&[usize]>,
        suites: u64,
        seed: u64,
    ) -> Result<WayFigures, Impossible> {
        let plan =
            looks.and_then(|looks| Some(SequentialPlan::new(self.rounds(), 1, MARGIN)?.looking_after(looks)));
        let end = |tasks: &[PairedTask]| self.end(plan.as_ref(), tasks);
        let unbiased = |ended: &End| plan.as_ref()?.unbiased_lift(&ended.tasks, ended.round);
        let mut found = WayFigures::default();
        let is = |yes: bool| f64::from(u8::from(yes));
        let moved = self.moved()?;
        let mut helped: f64 = 0.0;
        for index in 0..suites {
            let suite = &moved.suite(seed, index).arms[0];
            let ended = end(suite);
            let helps = is(ended.kind == VerdictKind::Helps);
            let lift = Sample::of(&ended.tasks).moments().mean;
            let unbiased = unbiased(&ended).unwrap_or(lift);
            helped += helps;
            found.power += helps;
            found.share += ended.round as f64 / self.repetitions as f64;
            found.bias += helps * (lift - LIFT);
            found.unbiased_bias += helps * (unbiased - LIFT);
            found.above += is(lift > LIFT);
            found.unbiased_above += is(unbiased > LIFT);
        }
        found.bias /= helped.max(1.0);
        found.unbiased_bias /= helped.max(1.0);
        let half = Baseline::beta(1e5, 1e5).unwrap_or_default();
        let nulls = [self.design(Effect::Opposite { shift: 0.4 }, half), self.design(Effect::None, half)];
        let mut wrong = [0.0; 2];
        for (design, wrong) in nulls.iter().zip(&mut wrong) {
            for index in 0..suites {
                let ended = end(&design.suite(seed ^ 1, index).arms[0]);
                *wrong += is(matches!(ended.kind, VerdictKind::Helps | VerdictKind::Harms));
                found.null_share += 0.5 * ended.round as f64 / self.repetitions as f64;
            }
        }
        found.false_verdicts = f64::max(wrong[0], wrong[1]);
        for sum in [
            &mut found.power,
            &mut found.share,
            &mut found.false_verdicts,
            &mut found.null_share,
            &mut found.above,
            &mut found.unbiased_above,
        ] {
            *sum /= suites.max(1) as f64;
        }
        Ok(found)
    }

    fn end(self, plan: Option<&SequentialPlan>, tasks: &[PairedTask]) -> End {
        if let Some((round, look)) = plan.and_then(|plan| plan.stop(tasks)) {
            let tasks = first_rounds(tasks, round);
            return End { kind: look.verdict.kind, tasks, round };
        }
        let tasks = first_rounds(tasks, self.repetitions);
        let kind = verdict(&tasks, 1, MARGIN, None).kind;
        End { kind, tasks, round: self.repetitions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_looks_lose_less_power_and_keep_the_error_rate() {
        let suites = 400;
        let cell = FewTasksCell { tasks: 9, repetitions: 10 };
        let every = cell.figures(Some(&(1..=12).collect::<Vec<_>>()), suites, 1).unwrap();
        let planned = cell.figures(Some(&rounds_to_look_at(12, 9)), suites, 1).unwrap();
        assert!(planned.power > every.power && planned.share < 1.0, "{planned:?} {every:?}");
        // 5% and four standard errors.
        let limit = 0.05 + 4.0 * (0.05 * 0.95 / suites as f64).sqrt();
        assert!(planned.false_verdicts <= limit, "{planned:?}");
        assert!(planned.unbiased_bias < planned.bias, "{planned:?}");
    }

    #[test]
    fn few_units_have_few_looks() {
        let check = |rounds: usize, units: usize, expected: &[usize]| {
            assert_eq!(rounds_to_look_at(rounds, units), expected, "{rounds} {units}");
        };
        check(12, 9, &[6, 12]);
        check(12, 12, &[4, 8, 12]);
        check(6, 19, &[2, 4, 6]);
        check(7, 5, &[4, 7]);
        check(6, 20, &[1, 2, 3, 4, 5, 6]);
        check(2, 9, &[1, 2]);
        check(1, 9, &[1]);
    }
}
