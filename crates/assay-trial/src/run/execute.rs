//! A run: the checks of its tasks, then its trials, by an executor.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_gateway::{Budget, Caps};
use assay_store::{Cause, Cell, Exclusion, Outcome, Record, Store, TrialSpec};
use serde_json::Value;

use crate::plan::{Check, Plan};
use crate::run::executor::{Batch, Event, Executor, ExecutorContext, RunError, RunOptions, RunOutcome};
use crate::run::local::Local;
use crate::run::resolve::Resolver;

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
    let caps = Caps { tokens: options.max_tokens, usd: options.max_usd, requests: None };
    let budget = Budget::new(caps);
    let context = ExecutorContext { store, resolver, run, cancel, concurrency: options.concurrency };
    let executor = Local::new(&context)?;
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
        let batch =
            Batch { phase: "checks", specs: &trials, most: None, retries, retry_broken: true, stop_after };
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

    let excluded: BTreeSet<&str> =
        outcome.failed_checks.iter().map(|excluded| excluded.task.as_str()).collect();
    let mut seen = BTreeSet::new();
    let trials: Vec<Arc<TrialSpec>> = selected
        .iter()
        .filter(|cell| !excluded.contains(cell.task.as_str()) && seen.insert(&cell.trial))
        .filter_map(|cell| plan.trials.get(&cell.trial).cloned())
        .collect();
    let batch = Batch {
        phase: "trials",
        specs: &trials,
        most: options.max_trials,
        retries,
        retry_broken: options.retry_broken,
        stop_after,
    };
    let done = executor.execute(&batch, &budget, events)?;
    outcome.planned = trials.len();
    outcome.executed = done.executed;
    outcome.spent_usd = budget.spent_usd();
    outcome.cached = done.cached;
    for trial in &trials {
        match store.record(&trial.id) {
            Ok(Some(record)) if record.outcome.counts() => {}
            Ok(Some(record)) if record.cause != Some(Cause::Budget) => outcome.infrastructure += 1,
            Ok(_) | Err(_) => outcome.unfinished += 1,
        }
    }
    outcome.stopped = done.stopped;
    outcome.capped = budget.capped().map(|capped| capped.reason);
    outcome.interrupted = cancel.load(Ordering::Relaxed);
    Ok(outcome)
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
            return exclude(format!(
                "the oracle does not pass here ({}{}){tests}",
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
