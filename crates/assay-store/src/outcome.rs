//! The outcome value of trials, which comparisons are made of, and the checks beside it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check_label::CheckLabel;
use crate::error::StoreError;
use crate::judgement::SET_SCORE;
use crate::metric::{DOUBLES_CALLS, DOUBLES_UNKNOWN_CALLS, LINES_CHANGED};
use crate::outcome_rule::OutcomeRule;
use crate::record::Record;
use crate::run::RunFolder;
use crate::score::{Outcome, clamp_reward};
use crate::store::Store;

/// The key of a reward file that is the reward. Others beside it are details.
const REWARD: &str = "reward";

/// Most checks of a record that are read.
const CHECKS: usize = 10_000;

/// What the outcome value of a task's trials is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomeKind {
    /// The mean of all rewards: the rule of plans that name none.
    Mean,
    /// The reward `reward`, else the mean of the rewards.
    Score,
    /// 1 if the trial passed, else 0.
    Pass,
}

/// The outcome values of a run's trials: the rule of its plan, and what its verifiers write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOutcomes {
    rule: Option<OutcomeRule>,
    tasks: BTreeMap<String, Written>,
}

/// Which rewards the verifier of a task has written, in any trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Written {
    /// Several, and none of the name `reward`.
    several: bool,
    /// One of the name `reward`.
    named: bool,
}

/// The outcome values of a trial by every rule, in [0, 1]; `None` if it has no result.
///
/// A passed trial has 1, and one that ran out of time or was tampered with 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutcomeValues {
    mean: Option<f64>,
    score: Option<f64>,
    pass: Option<f64>,
    has_several_rewards: bool,
    has_named_reward: bool,
}

impl OutcomeValues {
    /// The value of a kind.
    pub fn of(&self, kind: OutcomeKind) -> Option<f64> {
        match kind {
            OutcomeKind::Mean => self.mean,
            OutcomeKind::Score => self.score,
            OutcomeKind::Pass => self.pass,
        }
    }
}

/// One check of a trial: a test of a CTRF report, or a named reward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The status in the report: `passed`, `failed`, `skipped` or another. A named reward of 1 or more
    /// passed, and a lower one failed.
    pub status: String,
    /// What it said; empty if it said nothing.
    pub message: String,
    /// Its stack trace; empty if it has none.
    pub trace: String,
    /// What it tests, if its task has two sets of checks.
    pub label: Option<CheckLabel>,
}

impl Check {
    /// Whether it passed; `None` if it was skipped or never ended.
    pub fn passed(&self) -> Option<bool> {
        match self.status.as_str() {
            "passed" => Some(true),
            "failed" => Some(false),
            _ => None,
        }
    }

    /// A named reward as a check.
    fn of_reward(name: &str, reward: f64) -> Self {
        let passed = reward >= 1.0;
        Self {
            name: name.to_owned(),
            status: if passed { "passed" } else { "failed" }.to_owned(),
            message: if passed || reward <= 0.0 { String::new() } else { format!("reward {reward}") },
            trace: String::new(),
            label: None,
        }
    }

    /// A test of a CTRF report; `None` without a name.
    fn of_test(test: &Value) -> Option<Self> {
        let text = |key: &str| test.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        (!name.is_empty()).then(|| Self {
            name,
            status: text("status"),
            message: text("message"),
            trace: text("trace"),
            label: test.get("extra").and_then(CheckLabel::of_extra),
        })
    }
}

impl RunOutcomes {
    /// Of no trial yet, under the rule of a plan.
    pub fn new(rule: Option<OutcomeRule>) -> Self {
        Self { rule, tasks: BTreeMap::new() }
    }

    /// Of all records of a run that can be read.
    ///
    /// # Errors
    /// A store that cannot be read. Records that cannot be read, or are of another version, count as
    /// none.
    pub fn read(store: &Store, run: &RunFolder) -> Result<Self, StoreError> {
        let mut outcomes = Self::new(run.outcome);
        for trial in run.trials() {
            match store.record(trial) {
                Ok(record) => record.iter().for_each(|record| outcomes.observe(record)),
                Err(StoreError::Format { .. } | StoreError::Version { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(outcomes)
    }

    /// Adds the rewards of a record to what is known of its task's verifier.
    pub fn observe(&mut self, record: &Record) {
        self.observe_values(&record.task, &record.outcome_values());
    }

    /// Adds the outcome values of a trial to what is known of its task's verifier.
    pub fn observe_values(&mut self, task: &str, values: &OutcomeValues) {
        if values.pass.is_none() {
            return;
        }
        if !self.tasks.contains_key(task) {
            self.tasks.insert(task.to_owned(), Written::default());
        }
        if let Some(written) = self.tasks.get_mut(task) {
            written.several |= values.has_several_rewards;
            written.named |= values.has_named_reward;
        }
    }

    /// The rule of the plan; `None` for a plan from before there were rules.
    pub fn rule(&self) -> Option<OutcomeRule> {
        self.rule
    }

    /// What the outcome value of a task's trials is.
    pub fn kind(&self, task: &str) -> OutcomeKind {
        match self.rule {
            None => OutcomeKind::Mean,
            Some(OutcomeRule::Score) => OutcomeKind::Score,
            Some(OutcomeRule::Pass) => OutcomeKind::Pass,
            Some(OutcomeRule::Auto) => match self.tasks.get(task) {
                Some(Written { several: true, named: false }) => OutcomeKind::Pass,
                _ => OutcomeKind::Score,
            },
        }
    }

    /// The outcome value of a trial of the run, in [0, 1]; `None` if it has no result.
    pub fn value(&self, record: &Record) -> Option<f64> {
        record.outcome_values().of(self.kind(&record.task))
    }

    /// Tasks with a result whose outcome value is of a kind.
    pub fn count(&self, kind: OutcomeKind) -> usize {
        self.tasks.keys().filter(|task| self.kind(task) == kind).count()
    }

    /// Whether a trial of the task has a result.
    pub fn has_observed(&self, task: &str) -> bool {
        self.tasks.contains_key(task)
    }

    /// Tasks whose verifier has written several rewards and none of the name `reward`, in order of name.
    pub fn with_several_rewards(&self) -> Vec<&str> {
        self.tasks
            .iter()
            .filter(|(_, written)| written.several && !written.named)
            .map(|(task, _)| task.as_str())
            .collect()
    }
}

impl Record {
    /// Whether the verifier wrote several rewards and none of the name `reward`.
    pub fn has_several_rewards(&self) -> bool {
        self.rewards.len() > 1 && !self.rewards.contains_key(REWARD)
    }

    /// The outcome values of the trial by every rule.
    pub fn outcome_values(&self) -> OutcomeValues {
        let mean = self.score();
        let has_several_rewards = self.has_several_rewards();
        OutcomeValues {
            mean,
            score: match self.rewards.get(REWARD) {
                Some(reward) if self.outcome == Outcome::Failed => Some(clamp_reward(*reward)),
                _ => mean,
            },
            pass: self.outcome.counts().then_some(if self.outcome == Outcome::Passed { 1.0 } else { 0.0 }),
            has_several_rewards,
            has_named_reward: self.rewards.contains_key(REWARD),
        }
    }

    /// The checks of the trial: the tests of its verifier's CTRF report, else its named rewards.
    ///
    /// A single reward is no check. Keys beside `reward` are checks if there are several, each is 0 or 1,
    /// and the reward is not outside of their range: other numbers are metrics.
    pub fn checks(&self) -> Vec<Check> {
        let tests = self.ctrf.as_ref().map(|ctrf| ctrf.get("results").unwrap_or(ctrf));
        if let Some(tests) = tests.and_then(|report| report.get("tests")).and_then(Value::as_array) {
            return tests.iter().filter_map(Check::of_test).take(CHECKS).collect();
        }
        if self.rewards.len() > 1 {
            let named = self.rewards.iter().filter(|(name, _)| *name != REWARD);
            return named.map(|(name, reward)| Check::of_reward(name, *reward)).collect();
        }
        let Some(reward) = self.rewards.get(REWARD) else { return Vec::new() };
        let details: Vec<(&str, f64)> = self
            .numbers
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .filter(|(name, _)| ![DOUBLES_CALLS, DOUBLES_UNKNOWN_CALLS, LINES_CHANGED].contains(name))
            .filter(|(name, _)| !name.starts_with(SET_SCORE))
            .collect();
        let is_verdict = |value: f64| (value * (1.0 - value)).abs() < f64::EPSILON;
        let low = details.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
        let high = details.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        let are_checks = details.len() > 1
            && details.iter().all(|(_, value)| is_verdict(*value))
            && (low..=high).contains(reward);
        if !are_checks {
            return Vec::new();
        }
        details.into_iter().map(|(name, value)| Check::of_reward(name, value)).collect()
    }
}

#[cfg(test)]
mod tests;
