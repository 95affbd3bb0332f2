//! A run: the checks of its tasks, then its trials, by an executor.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_gateway::{Budget, Caps};
use assay_store::{Cell, Exclusion, NEEDS_NETWORK, Outcome, Record, Store, StoreError, TrialSpec};
use serde_json::Value;

use crate::experiment::Retries;
use crate::plan::{Check, Plan};
use crate::run::executor::{
    Batch, Event, Executor, ExecutorContext, ExecutorKind, RunError, RunOptions, RunOutcome,
};
use crate::run::local::Local;
use crate::run::network_need;
use crate::run::resolve::Resolver;
use crate::run::slurm::Slurm;
use crate::run::workers::Workers;

/// Executes a plan's trials that have no result yet.
pub fn run(
    plan: &Plan,
    run: &str,
    store: &Store,
    resolver: &Resolver<'_>,
    options: &RunOptions,
    cancel: &AtomicBool,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<RunOutcome, RunError> {
    run_rounds(plan, run, store, resolver, options, cancel, None, events)
}

/// Decides who takes part in a round, given the number of the round, from 1: called before each round with all
/// earlier ones complete.
pub type NextRound<'a> = dyn FnMut(u32) -> Result<RoundArms, StoreError> + 'a;

/// Who takes part in a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoundArms {
    /// Agent (counted from 0), sandbox and condition; nobody if no comparison takes part in another round.
    pub arms: BTreeSet<(usize, String, String)>,
    /// Who goes on with the tasks that take part in no round, once nobody takes part in a round.
    pub more: BTreeSet<(usize, String, String)>,
    /// What was decided since the round before, for the user.
    pub notes: Vec<String>,
}

impl RoundArms {
    /// Whether a cell takes part; `second_stage` are the tasks that take part in no round.
    fn has(&self, cell: &Cell, round: u32, second_stage: &BTreeSet<String>) -> bool {
        let arm = || (cell.agent, cell.sandbox.clone(), cell.condition.clone());
        if second_stage.contains(&cell.task) {
            self.arms.is_empty() && self.more.contains(&arm())
        } else {
            cell.repetition == round && self.arms.contains(&arm())
        }
    }
}

/// Executes a plan's trials that have no result yet: round by round if `next` is given, else all of them.
///
/// # Errors
/// As [`run`], and those of `next`.
#[expect(clippy::too_many_arguments, reason = "the context of a run, and what decides its rounds")]
pub fn run_rounds(
    plan: &Plan,
    run: &str,
    store: &Store,
    resolver: &Resolver<'_>,
    options: &RunOptions,
    cancel: &AtomicBool,
    next: Option<&mut NextRound<'_>>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<RunOutcome, RunError> {
    let caps = Caps { tokens: options.max_tokens, usd: options.max_usd, requests: None };
    let budget = Budget::new(caps);
    let RunOptions { concurrency, waiting_interval, .. } = *options;
    let context =
        ExecutorContext { store, resolver, run, cancel, concurrency, health: None, waiting_interval };
    let executor: Box<dyn Executor> = match &options.executor {
        ExecutorKind::Local => Box::new(Local::new(&context)?),
        ExecutorKind::Workers => Box::new(Workers::new(&context, None)),
        ExecutorKind::Slurm(slurm) => {
            Box::new(Workers::new(&context, Some(Slurm::new(store, run, concurrency, slurm))))
        }
    };
    let executor = &*executor;
    let (retries, stop_after) = (plan.experiment.retries, plan.experiment.stop_after);
    let mut outcome = RunOutcome::default();

    let selected: Vec<&Cell> = plan
        .cells
        .iter()
        .filter(|cell| options.only.matches(cell, &plan.agents[cell.agent].label.name))
        .collect();
    let tasks: BTreeSet<&str> = selected.iter().map(|cell| cell.task.as_str()).collect();
    let checks: Vec<&Check> =
        plan.checks.iter().filter(|check| tasks.contains(check.task.as_str())).collect();
    if options.checks {
        let trials: Vec<Arc<TrialSpec>> =
            checks.iter().flat_map(|check| check.oracle.iter().chain([&check.nop])).cloned().collect();
        let batch = Batch {
            phase: "checks",
            specs: &trials,
            most: None,
            retries,
            retry_broken: true,
            broken: None,
            stop_after,
        };
        // They use no model. The run's budget would serialize them while the cost of a trial is
        // unknown.
        let done = executor.execute(&batch, &Budget::default(), events)?;
        outcome.checks_executed = done.executed;
        if !cancel.load(Ordering::Relaxed) {
            outcome.failed_checks = checks.iter().filter_map(|check| failed_check(check, store)).collect();
            for excluded in &outcome.failed_checks {
                events(Event::Note(format!("{} excluded: {}", excluded.task, excluded.reason)));
            }
            // Results of tasks that were not selected are kept.
            let mut failed = store.failed_checks(run)?;
            failed.retain(|known| !tasks.contains(known.task.as_str()));
            failed.extend(outcome.failed_checks.iter().cloned());
            failed.sort();
            store.save_failed_checks(run, &failed)?;
        }
    }

    let excluded: BTreeSet<String> =
        outcome.failed_checks.iter().map(|excluded| excluded.task.clone()).collect();
    let specs = |in_round: &dyn Fn(&Cell) -> bool| -> Vec<Arc<TrialSpec>> {
        let mut seen = BTreeSet::new();
        let cells = selected.iter().filter(|cell| !excluded.contains(&cell.task) && in_round(cell));
        cells
            .filter(|cell| seen.insert(&cell.trial))
            .filter_map(|cell| plan.trials.get(&cell.trial).cloned())
            .collect()
    };
    let trials = Trials { executor, budget: &budget, store, options, retries, stop_after };
    if let Some(next) = next {
        for round in 1.. {
            let mut part = next(round)?;
            for note in std::mem::take(&mut part.notes) {
                events(Event::Note(note));
            }
            let takes_part = |cell: &Cell| part.has(cell, round, &plan.second_stage);
            let specs = specs(&takes_part);
            let is_round = selected.iter().any(|cell| takes_part(cell));
            if !is_round {
                break;
            }
            // A look has used the lost trials of a complete round: a retry would change what it saw.
            let is_complete =
                specs.iter().all(|trial| !matches!(state_of(store, trial), TrialState::Missing));
            if !trials.execute(&specs, options.retry_broken && !is_complete, &mut outcome, events)? {
                break;
            }
            if part.arms.is_empty() {
                // What the tasks after the rounds have decided.
                next(round + 1)?.notes.into_iter().for_each(|note| events(Event::Note(note)));
                break;
            }
        }
    } else {
        trials.execute(&specs(&|_| true), options.retry_broken, &mut outcome, events)?;
    }
    let foreign = selected.iter().filter(|cell| !excluded.contains(&cell.task));
    let foreign: BTreeSet<_> =
        foreign.map(|cell| &cell.trial).filter(|trial| !plan.trials.contains_key(*trial)).collect();
    outcome.imported = foreign.len();
    outcome.planned += foreign.len();
    outcome.cached += foreign.len();
    executor.close(events);
    outcome.spent_usd = budget.spent_usd();
    outcome.capped = budget.capped().map(|capped| capped.reason);
    outcome.interrupted = cancel.load(Ordering::Relaxed);
    Ok(outcome)
}

/// Executes the trials of a run, as a whole or round by round.
struct Trials<'a> {
    executor: &'a dyn Executor,
    budget: &'a Budget,
    store: &'a Store,
    options: &'a RunOptions,
    retries: Retries,
    stop_after: u32,
}

impl Trials<'_> {
    /// Adds what happened to the outcome. False if the run should not go on: a trial was not executed to its end.
    fn execute(
        &self,
        specs: &[Arc<TrialSpec>],
        retry_broken: bool,
        outcome: &mut RunOutcome,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, RunError> {
        let batch = Batch {
            phase: "trials",
            specs,
            most: self.options.max_trials.map(|most| most.saturating_sub(outcome.executed)),
            retries: self.retries,
            retry_broken,
            broken: None,
            stop_after: self.stop_after,
        };
        let done = self.executor.execute(&batch, self.budget, events)?;
        outcome.planned += specs.len();
        outcome.executed += done.executed;
        outcome.cached += done.cached;
        outcome.stopped = done.stopped;
        let mut complete = outcome.stopped.is_none();
        for trial in specs {
            match state_of(self.store, trial) {
                TrialState::Counts => {}
                TrialState::Broken => outcome.infrastructure += 1,
                TrialState::Missing => {
                    complete = false;
                    outcome.unfinished += 1;
                }
            }
        }
        Ok(complete)
    }
}

/// The state of a trial in the store.
enum TrialState {
    /// It has a result.
    Counts,
    /// It ended with an infrastructure error.
    Broken,
    /// It was not executed, or not to its end.
    Missing,
}

fn state_of(store: &Store, trial: &TrialSpec) -> TrialState {
    match store.record(&trial.id) {
        Ok(Some(record)) if record.outcome.counts() => TrialState::Counts,
        Ok(Some(record)) if record.is_done() => TrialState::Broken,
        Ok(_) | Err(_) => TrialState::Missing,
    }
}

/// Why a task's results would be meaningless, according to its checks (oracle and no-op).
fn failed_check(check: &Check, store: &Store) -> Option<Exclusion> {
    let exclude = |reason: String| Some(Exclusion { task: check.task.clone(), condition: None, reason });
    let result = |trial: &TrialSpec| store.record(&trial.id).ok().flatten();
    let reason_suffix =
        |record: &Record| record.reason.clone().map_or(String::new(), |reason| format!(": {reason}"));
    let Some(oracle) = &check.oracle else {
        return exclude("no solution/solve.sh: cannot verify that the task is solvable".to_owned());
    };
    match result(oracle) {
        None => return exclude("the oracle did not finish".to_owned()),
        Some(record) if record.outcome != Outcome::Passed => {
            let tests = failed_tests(&record);
            let network = if network_need::is_seen(store, oracle, &record) {
                format!("; {NEEDS_NETWORK}")
            } else {
                String::new()
            };
            return exclude(format!(
                "the oracle does not pass here ({}{}){tests}{network}",
                record.outcome.word().replace('_', " "),
                reason_suffix(&record)
            ));
        }
        Some(_) => {}
    }
    match result(&check.nop) {
        None => exclude("the no-op check did not finish".to_owned()),
        Some(record) if record.outcome == Outcome::Passed => {
            exclude("the no-op check passes: the tests accept an untouched environment".to_owned())
        }
        Some(record) if !record.outcome.counts() => {
            exclude(format!("its verifier breaks in the no-op check{}", reason_suffix(&record)))
        }
        Some(_) => None,
    }
}

/// The names of the tests that failed, by the verifier's own report.
fn failed_tests(record: &Record) -> String {
    let tests = record.ctrf.as_ref().and_then(|report| report.get("tests")).and_then(Value::as_array);
    let failed: Vec<&str> = tests
        .into_iter()
        .flatten()
        .filter(|test| test.get("status").and_then(Value::as_str) == Some("failed"))
        .filter_map(|test| test.get("name").and_then(Value::as_str))
        .take(3)
        .collect();
    if failed.is_empty() { String::new() } else { format!("; failed: {}", failed.join(", ")) }
}
