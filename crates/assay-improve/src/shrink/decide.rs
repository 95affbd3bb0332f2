//! Which trials come next, and what they show.

use std::collections::BTreeMap;

use assay_stats::ablation::{
    AblatedTask, PartSet, PartTest, ROWS, VariantScores, exact_p, part_effect, part_estimates, screening,
    with_and_without,
};
use assay_stats::{Estimate, Interval, PairedTask, SessionDrift, interval_for_bound, lift};

use super::design::{
    ScreeningRule, ShrinkDesign, confirmation_repetitions, leave_one_out_repetitions, pairs,
};
use super::outcome::{PartOutcome, PartState, ShrinkDecision, ShrinkOutcome, ShrinkStep};
use super::trials::{ReferenceTrials, ShrinkCell, ShrinkScores, ShrinkStage, WantedTrials};

/// The error rate that the tests of all parts share, and that of the one-sided tests of a margin.
const ALPHA: f64 = 0.05;

/// Halves show no lift if theirs is below this share of the skill's: parts that add up give halves one half of it, two that
/// need each other a quarter, three an eighth.
const HALVES: f64 = 0.25;

/// A task seems to need a part if its trials in the screening differ at this level (6 of 6 against 1 of 6).
const SEEMS_NEEDED: f64 = 0.01;

/// Trials of either arm of a task's own test.
const OWN_TEST: usize = 6;

/// A stage that lost a larger share of its trials decides nothing, as in verdicts.
const MOST_LOST: f64 = 0.05;

/// The trials that come next, or the result if none does. The same trials in any order give the same answer.
///
/// 1. Screening: [`screening`] of every task. If half of the skill shows no lift while the skill does, its parts need each
///    other: what is left of the budget goes to leave-one-out at once, and only that decides on parts. The choice rests on
///    the mean of a task's variants, which is uncorrelated with the effects of parts.
/// 2. A part whose effect is below the margin is dead, unless single tasks need it: tasks whose trials separate get a test
///    of their own, and if there is no budget for one, the part stays.
/// 3. Confirmation: the skill without dead and harmful parts, beside the skill, with fresh trials of both. Without a budget
///    for it the shorter skill is a candidate and nothing is decided on it.
///
/// The budget is an upper bound for all stages together.
pub fn next_step(design: &ShrinkDesign, reference: &[ReferenceTrials], scores: &ShrinkScores) -> ShrinkStep {
    let campaign = Campaign { design, reference, scores, all: PartSet::all(design.parts) };
    match campaign.step() {
        Ok(outcome) => ShrinkStep::Done(outcome),
        Err(wanted) => ShrinkStep::Run(wanted),
    }
}

struct Campaign<'a> {
    design: &'a ShrinkDesign,
    reference: &'a [ReferenceTrials],
    scores: &'a ShrinkScores,
    all: PartSet,
}

/// The effects of parts, and what is left.
struct Map {
    stage: ShrinkStage,
    parts: Vec<PartOutcome>,
    /// The screening, for sums of effects.
    tasks: Vec<AblatedTask>,
    /// Trials that no stage has planned yet.
    left: usize,
}

type Missing = Vec<WantedTrials>;

impl Campaign<'_> {
    fn step(&self) -> Result<ShrinkOutcome, Missing> {
        let tasks = self.reference.len();
        let Some(allocation) = self.design.allocate(tasks) else {
            let nothing =
                Map { stage: ShrinkStage::Screening, parts: Vec::new(), tasks: Vec::new(), left: 0 };
            return Ok(self.outcome(nothing, ShrinkDecision::Undecided, self.all, None, false));
        };
        let map = match self.design.rule {
            ScreeningRule::LeaveOneOut => self.leave_one_out(self.design.budget)?,
            ScreeningRule::Assay => self.screen(allocation.folds)?,
        };
        let map = self.test_single_tasks(map)?;
        self.confirm(map)
    }

    /// Trials that are missing of those that a stage needs.
    fn require(&self, wanted: BTreeMap<ShrinkCell, usize>) -> Result<usize, Missing> {
        let planned = wanted.values().sum();
        let missing: Missing = wanted
            .into_iter()
            .filter(|(cell, repetitions)| {
                self.scores.get(cell).map_or(0, super::CellTrials::len) < *repetitions
            })
            .map(|(cell, repetitions)| WantedTrials { cell, repetitions })
            .collect();
        if missing.is_empty() { Ok(planned) } else { Err(missing) }
    }

    fn scores_of(&self, stage: ShrinkStage, task: usize, kept: PartSet) -> Vec<f64> {
        let cell = ShrinkCell { stage, task, kept };
        self.scores.get(&cell).map(|trials| trials.scores.clone()).unwrap_or_default()
    }

    /// Two variants of a stage as arm and baseline.
    fn compare(&self, stage: ShrinkStage, arm: PartSet, base: PartSet) -> Vec<PairedTask> {
        let pair = |(task, reference): (usize, &ReferenceTrials)| PairedTask {
            arm: self.scores_of(stage, task, arm),
            base: self.scores_of(stage, task, base),
            cluster: reference.cluster,
        };
        self.reference.iter().enumerate().map(pair).collect()
    }

    fn screen(&self, folds: usize) -> Result<Map, Missing> {
        let once = self.require_screening(ShrinkStage::Screening)?;
        let halves = self.screened(&[ShrinkStage::Screening]);
        let left = self.design.budget - once;
        if self.need_each_other(&halves)
            && leave_one_out_repetitions(left / self.reference.len().max(1), self.design.parts).is_some()
        {
            return self.leave_one_out(left);
        }
        let (planned, tasks) = if folds > 1 {
            let again = self.require_screening(ShrinkStage::FoldOver)?;
            (once + again, self.screened(&[ShrinkStage::Screening, ShrinkStage::FoldOver]))
        } else {
            (once, halves)
        };
        let parts = self.design.parts;
        let adjusted = part_estimates(&tasks, parts, 1.0 - ALPHA / parts as f64);
        let parts = adjusted
            .into_iter()
            .enumerate()
            .map(|(part, adjusted)| {
                let test = part_effect(&tasks, parts, PartSet::of([part]), 1.0 - ALPHA, self.design.margin);
                self.outcome_of(adjusted, test)
            })
            .collect();
        let left = self.design.budget.saturating_sub(planned);
        Ok(Map { stage: ShrinkStage::Screening, parts, tasks, left })
    }

    fn require_screening(&self, stage: ShrinkStage) -> Result<usize, Missing> {
        let mut wanted = BTreeMap::new();
        for task in 0..self.reference.len() {
            let rows = screening(self.design.parts, 2, self.design.seed, task as u64);
            let rows = if stage == ShrinkStage::FoldOver { &rows[ROWS..] } else { &rows[..ROWS] };
            for &kept in rows {
                *wanted.entry(ShrinkCell { stage, task, kept }).or_insert(0) += 1;
            }
        }
        self.require(wanted)
    }

    /// The trials of the screening.
    fn screened(&self, stages: &[ShrinkStage]) -> Vec<AblatedTask> {
        let mut tasks: Vec<AblatedTask> = self
            .reference
            .iter()
            .map(|task| AblatedTask { variants: Vec::new(), cluster: task.cluster })
            .collect();
        for (cell, trials) in self.scores.iter().filter(|(cell, _)| stages.contains(&cell.stage)) {
            if let Some(task) = tasks.get_mut(cell.task) {
                task.variants.push(VariantScores { kept: cell.kept, scores: trials.scores.clone() });
            }
        }
        tasks
    }

    /// Whether half of the skill shows no lift while the skill does.
    fn need_each_other(&self, halves: &[AblatedTask]) -> bool {
        let level = 1.0 - ALPHA;
        let Some(whole) = lift(&pairs(self.reference), level) else { return false };
        let halves: Vec<PairedTask> = self
            .reference
            .iter()
            .zip(halves)
            .map(|(task, halves)| PairedTask {
                arm: halves.variants.iter().flat_map(|variant| variant.scores.clone()).collect(),
                base: task.none.clone(),
                cluster: task.cluster,
            })
            .collect();
        let is_shown = whole.interval.is_some_and(|interval| interval.low > 0.0);
        is_shown && lift(&halves, level).is_some_and(|half| half.mean < HALVES * whole.mean)
    }

    /// The skill beside the skill without each of its parts, with trials of their own: those of the screening and the
    /// recorded ones have decided that it comes to this.
    fn leave_one_out(&self, left: usize) -> Result<Map, Missing> {
        let stage = ShrinkStage::LeaveOneOut;
        let each = left / self.reference.len().max(1);
        let Some((without, whole)) = leave_one_out_repetitions(each, self.design.parts) else {
            return Ok(Map { stage, parts: Vec::new(), tasks: Vec::new(), left });
        };
        let mut wanted = BTreeMap::new();
        for task in 0..self.reference.len() {
            wanted.insert(ShrinkCell { stage, task, kept: self.all }, whole);
            for part in self.all.parts() {
                wanted.insert(ShrinkCell { stage, task, kept: self.all.without(part) }, without);
            }
        }
        let planned = self.require(wanted)?;
        let level = 1.0 - ALPHA / self.design.parts as f64;
        let parts = self
            .all
            .parts()
            .map(|part| {
                let pairs = self.compare(stage, self.all, self.all.without(part));
                let test = lift(&pairs, 1.0 - ALPHA).map(|estimate| {
                    let loss = self.compare(stage, self.all.without(part), self.all);
                    let bound =
                        interval_for_bound(&loss, -self.design.margin, 2.0 * ALPHA, SessionDrift::NONE);
                    PartTest { estimate, most: bound.map_or(1.0, |loss| -loss.low) }
                });
                self.outcome_of(lift(&pairs, level), test)
            })
            .collect();
        Ok(Map { stage, parts, tasks: Vec::new(), left: left.saturating_sub(planned) })
    }

    fn outcome_of(&self, adjusted: Option<Estimate>, test: Option<PartTest>) -> PartOutcome {
        let interval = adjusted.and_then(|estimate| estimate.interval);
        let most = test.map(|test| test.most);
        let state = match interval {
            Some(interval) if interval.low > 0.0 => PartState::Carries,
            Some(interval) if interval.high < 0.0 => PartState::Harms,
            Some(_) if most.is_some_and(|most| most < self.design.margin) => PartState::Dead,
            _ => PartState::Undecided,
        };
        PartOutcome {
            state,
            effect: adjusted.map(|estimate| estimate.mean),
            ci95: test.and_then(|test| test.estimate.interval),
            adjusted: interval,
            most,
            tasks: Vec::new(),
            beside: None,
        }
    }

    /// Tests of single tasks that seem to need a dead part.
    fn test_single_tasks(&self, mut map: Map) -> Result<Map, Missing> {
        let mut seeming: Vec<(f64, usize, usize)> = Vec::new();
        for (part, _) in map.parts.iter().enumerate().filter(|(_, part)| part.state == PartState::Dead) {
            for (task, trials) in map.tasks.iter().enumerate() {
                let p = exact_p(with_and_without(trials, part));
                if p <= SEEMS_NEEDED {
                    seeming.push((p, task, part));
                }
            }
        }
        seeming.sort_by(|one, other| one.0.total_cmp(&other.0).then((one.1, one.2).cmp(&(other.1, other.2))));
        // At least half of what is left is for the confirmation.
        let affordable = map.left / 2 / (2 * OWN_TEST);
        let tested = &seeming[..seeming.len().min(affordable)];
        let mut wanted = BTreeMap::new();
        for &(_, task, part) in tested {
            for kept in [self.all, self.all.without(part)] {
                wanted.insert(ShrinkCell { stage: ShrinkStage::OwnTest, task, kept }, OWN_TEST);
            }
        }
        map.left = map.left.saturating_sub(self.require(wanted)?);
        for (at, &(_, task, part)) in seeming.iter().enumerate() {
            let is_needed = at >= tested.len() || {
                let count = |kept: PartSet| VariantScores {
                    kept,
                    scores: self.scores_of(ShrinkStage::OwnTest, task, kept),
                };
                let variants = vec![count(self.all), count(self.all.without(part))];
                let trials = AblatedTask { variants, cluster: None };
                exact_p(with_and_without(&trials, part)) <= ALPHA / tested.len() as f64
            };
            if is_needed && let Some(part) = map.parts.get_mut(part) {
                part.state = PartState::NeededByTasks;
                part.tasks.push(task);
            }
        }
        Ok(map)
    }

    /// The skill without dead and harmful parts, beside the skill.
    fn confirm(&self, mut map: Map) -> Result<ShrinkOutcome, Missing> {
        let removed = map.parts.iter().enumerate().filter(|(_, part)| part.state.is_removed());
        let removed = PartSet::of(removed.map(|(part, _)| part));
        let kept = removed.parts().fold(self.all, PartSet::without);
        // A skill of no part at all cannot carry the lift that was recorded.
        if removed.is_empty() || kept.is_empty() {
            let is_known = !map.parts.is_empty()
                && map.parts.iter().all(|part| part.state != PartState::Undecided)
                && !kept.is_empty();
            let decision = if is_known { ShrinkDecision::Keep } else { ShrinkDecision::Undecided };
            return Ok(self.outcome(map, decision, self.all, None, false));
        }
        let tasks = self.reference.len();
        let (repetitions, beside) = confirmation_repetitions(map.left / tasks.max(1), kept.len());
        if repetitions == 0 {
            // The trials that chose what to leave out cannot show that it may be: they are the best of many.
            let change = self.change_by_screening(&map, removed);
            return Ok(self.outcome(map, ShrinkDecision::Undecided, kept, change, false));
        }
        let stage = ShrinkStage::Confirmation;
        let mut wanted = BTreeMap::new();
        for task in 0..tasks {
            for whole in [self.all, kept] {
                wanted.insert(ShrinkCell { stage, task, kept: whole }, repetitions);
            }
            for part in kept.parts().filter(|_| beside > 0) {
                wanted.insert(ShrinkCell { stage, task, kept: kept.without(part) }, beside);
            }
        }
        map.left = map.left.saturating_sub(self.require(wanted)?);
        let pairs = self.compare(stage, kept, self.all);
        let interval = interval_for_bound(&pairs, -self.design.margin, 2.0 * ALPHA, SessionDrift::NONE);
        let change = lift(&pairs, 1.0 - 2.0 * ALPHA).map(|found| found.mean).zip(interval);
        for part in kept.parts().filter(|_| beside > 0) {
            let own = lift(&self.compare(stage, kept, kept.without(part)), 1.0 - ALPHA);
            if let (Some(found), Some(own)) = (map.parts.get_mut(part), own) {
                found.beside = Some((own.mean, own.interval));
            }
        }
        let decision = self.decide(change);
        Ok(self.outcome(map, decision, kept, change, true))
    }

    /// The shorter skill less the skill, if parts add up.
    fn change_by_screening(&self, map: &Map, removed: PartSet) -> Option<(f64, Interval)> {
        if map.stage == ShrinkStage::LeaveOneOut {
            // Parts that were left out one at a time say nothing of two.
            let only = removed.parts().next().filter(|_| removed.len() == 1)?;
            let part = map.parts.get(only)?;
            let (effect, most, interval) = (part.effect?, part.most?, part.ci95?);
            return Some((-effect, Interval { low: -most, high: -interval.low }));
        }
        let level = 1.0 - 2.0 * ALPHA;
        let sum = part_effect(&map.tasks, self.design.parts, removed, level, self.design.margin)?;
        let interval = sum.estimate.interval?;
        Some((-sum.estimate.mean, Interval { low: -sum.most, high: -interval.low }))
    }

    fn decide(&self, change: Option<(f64, Interval)>) -> ShrinkDecision {
        match change {
            Some((_, interval)) if interval.low > -self.design.margin => ShrinkDecision::Shorter,
            Some((_, interval)) if interval.high < 0.0 => ShrinkDecision::Worse,
            _ => ShrinkDecision::Undecided,
        }
    }

    fn outcome(
        &self,
        map: Map,
        decision: ShrinkDecision,
        kept: PartSet,
        change: Option<(f64, Interval)>,
        confirmed: bool,
    ) -> ShrinkOutcome {
        let mut stages: BTreeMap<ShrinkStage, (usize, usize)> = BTreeMap::new();
        for (cell, trials) in self.scores {
            let count = stages.entry(cell.stage).or_default();
            count.0 += trials.len();
            count.1 += trials.lost;
        }
        let too_many_lost = stages.values().any(|(all, lost)| *lost as f64 > MOST_LOST * *all as f64);
        ShrinkOutcome {
            decision: if too_many_lost { ShrinkDecision::Undecided } else { decision },
            parts: map.parts,
            kept,
            stage: map.stage,
            change,
            confirmed,
            spent: stages.values().map(|(all, _)| all).sum(),
            lost: stages.values().map(|(_, lost)| lost).sum(),
            too_many_lost,
        }
    }
}
