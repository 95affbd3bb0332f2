//! Trials in, records out, on this machine: a pool of threads that share a store with whoever else uses it.

mod breaker;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_gateway::{Budget, Caps, Permit, Start};
use assay_store::{Cause, Cell, Claim, Exclusion, Outcome, Record, Selection, Store, StoreError, TrialId};
use serde_json::{Value, json};

use self::breaker::Breaker;
use crate::plan::{Check, Plan, Trial};
use crate::run::life::{Executed, Runner};
use crate::run::prep_cache::Workshop;

/// How long to wait before asking again for trials that other processes hold.
const PATIENCE: Duration = Duration::from_millis(50);

/// How a run is to go.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Trials at once.
    pub concurrency: usize,
    /// Most trials executed; the rest waits for the next run.
    pub max_trials: Option<usize>,
    /// Most USD spent; no trial is begun that would be likely to pass it. Trials of unknown cost count as nothing.
    pub max_usd: Option<f64>,
    /// Most tokens, read and written. A trial is stopped before its next request, by this and by the most USD.
    pub max_tokens: Option<u64>,
    /// Which cells.
    pub only: Selection,
    /// Whether trials that broke in an earlier run are tried again.
    pub retry_broken: bool,
    /// Whether oracle and nop go first.
    pub checks: bool,
}

/// What happens on the way.
#[derive(Debug)]
pub enum Event<'a> {
    /// Checks or trials are about to begin.
    Begin {
        /// `checks` or `trials`.
        phase: &'static str,
        /// How many there are in all.
        total: usize,
        /// How many of them are there already.
        reused: usize,
    },
    /// A trial ended.
    End {
        /// Its record.
        record: &'a Record,
        /// Whether another process executed it.
        elsewhere: bool,
    },
    /// A trial broke and is tried again.
    Retry {
        /// The record of the attempt.
        record: &'a Record,
    },
    /// Something to tell.
    Note(String),
}

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOutcome {
    /// Distinct trials asked for, those of excluded tasks left out.
    pub planned: usize,
    /// Of them, executed now.
    pub executed: usize,
    /// Of them, found in the store.
    pub reused: usize,
    /// Of them, ended as infrastructure.
    pub infrastructure: usize,
    /// Of them, without a result: interrupted, or beyond the number or the sum allowed.
    pub unfinished: usize,
    /// What the executed trials cost, as far as their costs are known.
    pub spent_usd: f64,
    /// Oracle and nop trials executed now.
    pub checks_executed: usize,
    /// Which cap of the run was reached.
    pub capped: Option<String>,
    /// Why it was stopped before its end: too many trials in a row were lost to one provider.
    pub stopped: Option<String>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Tasks that cannot be graded here, and why.
    pub failed_checks: Vec<Exclusion>,
}

/// Executes a plan's trials that have no result yet.
pub fn run(
    plan: &Plan,
    run: &str,
    store: &Store,
    options: &RunOptions,
    cancel: &AtomicBool,
    listen: &mut dyn FnMut(Event<'_>),
) -> Result<RunOutcome, StoreError> {
    let caps = Caps { tokens: options.max_tokens, usd: options.max_usd, requests: None };
    let budget = Budget::new(caps);
    let workshop = Workshop::with_budget(store, budget.clone())?;
    let breaker = Breaker::new(plan);
    let concurrency = options.concurrency;
    let pool =
        Pool { store, workshop: &workshop, budget: &budget, run, cancel, concurrency, breaker: &breaker };
    let mut outcome = RunOutcome::default();

    let selected: Vec<&Cell> = plan
        .cells
        .iter()
        .filter(|cell| options.only.holds(cell, &plan.roster[cell.agent].label.name))
        .collect();
    let tasks: BTreeSet<&str> = selected.iter().map(|cell| cell.task.as_str()).collect();
    let checks: Vec<&Check> =
        plan.checks.iter().filter(|check| tasks.contains(check.task.as_str())).collect();
    if options.checks {
        let trials: Vec<Arc<Trial>> =
            checks.iter().flat_map(|check| check.oracle.iter().chain([&check.nop])).cloned().collect();
        let policy =
            Policy { most: None, retries: plan.experiment.infrastructure_retries, retry_broken: true };
        outcome.checks_executed = pool.execute("checks", &trials, policy, listen)?.executed;
        if !cancel.load(Ordering::Relaxed) {
            outcome.failed_checks = checks.iter().filter_map(|check| failed(check, store)).collect();
            for excluded in &outcome.failed_checks {
                listen(Event::Note(format!("{} is left out: {}", excluded.task, excluded.reason)));
            }
            // What is known of tasks that were not meant this time stays.
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
    let trials: Vec<Arc<Trial>> = selected
        .iter()
        .filter(|cell| !excluded.contains(cell.task.as_str()) && seen.insert(&cell.trial))
        .filter_map(|cell| plan.trials.get(&cell.trial).cloned())
        .collect();
    let policy = Policy {
        most: options.max_trials,
        retries: plan.experiment.infrastructure_retries,
        retry_broken: options.retry_broken,
    };
    let done = pool.execute("trials", &trials, policy, listen)?;
    outcome.planned = trials.len();
    outcome.executed = done.executed;
    outcome.spent_usd = budget.spent_usd();
    outcome.reused = done.reused;
    for trial in &trials {
        match store.record(&trial.id) {
            Ok(Some(record)) if record.outcome.counts() => {}
            Ok(Some(record)) if record.cause != Some(Cause::Budget) => outcome.infrastructure += 1,
            Ok(_) | Err(_) => outcome.unfinished += 1,
        }
    }
    outcome.stopped = breaker.tripped();
    outcome.capped = budget.capped().map(|capped| capped.reason);
    outcome.interrupted = cancel.load(Ordering::Relaxed);
    Ok(outcome)
}

/// Why a task's results would say nothing, judged by what its solution and doing nothing came to.
fn failed(check: &Check, store: &Store) -> Option<Exclusion> {
    let exclude = |reason: String| Some(Exclusion { task: check.task.clone(), condition: None, reason });
    let result = |trial: &Trial| store.record(&trial.id).ok().flatten();
    let because =
        |record: &Record| record.reason.clone().map_or(String::new(), |reason| format!(": {reason}"));
    let Some(oracle) = &check.oracle else {
        return exclude(
            "it has no solution/solve.sh, so nothing shows that it can be passed here".to_owned(),
        );
    };
    match result(oracle) {
        None => return exclude("its solution was not played to the end".to_owned()),
        Some(record) if record.outcome != Outcome::Passed => {
            let tests = failed_tests(&record);
            return exclude(format!(
                "its own solution does not pass here ({}{}){tests}",
                record.outcome.word().replace('_', " "),
                because(&record)
            ));
        }
        Some(_) => {}
    }
    match result(&check.nop) {
        None => exclude("doing nothing was not tried to the end".to_owned()),
        Some(record) if record.outcome == Outcome::Passed => {
            exclude("doing nothing passes its tests".to_owned())
        }
        Some(record) if !record.outcome.counts() => {
            exclude(format!("its verifier breaks where nothing was done{}", because(&record)))
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

/// How hard to try.
#[derive(Debug, Clone, Copy)]
struct Policy {
    most: Option<usize>,
    retries: u32,
    retry_broken: bool,
}

#[derive(Debug, Default)]
struct Done {
    executed: usize,
    reused: usize,
}

struct Pool<'a> {
    store: &'a Store,
    workshop: &'a Workshop,
    budget: &'a Budget,
    run: &'a str,
    cancel: &'a AtomicBool,
    concurrency: usize,
    breaker: &'a Breaker,
}

/// A message from a worker to the thread that listens.
enum Message {
    End(Box<Record>, bool),
    Retry(Box<Record>),
    Note(String),
    Broke(StoreError),
}

impl Pool<'_> {
    fn execute(
        &self,
        phase: &'static str,
        trials: &[Arc<Trial>],
        policy: Policy,
        listen: &mut dyn FnMut(Event<'_>),
    ) -> Result<Done, StoreError> {
        let mut waiting = VecDeque::new();
        let mut reused = 0;
        for trial in trials {
            match self.store.record(&trial.id) {
                Ok(Some(record))
                    if record.outcome.counts()
                        || !policy.retry_broken && record.cause != Some(Cause::Budget) =>
                {
                    reused += 1;
                }
                Ok(_) => waiting.push_back(trial.clone()),
                Err(error) => {
                    listen(Event::Note(format!("{}, and is made anew", assay_diagnostic::chain(&error))));
                    waiting.push_back(trial.clone());
                }
            }
        }
        listen(Event::Begin { phase, total: trials.len(), reused });
        let broken: BTreeMap<TrialId, u32> = waiting
            .iter()
            .filter_map(|trial| Some((trial.id.clone(), self.store.record(&trial.id).ok()??.attempt)))
            .collect();
        let workers = self.concurrency.min(waiting.len());
        let shared = Shared {
            waiting: Mutex::new(waiting),
            left: AtomicUsize::new(policy.most.unwrap_or(usize::MAX)),
            stop: AtomicBool::new(false),
            broken,
        };
        let (sender, receiver) = channel();
        let mut done = Done { executed: 0, reused };
        let mut failure = None;
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let sender = sender.clone();
                let shared = &shared;
                scope.spawn(move || self.work(shared, policy, &sender));
            }
            drop(sender);
            for message in receiver {
                match message {
                    Message::End(record, elsewhere) => {
                        let count = if elsewhere { &mut done.reused } else { &mut done.executed };
                        *count += 1;
                        self.log(phase, &record, elsewhere, &mut failure);
                        listen(Event::End { record: &record, elsewhere });
                    }
                    Message::Retry(record) => {
                        self.log("retry", &record, false, &mut failure);
                        listen(Event::Retry { record: &record });
                    }
                    Message::Note(note) => listen(Event::Note(note)),
                    Message::Broke(error) => failure = Some(error),
                }
                if failure.is_some() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        for trial in trials {
            trial.place.settle();
        }
        failure.map_or(Ok(done), Err)
    }

    fn log(&self, kind: &str, record: &Record, elsewhere: bool, failure: &mut Option<StoreError>) {
        let event = json!({
            "schema": "assay.event/1",
            "kind": kind,
            "at": record.finished_at,
            "trial": record.trial,
            "task": record.task,
            "condition": record.condition,
            "repetition": record.repetition,
            "attempt": record.attempt,
            "outcome": record.outcome,
            "elsewhere": elsewhere,
        });
        if let Err(error) = self.store.event(self.run, &event) {
            failure.get_or_insert(error);
        }
    }

    /// One worker. A sandbox dies with the thread that started it, so each trial is executed on one thread from end to end.
    fn work(&self, shared: &Shared, policy: Policy, sender: &Sender<Message>) {
        while !self.cancel.load(Ordering::Relaxed) && !shared.stop.load(Ordering::Relaxed) {
            let next = shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(trial) = next else { return };
            // Nobody listens any more only when the pool itself is gone.
            let tell = |message| {
                let _ = sender.send(message);
            };
            match self.one(&trial, shared, policy, &tell) {
                Ok(true) => {}
                Ok(false) => {
                    // Another process has it: look again when the others are through.
                    shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(trial);
                    std::thread::sleep(PATIENCE);
                }
                Err(error) => return tell(Message::Broke(error)),
            }
        }
    }

    /// Brings one trial to its end, or says that it has to wait: another process has it, or the money is spoken for.
    fn one(
        &self,
        trial: &Trial,
        shared: &Shared,
        policy: Policy,
        tell: &dyn Fn(Message),
    ) -> Result<bool, StoreError> {
        if self.budget.capped().is_some() {
            return Ok(true);
        }
        match self.budget.start() {
            Start::Go(permit) => self.permitted(&permit, trial, shared, policy, tell),
            Start::Wait => Ok(false),
            Start::Stop => Ok(true),
        }
    }

    /// The same, with leave to spend.
    fn permitted(
        &self,
        permit: &Permit,
        trial: &Trial,
        shared: &Shared,
        policy: Policy,
        tell: &dyn Fn(Message),
    ) -> Result<bool, StoreError> {
        let lease = match self.store.claim(&trial.id)? {
            Claim::Mine(lease) => lease,
            Claim::Held(owner) if owner.is_alive() || owner.is_dead() => return Ok(false),
            // Whether it lives is not known here, and so neither is how long to wait.
            Claim::Held(_) => {
                tell(Message::Note(format!(
                    "{} is left out: a process on another machine, or in another container, has its lease; run this again when that \
                     is through, or remove {} if it is gone",
                    trial.id.short(),
                    self.store.trial_folder(&trial.id).join("lease").display()
                )));
                return Ok(true);
            }
        };
        // Another process may have ended it between our look and our claim.
        if let Ok(Some(record)) = self.store.record(&trial.id)
            && (record.outcome.counts()
                || shared.broken.get(&trial.id).is_none_or(|known| record.attempt > *known))
        {
            tell(Message::End(Box::new(record), true));
            return Ok(true);
        }
        let taken =
            shared.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if taken.is_err() {
            return Ok(true);
        }
        let budget = permit.budget();
        let runner =
            Runner { store: self.store, workshop: self.workshop, cancel: self.cancel, budget, keep: false };
        for round in 0..=policy.retries {
            match runner.execute(trial, &lease)? {
                Executed::Interrupted => return Ok(true),
                Executed::Recorded { record, .. } => {
                    let again = record.outcome == Outcome::Infrastructure
                        && !matches!(record.cause, Some(Cause::AgentSetup | Cause::Budget))
                        && round < policy.retries
                        && !shared.stop.load(Ordering::Relaxed);
                    if !again {
                        let stopped = self.breaker.note(&record);
                        tell(Message::End(record, false));
                        if let Some(reason) = stopped {
                            shared.stop.store(true, Ordering::Relaxed);
                            tell(Message::Note(format!("stopping the run: {reason}")));
                        }
                        return Ok(true);
                    }
                    if record.cause == Some(Cause::Harness) {
                        tell(Message::Note(record.reason.clone().unwrap_or_default()));
                    }
                    permit.retry();
                    tell(Message::Retry(record));
                    self.pause(round);
                }
            }
        }
        Ok(true)
    }

    /// Waits a little longer each time, and not at all once interrupted.
    fn pause(&self, round: u32) {
        for _ in 0..(1_u32 << round.min(5)) {
            if self.cancel.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

struct Shared {
    waiting: Mutex<VecDeque<Arc<Trial>>>,
    left: AtomicUsize,
    stop: AtomicBool,
    /// Trials whose record, from before this run, says that they broke at this attempt.
    broken: BTreeMap<TrialId, u32>,
}

#[cfg(test)]
mod tests;
