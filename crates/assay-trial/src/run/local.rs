//! The local executor: a pool of threads that share a store with other processes.

mod breaker;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_ask::{AskEvent, AskEvents, AskProgress};
use assay_gateway::{Admission, Budget, Permit};
use assay_model::Retry;
use assay_store::{Cause, Claim, Liveness, Record, Store, StoreError, TrialId, TrialSpec};
use serde_json::json;

use self::breaker::Breaker;
use crate::experiment::RetriesLeft;
use crate::run::executor::{Batch, Done, Event, Executor, ExecutorContext, RunError};
use crate::run::life::{Executed, Runner};
use crate::run::prep_cache::PrepCache;

/// How long to wait before claiming a trial again that another process of this machine has.
const PATIENCE: Duration = Duration::from_millis(50);
/// The same if it is on another machine, whose file server is asked.
const PATIENCE_ELSEWHERE: Duration = Duration::from_secs(1);

/// Threads of this process.
pub(crate) struct Local<'a> {
    context: ExecutorContext<'a>,
    cache: PrepCache,
}

impl<'a> Local<'a> {
    pub(crate) fn new(context: &ExecutorContext<'a>) -> Result<Self, StoreError> {
        Ok(Self { context: *context, cache: PrepCache::new(context.store)? })
    }
}

/// A message from a worker to the receiving thread.
enum Message {
    End(Box<Record>, bool),
    Retry(Box<Record>),
    JudgesWaiting { requests: usize, oldest: Duration },
    JudgeRetried { judge: String, retry: Retry },
    Note(String),
    Broke(RunError),
    Stopped(String),
}

/// How a worker reports to the receiving thread.
#[derive(Clone)]
struct Reporter {
    sender: Sender<Message>,
    /// What happens while judges are asked: one group for all workers.
    judges: AskProgress,
}

impl Reporter {
    fn new(sender: Sender<Message>, waiting_interval: Duration) -> Self {
        let judges = AskProgress::new(Arc::new(JudgeEvents(sender.clone())), waiting_interval);
        Self { sender, judges }
    }

    fn report(&self, message: Message) {
        send_message(&self.sender, message);
    }
}

/// Passes on what happens while judges are asked.
struct JudgeEvents(Sender<Message>);

impl AskEvents for JudgeEvents {
    fn handle_event(&self, event: &AskEvent<'_>) {
        let message = match *event {
            AskEvent::Waiting { requests, oldest } => Message::JudgesWaiting { requests, oldest },
            AskEvent::Retried { model, retry } => {
                Message::JudgeRetried { judge: model.to_owned(), retry: retry.clone() }
            }
            _ => return,
        };
        send_message(&self.0, message);
    }
}

/// Sends a message. It fails only when the pool itself has ended.
fn send_message(sender: &Sender<Message>, message: Message) {
    let _ = sender.send(message);
}

impl Executor for Local<'_> {
    fn execute(
        &self,
        batch: &Batch<'_>,
        budget: &Budget,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Done, RunError> {
        let Batch { phase, specs: trials, .. } = *batch;
        let (waiting, cached) = unfinished(self.context.store, batch, events);
        let mut waiting = VecDeque::from(waiting);
        events(Event::Begin { phase, total: trials.len(), cached });
        let broken = batch.broken.cloned().unwrap_or_else(|| {
            let attempt = |trial: &TrialSpec| Some(self.context.store.record(&trial.id).ok()??.attempt);
            waiting.iter().filter_map(|trial| Some((trial.id.clone(), attempt(trial)?))).collect()
        });
        if batch.broken.is_some() && !waiting.is_empty() {
            // Processes that share a batch begin at different trials.
            let label = blake3::hash(self.context.store.owner().label().as_bytes());
            let start = u64::from_le_bytes(label.as_bytes()[..8].try_into().unwrap_or_default());
            let start = usize::try_from(start % waiting.len() as u64).unwrap_or_default();
            waiting.rotate_left(start);
        }
        let workers = self.context.concurrency.min(waiting.len());
        let shared = Shared {
            batch,
            budget,
            breaker: Breaker::new(batch.stop_after, self.context.health.is_some()),
            waiting: Mutex::new(waiting),
            passed_over: AtomicUsize::new(0),
            left: AtomicUsize::new(batch.most.unwrap_or(usize::MAX)),
            stop: AtomicBool::new(false),
            broken,
        };
        let (sender, receiver) = channel();
        let mut done = Done { executed: 0, cached, stopped: None };
        let mut failure = None;
        std::thread::scope(|scope| {
            let reporter = Reporter::new(sender, self.context.waiting_interval);
            for _ in 0..workers {
                let reporter = reporter.clone();
                let shared = &shared;
                scope.spawn(move || self.run_worker(shared, &reporter));
            }
            drop(reporter);
            for message in receiver {
                match message {
                    Message::End(record, elsewhere) => {
                        let count = if elsewhere { &mut done.cached } else { &mut done.executed };
                        *count += 1;
                        self.log(phase, &record, elsewhere, &mut failure);
                        events(Event::End { record: &record, elsewhere });
                    }
                    Message::Retry(record) => {
                        self.log("retry", &record, false, &mut failure);
                        events(Event::Retry { record: &record });
                    }
                    Message::JudgesWaiting { requests, oldest } => {
                        events(Event::JudgesWaiting { requests, oldest });
                    }
                    Message::JudgeRetried { judge, retry } => {
                        events(Event::JudgeRetried { judge: &judge, retry: &retry });
                    }
                    Message::Note(note) => events(Event::Note(note)),
                    Message::Broke(error) => failure = Some(error),
                    Message::Stopped(reason) => done.stopped = Some(reason),
                }
                if failure.is_some() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        self.context.resolver.wait_for_removals();
        done.stopped = done.stopped.or_else(|| shared.breaker.tripped());
        failure.map_or(Ok(done), Err)
    }
}

/// The trials of a batch that have no result yet, and the number of the others.
pub(crate) fn unfinished(
    store: &Store,
    batch: &Batch<'_>,
    events: &mut dyn FnMut(Event<'_>),
) -> (Vec<Arc<TrialSpec>>, usize) {
    let mut waiting = Vec::new();
    for trial in batch.specs {
        match store.record_with_origin(&trial.id) {
            Ok(Some((record, _))) if is_finished(&record, batch) => {}
            Ok(_) => waiting.push(trial.clone()),
            Err(error) => {
                if matches!(error, StoreError::Changed { .. }) {
                    // A process without the key would take it for a result.
                    if let Err(error) = store.set_aside(&trial.id) {
                        events(Event::Note(assay_diagnostic::chain(&error)));
                    }
                }
                events(Event::Note(format!(
                    "{}; the trial is executed again",
                    assay_diagnostic::chain(&error)
                )));
                waiting.push(trial.clone());
            }
        }
    }
    let cached = batch.specs.len() - waiting.len();
    (waiting, cached)
}

/// Whether a record is the result of a trial in a batch.
pub(crate) fn is_finished(record: &Record, batch: &Batch<'_>) -> bool {
    let is_of_batch = batch
        .broken
        .is_some_and(|broken| broken.get(&record.trial).is_none_or(|earlier| record.attempt > *earlier));
    record.outcome.counts() || is_of_batch || !batch.retry_broken && record.is_done()
}

impl Local<'_> {
    fn log(&self, kind: &str, record: &Record, elsewhere: bool, failure: &mut Option<RunError>) {
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
        if let Err(error) = self.context.store.event(self.context.run, &event) {
            failure.get_or_insert(error.into());
        }
    }

    /// One worker. A sandbox dies with the thread that started it, so each trial is executed on one
    /// thread from end to end.
    fn run_worker(&self, shared: &Shared<'_>, reporter: &Reporter) {
        while !self.context.cancel.load(Ordering::Relaxed) && !shared.stop.load(Ordering::Relaxed) {
            let next = shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(trial) = next else { return };
            match self.run_trial(&trial, shared, reporter) {
                Ok(Next::Another) => shared.passed_over.store(0, Ordering::Relaxed),
                Ok(Next::AgainAfter(pause)) => {
                    // Try again after the others; wait only once that is true of all that are left.
                    let mut waiting = shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    waiting.push_back(trial);
                    let left = waiting.len();
                    drop(waiting);
                    if shared.passed_over.fetch_add(1, Ordering::Relaxed) + 1 >= left {
                        shared.passed_over.store(0, Ordering::Relaxed);
                        std::thread::sleep(pause);
                    }
                }
                Err(error) => return reporter.report(Message::Broke(error)),
            }
        }
    }

    /// Executes one trial, unless it has to wait: another process has it, or the budget is
    /// reserved.
    fn run_trial(
        &self,
        trial: &TrialSpec,
        shared: &Shared<'_>,
        reporter: &Reporter,
    ) -> Result<Next, RunError> {
        if shared.budget.capped().is_some() {
            return Ok(Next::Another);
        }
        if let Some(Err(reason)) = self.context.health.map(|health| health()) {
            if !shared.stop.swap(true, Ordering::Relaxed) {
                reporter.report(Message::Stopped(reason));
            }
            return Ok(Next::Another);
        }
        // Before a claim, which costs more; a process may be trying again after another outcome.
        if let Some(record) = self.finished_elsewhere(trial, shared).filter(|found| found.outcome.counts()) {
            reporter.report(Message::End(record, true));
            return Ok(Next::Another);
        }
        match shared.budget.admit() {
            Admission::Granted(permit) => self.run_with_permit(&permit, trial, shared, reporter),
            Admission::Deferred => Ok(Next::AgainAfter(PATIENCE)),
            Admission::Exhausted => Ok(Next::Another),
        }
    }

    /// The record of a trial that another process has finished since the store was checked.
    fn finished_elsewhere(&self, trial: &TrialSpec, shared: &Shared<'_>) -> Option<Box<Record>> {
        let record = self.context.store.record(&trial.id).ok().flatten()?;
        let is_new = record.outcome.counts()
            || shared.broken.get(&trial.id).is_none_or(|known| record.attempt > *known);
        is_new.then(|| Box::new(record))
    }

    /// The same, with a permit of the budget.
    fn run_with_permit(
        &self,
        permit: &Permit,
        trial: &TrialSpec,
        shared: &Shared<'_>,
        reporter: &Reporter,
    ) -> Result<Next, RunError> {
        let lease = match self.context.store.claim(&trial.id)? {
            Claim::Mine(lease) => lease,
            Claim::Held(holder) if holder.owner.liveness() != Liveness::Foreign => {
                return Ok(Next::AgainAfter(PATIENCE));
            }
            Claim::Held(holder) if holder.expires => return Ok(Next::AgainAfter(PATIENCE_ELSEWHERE)),
            // Its state is unknown here, so waiting could take forever.
            Claim::Held(_) => {
                reporter.report(Message::Note(format!(
                    "{} skipped: an earlier version of assay on another machine or in another container holds its lease; run this \
                     again when that process is done, or remove {} if it no longer exists",
                    trial.id.short(),
                    self.context.store.trial_folder(&trial.id).join("lease").display()
                )));
                return Ok(Next::Another);
            }
        };
        // Under the lease, nobody else can finish it any more.
        if let Some(record) = self.finished_elsewhere(trial, shared) {
            reporter.report(Message::End(record, true));
            return Ok(Next::Another);
        }
        let taken =
            shared.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if taken.is_err() {
            return Ok(Next::Another);
        }
        let budget = permit.budget();
        let ExecutorContext { store, cancel, .. } = self.context;
        let resolved = self.context.resolver.resolve(trial)?;
        for round in 0.. {
            let retries = RetriesLeft { retries: shared.batch.retries, used: round };
            let runner = Runner {
                store,
                cache: &self.cache,
                cancel,
                budget,
                retries,
                keep: false,
                judge_progress: &reporter.judges,
            };
            match runner.execute(&resolved, &lease)? {
                Executed::Interrupted => return Ok(Next::Another),
                Executed::Waiting => {
                    shared.left.fetch_add(1, Ordering::Relaxed);
                    return Ok(Next::AgainAfter(PATIENCE_ELSEWHERE));
                }
                Executed::Discarded => {
                    reporter.report(Message::Note(format!(
                        "{}: the result is discarded: this process was stopped for so long that another has taken the trial over",
                        trial.id.short()
                    )));
                    shared.left.fetch_add(1, Ordering::Relaxed);
                    return Ok(Next::AgainAfter(PATIENCE_ELSEWHERE));
                }
                Executed::Recorded { record, .. } => {
                    let again = retries.after(&record) > 0 && !shared.stop.load(Ordering::Relaxed);
                    if !again {
                        let stopped = shared.breaker.record(trial, &record);
                        reporter.report(Message::End(record, false));
                        if let Some(reason) = stopped {
                            shared.stop.store(true, Ordering::Relaxed);
                            reporter.report(Message::Note(format!("stopping the run: {reason}")));
                        }
                        return Ok(Next::Another);
                    }
                    if record.cause == Some(Cause::Harness) {
                        reporter.report(Message::Note(record.reason.clone().unwrap_or_default()));
                    }
                    permit.retry();
                    reporter.report(Message::Retry(record));
                    self.pause(round);
                }
            }
        }
        Ok(Next::Another)
    }

    /// Waits longer each time, and not at all once interrupted.
    fn pause(&self, round: u32) {
        for _ in 0..(1_u32 << round.min(5)) {
            if self.context.cancel.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// What a worker does after a trial.
enum Next {
    /// The next one.
    Another,
    /// The same again later.
    AgainAfter(Duration),
}

struct Shared<'a> {
    batch: &'a Batch<'a>,
    budget: &'a Budget,
    breaker: Breaker,
    waiting: Mutex<VecDeque<Arc<TrialSpec>>>,
    /// Trials in a row that have to wait.
    passed_over: AtomicUsize,
    left: AtomicUsize,
    stop: AtomicBool,
    /// The attempt of each trial whose earlier record is an infrastructure error.
    broken: BTreeMap<TrialId, u32>,
}

#[cfg(test)]
mod tests;
