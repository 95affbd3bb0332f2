//! The trials of a run by agent, condition and task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_store::{Outcome, OutcomeKind};

use crate::model::{AgentKey, End, Rounds};
use crate::result::TrialResult;

/// All arms of one agent in one sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// Index into the run's agents.
    pub(crate) agent: usize,
    pub(crate) who: AgentKey,
    /// Whether a trial without a reply of a model has no result: not for agents without a model, or
    /// for imported trials, whose transcripts may be missing.
    pub(crate) needs_replies: bool,
    /// Conditions that the run plans for this table, selected or not.
    pub(crate) planned_conditions: BTreeSet<String>,
    /// The planned conditions of tables without a selected cell. They still count for the family.
    pub(crate) unselected: Vec<BTreeSet<String>>,
    /// By condition, then by task.
    pub(crate) cells: BTreeMap<String, BTreeMap<String, Slot>>,
    /// How far each comparison with the baseline has come, by condition; empty if all are decided once.
    pub(crate) looks: BTreeMap<String, Rounds>,
    /// The tasks that take part in no round.
    pub(crate) second_stage: Arc<BTreeSet<String>>,
    /// The share of the planned trials by which the comparisons are judged, if the run was closed with a part of them.
    pub(crate) closing: Option<f64>,
}

/// All trials of one task in one arm.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot {
    /// Planned.
    pub(crate) planned: usize,
    /// With a record, in order of repetition.
    pub(crate) results: Vec<TrialResult>,
    /// Whether the results are ignored because the arm has no usable trial.
    pub(crate) void: bool,
}

impl Slot {
    /// Whether every trial of the first rounds was executed to its end.
    pub(crate) fn is_complete(&self, round: u32) -> bool {
        let executed = |result: &&TrialResult| result.repetition <= round && result.done;
        self.results.iter().filter(executed).count() >= self.planned.min(round as usize)
    }

    /// Planned trials that are neither valid nor finally lost: without a record, or with one of an error that a spent
    /// budget or an interruption left without its retries.
    pub(crate) fn pending(&self) -> usize {
        let done = self.results.iter().filter(|result| result.done).count();
        self.planned.saturating_sub(done)
    }

    /// Removes the trials beyond a round.
    pub(crate) fn cut(&mut self, round: u32) {
        self.planned = self.planned.min(round as usize);
        self.results.retain(|result| result.repetition <= round);
    }

    /// Makes the values of a kind the scores.
    pub(crate) fn apply_outcome(&mut self, kind: OutcomeKind) {
        for result in &mut self.results {
            result.score = result.values.of(kind);
            if kind == OutcomeKind::Pass {
                // No reward was clamped.
                result.outside = None;
            }
        }
    }

    /// Records that are results.
    pub(crate) fn valid(&self) -> impl Iterator<Item = &TrialResult> {
        self.results.iter().filter(|result| !self.void && result.outcome.counts())
    }

    /// The score of each valid trial, in [0, 1].
    pub(crate) fn scores(&self) -> Vec<f64> {
        self.valid().filter_map(|result| result.score).collect()
    }

    /// Their mean; `None` without a valid trial.
    pub(crate) fn score(&self) -> Option<f64> {
        let scores = self.scores();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    }

    /// 1 for each valid trial that passed, 0 for each that did not.
    pub(crate) fn passes(&self) -> Vec<f64> {
        self.valid().map(|result| f64::from(u8::from(result.outcome == Outcome::Passed))).collect()
    }

    /// Whether a valid trial scored something between nothing and all.
    pub(crate) fn is_fractional(&self) -> bool {
        self.valid().filter_map(|result| result.score).any(|score| score > 0.0 && score < 1.0)
    }

    /// Share of valid trials that passed; `None` without one.
    pub(crate) fn pass_rate(&self) -> Option<f64> {
        let (mut passed, mut valid) = (0_usize, 0_usize);
        for result in self.valid() {
            passed += usize::from(result.outcome == Outcome::Passed);
            valid += 1;
        }
        (valid > 0).then(|| passed as f64 / valid as f64)
    }

    /// The scores if each lost trial had scored `lost`.
    pub(crate) fn scores_with(&self, lost: f64) -> Vec<f64> {
        let mut scores = self.scores();
        scores.resize(self.results.len().max(scores.len()), lost);
        scores
    }

    /// Executed trials that are not valid. Trials that were not executed are missing for reasons that have nothing to do with
    /// their result, and do not count.
    pub(crate) fn lost(&self) -> usize {
        self.results.len() - self.valid().count()
    }
}

impl Table {
    /// A cell, created if missing. Two lookups avoid a copy of the names for each of many cells.
    pub(crate) fn slot(&mut self, condition: &str, task: &str) -> &mut Slot {
        if !self.cells.contains_key(condition) {
            self.cells.insert(condition.to_owned(), BTreeMap::new());
        }
        let arm = self.cells.get_mut(condition).expect("it has just been put there");
        if !arm.contains_key(task) {
            arm.insert(task.to_owned(), Slot::default());
        }
        arm.get_mut(task).expect("it has just been put there")
    }

    /// Every cell, with its task.
    pub(crate) fn slots_mut(&mut self) -> impl Iterator<Item = (&String, &mut Slot)> {
        self.cells.values_mut().flatten()
    }

    /// Whether an arm has a usable trial: a valid one in which the agent's model replied at least
    /// once.
    pub(crate) fn is_usable(&self, condition: &str) -> bool {
        let arm = self.cells.get(condition);
        arm.is_some_and(|tasks| {
            let mut valid = tasks.values().flat_map(Slot::valid);
            valid.any(|result| result.replied || !self.needs_replies)
        })
    }

    /// Takes the results of arms that are not usable out of every figure.
    pub(crate) fn void_unusable(&mut self) {
        let unusable: Vec<String> =
            self.cells.keys().filter(|condition| !self.is_usable(condition)).cloned().collect();
        for condition in unusable {
            let slots = self.cells.get_mut(&condition).into_iter().flat_map(BTreeMap::values_mut);
            slots.for_each(|slot| slot.void = true);
        }
    }

    /// Tasks with a valid trial in every usable arm: the denominator. An arm without any has no
    /// rate, and does not reduce the tasks of others.
    pub(crate) fn shared_tasks(&self) -> BTreeSet<&str> {
        let usable = |condition: &str| self.is_usable(condition);
        self.tasks_where(usable, |slot| slot.valid().next().is_some())
    }

    /// Tasks with an executed trial in every arm that has one: the denominator if no trial were lost.
    pub(crate) fn executed_tasks(&self) -> BTreeSet<&str> {
        let has_trials = |condition: &str| {
            self.cells.get(condition).is_some_and(|tasks| tasks.values().any(|slot| !slot.results.is_empty()))
        };
        self.tasks_where(has_trials, |slot| !slot.results.is_empty())
    }

    /// Tasks that meet a condition in every arm that counts. Of the tasks after the rounds, only the arms count that go on
    /// with them.
    fn tasks_where(&self, counts: impl Fn(&str) -> bool, holds: impl Fn(&Slot) -> bool) -> BTreeSet<&str> {
        let mut arms: [Vec<&BTreeMap<String, Slot>>; 2] = [Vec::new(), Vec::new()];
        for (_, tasks) in self.cells.iter().filter(|(condition, _)| counts(condition)) {
            arms[0].push(tasks);
            arms[1].extend(tasks.keys().any(|task| self.is_second_stage(task)).then_some(tasks));
        }
        let shared_of = |second: bool| {
            let mut arms = arms[usize::from(second)].iter().map(|tasks| {
                let of_stage = tasks.iter().filter(|(task, _)| self.is_second_stage(task) == second);
                let holding = of_stage.filter(|(_, slot)| holds(slot));
                holding.map(|(task, _)| task.as_str()).collect::<BTreeSet<_>>()
            });
            let first = arms.next().unwrap_or_default();
            arms.fold(first, |shared, arm| shared.intersection(&arm).copied().collect())
        };
        let mut shared = shared_of(false);
        if !self.second_stage.is_empty() {
            shared.extend(shared_of(true));
        }
        shared
    }

    /// Whether a task takes part in no round.
    pub(crate) fn is_second_stage(&self, task: &str) -> bool {
        self.second_stage.contains(task)
    }

    /// Whether every trial of the first rounds of these conditions has a record.
    pub(crate) fn is_complete<'a>(&self, conditions: impl Iterator<Item = &'a str>, round: u32) -> bool {
        let mut cells = conditions.filter_map(|name| self.cells.get(name)).flatten();
        cells.all(|(task, slot)| self.is_second_stage(task) || slot.is_complete(round))
    }

    /// The table as it was after a round.
    pub(crate) fn at(&self, round: u32) -> Table {
        let mut table = self.cut_to(round);
        for name in self.cells.keys() {
            table.remove_second_stage(name);
        }
        table.void_unusable();
        table
    }

    /// The table as a comparison reads it that has come so far.
    pub(crate) fn as_read_by(&self, look: &Rounds) -> Table {
        if look.ended != Some(End::SecondStage) {
            return self.at(look.round);
        }
        let mut table = self.cut_to(look.round);
        table.void_unusable();
        table
    }

    /// The table with the trials of the first rounds, and all of the tasks after the rounds.
    fn cut_to(&self, round: u32) -> Table {
        let mut table = self.clone();
        for name in self.cells.keys() {
            table.cut(name, round);
        }
        table
    }

    /// Removes the trials of a condition beyond a round.
    pub(crate) fn cut(&mut self, condition: &str, round: u32) {
        for (task, slot) in self.cells.get_mut(condition).into_iter().flatten() {
            if !self.second_stage.contains(task) {
                slot.cut(round);
            }
        }
    }

    /// Removes the tasks after the rounds from a condition.
    pub(crate) fn remove_second_stage(&mut self, condition: &str) {
        if let Some(tasks) = self.cells.get_mut(condition) {
            tasks.retain(|task, _| !self.second_stage.contains(task));
        }
    }
}
