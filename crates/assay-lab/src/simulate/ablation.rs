//! Which parts of a skill are found, and how often one is that does nothing.

use rand_chacha::ChaCha8Rng;

use assay_improve::shrink::{
    PartState, ReferenceTrials, ScreeningRule, ShrinkDecision, ShrinkDesign, ShrinkScores, ShrinkStep,
    next_step,
};
use assay_stats::ablation::{PartSet, ROWS};
use assay_stats::random::{Purpose, stream, uniform};

/// The sections of the skill.
const SECTIONS: usize = 8;

/// Trials with the whole skill and without it that a task has before the campaign.
const REFERENCE: usize = 3;

/// How much worse the shorter skill may be.
const MARGIN: f64 = 0.1;

/// Tasks from which the true loss of a shorter skill is computed.
const POPULATION: u32 = 4000;

/// What the sections of a skill do.
///
/// An effect d moves half of the tasks by 2d and the others not at all: so do half of the tasks of public suites, and the
/// spread of a lift of .3 is then that of real pairs (docs/STATISTICS.md, "Planning").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionTruth {
    /// One section has an effect of .3.
    One,
    /// Two have .15 each, on tasks of their own.
    Two,
    /// Two have .3 together, and none alone.
    BothOfTwo,
    /// Either of two has .3, and both no more.
    EitherOfTwo,
    /// Three have .3 together, and none without the others.
    AllOfThree,
    /// One has .4, another −.2, on other tasks.
    HelpAndHarm,
    /// Five have .06 each.
    Five,
    /// None has any.
    None,
}

impl SectionTruth {
    /// All truths, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::One,
        Self::Two,
        Self::BothOfTwo,
        Self::EitherOfTwo,
        Self::AllOfThree,
        Self::HelpAndHarm,
        Self::Five,
        Self::None,
    ];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one .3",
            Self::Two => "two .15",
            Self::BothOfTwo => "both of two .3",
            Self::EitherOfTwo => "either of two .3",
            Self::AllOfThree => "all of three .3",
            Self::HelpAndHarm => "+.4 and -.2",
            Self::Five => "five .06",
            Self::None => "none",
        }
    }

    /// The sections with an effect, and its sign.
    fn carriers(self) -> &'static [(usize, bool)] {
        match self {
            Self::One => &[(0, true)],
            Self::Two | Self::BothOfTwo | Self::EitherOfTwo => &[(0, true), (1, true)],
            Self::AllOfThree => &[(0, true), (1, true), (2, true)],
            Self::HelpAndHarm => &[(0, true), (1, false)],
            Self::Five => &[(0, true), (1, true), (2, true), (3, true), (4, true)],
            Self::None => &[],
        }
    }

    /// Draws a task. The pass rate without the skill is uniform where no effect leaves the range from 0 to 1.
    fn draw_task(self, random: &mut ChaCha8Rng) -> SectionTask {
        let mut moves = [0.0; SECTIONS];
        let mut moved = || uniform(random) < 0.5;
        match self {
            Self::One | Self::BothOfTwo | Self::EitherOfTwo | Self::AllOfThree => {
                moves[0] = if moved() { 0.6 } else { 0.0 };
            }
            Self::Two => moves[..2].fill_with(|| if moved() { 0.3 } else { 0.0 }),
            Self::Five => moves[..5].fill_with(|| if moved() { 0.12 } else { 0.0 }),
            Self::HelpAndHarm => {
                // Only on other tasks do both keep their size.
                if moved() { moves[0] = 0.8 } else { moves[1] = -0.4 }
            }
            Self::None => {}
        }
        let sum = |sign: f64| moves.iter().map(|by| (sign * by).max(0.0)).sum::<f64>();
        let (low, high) = (sum(-1.0), 1.0 - sum(1.0));
        SectionTask { truth: self, base: low + (high - low) * uniform(random), moves }
    }
}

/// A task whose pass rate with any of the sections is known.
struct SectionTask {
    truth: SectionTruth,
    base: f64,
    moves: [f64; SECTIONS],
}

impl SectionTask {
    fn rate(&self, kept: PartSet) -> f64 {
        let by = match self.truth {
            SectionTruth::BothOfTwo if !(kept.has(0) && kept.has(1)) => 0.0,
            SectionTruth::AllOfThree if !(0..3).all(|part| kept.has(part)) => 0.0,
            SectionTruth::EitherOfTwo if !kept.has(0) && !kept.has(1) => 0.0,
            SectionTruth::BothOfTwo | SectionTruth::AllOfThree | SectionTruth::EitherOfTwo => self.moves[0],
            _ => kept.parts().filter_map(|part| self.moves.get(part)).sum(),
        };
        self.base + by
    }

    fn draw_score(&self, kept: PartSet, random: &mut ChaCha8Rng) -> f64 {
        f64::from(u8::from(uniform(random) < self.rate(kept)))
    }
}

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AblationCell {
    /// How parts are told apart.
    pub rule: ScreeningRule,
    /// What the sections do.
    pub truth: SectionTruth,
    /// Tasks.
    pub tasks: usize,
    /// The most trials of a task, beside those that were recorded before.
    pub each: usize,
}

/// What campaigns of a cell gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AblationFigures {
    /// The share of sections with an effect that are found with its sign; `None` without one.
    pub found_each: Option<f64>,
    /// The share of campaigns that find a section without an effect, or one with the other sign.
    pub false_find: f64,
    /// The share of campaigns that accept a shorter skill which is worse than the skill by the margin or more; `None`
    /// where none is accepted.
    pub accepted_null: Option<f64>,
    /// The share that accept one which is not.
    pub accepted_true: Option<f64>,
    /// Mean trials of a campaign.
    pub spent: f64,
}

/// The grid.
pub fn ablation_grid() -> Vec<AblationCell> {
    let mut cells = Vec::new();
    for truth in SectionTruth::ALL {
        for (tasks, each) in [(12, 12), (30, 12), (30, 24), (84, 12), (84, 24)] {
            let cell = |rule| AblationCell { rule, truth, tasks, each };
            cells.extend([ScreeningRule::Assay, ScreeningRule::LeaveOneOut].map(cell));
        }
    }
    cells
}

impl AblationCell {
    /// The name of the rule in tables and JSON.
    pub fn rule_name(&self) -> &'static str {
        match self.rule {
            ScreeningRule::Assay => "assay",
            ScreeningRule::LeaveOneOut => "leave-one-out",
        }
    }

    /// Plays `suites` campaigns, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> AblationFigures {
        let population: Vec<SectionTask> = {
            let random = &mut stream(seed, Purpose::Ablation, 0);
            (0..POPULATION).map(|_| self.truth.draw_task(random)).collect()
        };
        let all = PartSet::all(SECTIONS);
        let loss = |kept: PartSet| {
            let lost = population.iter().map(|task| task.rate(all) - task.rate(kept));
            lost.sum::<f64>() / f64::from(POPULATION)
        };
        let carriers = self.truth.carriers();
        let (mut found, mut wrong, mut good, mut bad, mut spent) = (0_usize, 0_u64, 0_u64, 0_u64, 0_usize);
        for suite in 0..suites {
            let random = &mut stream(seed, Purpose::Ablation, suite + 1);
            let outcome = self.play(seed.wrapping_add(suite), random);
            spent += outcome.spent;
            let mut is_wrong = false;
            for (part, outcome) in outcome.parts.iter().enumerate() {
                let truth = carriers.iter().find(|(carrier, _)| *carrier == part).map(|(_, helps)| *helps);
                let shown = match outcome.state {
                    PartState::Carries => Some(true),
                    PartState::Harms => Some(false),
                    _ => None,
                };
                found += usize::from(shown.is_some() && shown == truth);
                is_wrong |= shown.is_some() && shown != truth;
            }
            wrong += u64::from(is_wrong);
            if outcome.decision == ShrinkDecision::Shorter {
                // Within the precision of the population.
                if loss(outcome.kept) < MARGIN - 1e-9 { good += 1 } else { bad += 1 }
            }
        }
        let share = |count: u64| count as f64 / suites.max(1) as f64;
        // A screening of 12 trials leaves none to confirm a shorter skill with.
        let accepts = self.rule == ScreeningRule::Assay && self.each > ROWS + 1;
        AblationFigures {
            found_each: (!carriers.is_empty())
                .then(|| found as f64 / (suites.max(1) as f64 * carriers.len() as f64)),
            false_find: share(wrong),
            accepted_null: accepts.then(|| share(bad)),
            accepted_true: accepts.then(|| share(good)),
            spent: spent as f64 / suites.max(1) as f64,
        }
    }

    /// One campaign, by the function of the command.
    fn play(&self, seed: u64, random: &mut ChaCha8Rng) -> assay_improve::shrink::ShrinkOutcome {
        let all = PartSet::all(SECTIONS);
        let tasks: Vec<SectionTask> = (0..self.tasks).map(|_| self.truth.draw_task(random)).collect();
        let reference: Vec<ReferenceTrials> = tasks
            .iter()
            .map(|task| ReferenceTrials {
                whole: (0..REFERENCE).map(|_| task.draw_score(all, random)).collect(),
                none: (0..REFERENCE).map(|_| task.draw_score(PartSet::EMPTY, random)).collect(),
                cluster: None,
            })
            .collect();
        let design = ShrinkDesign {
            parts: SECTIONS,
            budget: self.tasks * self.each,
            margin: MARGIN,
            seed,
            rule: self.rule,
        };
        let mut scores = ShrinkScores::new();
        loop {
            match next_step(&design, &reference, &scores) {
                ShrinkStep::Done(outcome) => return outcome,
                ShrinkStep::Run(wanted) => {
                    for one in wanted {
                        let trials = scores.entry(one.cell).or_default();
                        for _ in trials.len()..one.repetitions {
                            trials.scores.push(tasks[one.cell.task].draw_score(one.cell.kept, random));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean effect of a section over the full factorial, by its definition.
    #[test]
    fn truths_have_the_effects_of_their_names() {
        let random = &mut stream(1, Purpose::Ablation, 0);
        let sets: Vec<PartSet> =
            (0..256_usize).map(|bits| PartSet::of((0..SECTIONS).filter(|at| bits >> at & 1 == 1))).collect();
        let check = |truth: SectionTruth, random: &mut ChaCha8Rng, lift: f64, effects: [f64; 3]| {
            let tasks: Vec<SectionTask> = (0..4000).map(|_| truth.draw_task(random)).collect();
            let mean = |kept: PartSet| tasks.iter().map(|task| task.rate(kept)).sum::<f64>() / 4000.0;
            let rates: Vec<f64> = sets.iter().map(|kept| mean(*kept)).collect();
            assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)), "{truth:?}");
            assert!((rates[255] - rates[0] - lift).abs() < 0.02, "{truth:?} {}", rates[255] - rates[0]);
            for (part, expected) in effects.into_iter().enumerate() {
                let of = |has: bool| {
                    let own = sets.iter().zip(&rates).filter(|(kept, _)| kept.has(part) == has);
                    own.map(|(_, rate)| rate).sum::<f64>() / 128.0
                };
                assert!((of(true) - of(false) - expected).abs() < 0.02, "{truth:?} {part}");
            }
            for task in &tasks {
                let rates = sets.iter().map(|kept| task.rate(*kept));
                assert!(rates.into_iter().all(|rate| (-1e-9..=1.0 + 1e-9).contains(&rate)), "{truth:?}");
            }
        };
        check(SectionTruth::One, random, 0.3, [0.3, 0.0, 0.0]);
        check(SectionTruth::Two, random, 0.3, [0.15, 0.15, 0.0]);
        check(SectionTruth::BothOfTwo, random, 0.3, [0.15, 0.15, 0.0]);
        check(SectionTruth::EitherOfTwo, random, 0.3, [0.15, 0.15, 0.0]);
        check(SectionTruth::AllOfThree, random, 0.3, [0.075, 0.075, 0.075]);
        check(SectionTruth::HelpAndHarm, random, 0.2, [0.4, -0.2, 0.0]);
        check(SectionTruth::Five, random, 0.3, [0.06, 0.06, 0.06]);
        check(SectionTruth::None, random, 0.0, [0.0, 0.0, 0.0]);
    }

    /// Standard errors of .03 at these numbers of campaigns.
    #[test]
    fn one_section_is_found_by_halves_and_not_by_leaving_one_out() {
        let cell = |rule| AblationCell { rule, truth: SectionTruth::One, tasks: 30, each: 12 };
        let found = cell(ScreeningRule::Assay).simulate(100, 1);
        assert!(found.found_each.unwrap() > 0.8 && found.false_find < 0.1, "{found:?}");
        assert!(found.spent <= 360.0, "{found:?}");
        assert_eq!(found, cell(ScreeningRule::Assay).simulate(100, 1));
        let other = cell(ScreeningRule::LeaveOneOut).simulate(100, 1);
        assert!(other.found_each < found.found_each && other.accepted_true.is_none(), "{other:?}");
    }
}
