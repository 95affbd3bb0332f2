//! Work that other processes execute: a batch in the store, read by `assay worker` on any machine that has it.
//!
//! `runs/NAME/batch.jsonl` is a line about the batch and a line for each trial's specification. It is removed when
//! each of its trials has a record. Records tell how far the batch is; nothing else is exchanged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use assay_gateway::{Budget, Caps, LimiterClient, share_limits};
use assay_model::Usage;
use assay_store::{Record, Store, StoreError, TrialId, TrialSpec, write_atomically};
use serde::{Deserialize, Serialize};

use crate::experiment::Retries;
use crate::run::executor::{Batch, BatchError, Done, Event, Executor, ExecutorContext, RunError};
use crate::run::limiter::{BatchBudget, batch_path, limiter_client};
use crate::run::local::{Local, is_finished, unfinished};
use crate::run::slurm::Slurm;

/// Between two looks at the store.
const PAUSE: Duration = Duration::from_millis(500);
/// The same where looking takes long.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Between two looks for an interrupt.
const POLL: Duration = Duration::from_millis(50);
/// Until the user is told that no worker has finished a trial.
const QUIET: Duration = Duration::from_secs(30);

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Header {
    schema: String,
    run: String,
    phase: Phase,
    retries: Retries,
    retry_broken: bool,
    broken: BTreeMap<TrialId, u32>,
    stop_after: u32,
    /// The budget that the trials are charged to, kept by the run's gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<BatchBudget>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    Checks,
    Trials,
}

const SCHEMA: &str = "assay.batch/1";

/// A batch as it is in the store.
#[derive(Debug)]
pub struct SharedBatch {
    header: Header,
    specs: Vec<Arc<TrialSpec>>,
}

impl SharedBatch {
    /// The batch of a run; `None` if it has none at this time.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn load(store: &Store, run: &str) -> Result<Option<Self>, BatchError> {
        let path = batch_path(store, run);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(BatchError::Read { path, source }),
        };
        let bad = |line: usize, message: String| BatchError::Line { path: path.clone(), line, message };
        let mut lines = BufReader::new(file).lines();
        let mut next = |line: usize| match lines.next() {
            None => Ok(None),
            Some(Ok(text)) => serde_json::from_str::<serde_json::Value>(&text)
                .map(Some)
                .map_err(|error| bad(line, error.to_string())),
            Some(Err(source)) => Err(BatchError::Read { path: path.clone(), source }),
        };
        let first = next(1)?.ok_or_else(|| bad(1, "the file is empty".to_owned()))?;
        let header: Header = serde_json::from_value(first).map_err(|error| bad(1, error.to_string()))?;
        if header.schema != SCHEMA {
            return Err(bad(
                1,
                format!("unsupported schema {:?}: this version of assay reads {SCHEMA:?}", header.schema),
            ));
        }
        let mut specs = Vec::new();
        while let Some(document) = next(specs.len() + 2)? {
            specs.push(Arc::new(TrialSpec::of_document(document, &path)?));
        }
        Ok(Some(Self { header, specs }))
    }

    /// The budget that its trials are charged to, by name.
    pub fn budget(&self) -> Option<&str> {
        self.header.budget.as_ref().map(|budget| budget.id.as_str())
    }

    /// Whether its trials call models. Those of checks do not.
    pub fn calls_models(&self) -> bool {
        matches!(self.header.phase, Phase::Trials)
    }

    /// Its trials.
    pub fn specs(&self) -> &[Arc<TrialSpec>] {
        &self.specs
    }

    fn save(store: &Store, header: &Header, specs: &[Arc<TrialSpec>]) -> Result<(), StoreError> {
        let path = batch_path(store, &header.run);
        let io = |error: serde_json::Error| StoreError::Io {
            action: "write",
            path: path.clone(),
            source: error.into(),
        };
        let mut bytes = serde_json::to_vec(header).map_err(io)?;
        for spec in specs {
            bytes.push(b'\n');
            serde_json::to_writer(&mut bytes, &spec.document().map_err(io)?).map_err(io)?;
        }
        let _ = bytes.write_all(b"\n");
        write_atomically(&path, &bytes)
    }
}

/// Executes the trials of a shared batch that have no result yet, with the threads of this process, until no trial is
/// left. `limiter` keeps the run's budget and the limits of its providers.
///
/// # Errors
/// As [`Executor::execute`].
pub fn execute_shared(
    batch: &SharedBatch,
    context: &ExecutorContext<'_>,
    most: Option<usize>,
    limiter: Option<&Arc<LimiterClient>>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Done, RunError> {
    let Header { phase, retries, retry_broken, stop_after, broken, .. } = &batch.header;
    if limiter.and_then(|limiter| limiter.state()).is_some_and(|state| state.exhausted) {
        return Ok(Done::default());
    }
    let budget = limiter.map_or_else(Budget::default, |limiter| Budget::shared(Arc::clone(limiter) as _));
    share_limits(limiter.map(|limiter| Arc::clone(limiter) as _));
    let phase = match phase {
        Phase::Checks => "checks",
        Phase::Trials => "trials",
    };
    let batch = Batch {
        phase,
        specs: &batch.specs,
        most,
        retries: *retries,
        retry_broken: *retry_broken,
        broken: Some(broken),
        stop_after: *stop_after,
    };
    let done = Local::new(context)?.execute(&batch, &budget, events);
    share_limits(None);
    done
}

/// Writes batches to the store, and waits until other processes have executed them.
pub(crate) struct Workers<'a> {
    context: ExecutorContext<'a>,
    /// What starts them; unset: the user.
    slurm: Option<Slurm>,
    /// Names the budget of this invocation.
    invocation: String,
}

impl<'a> Workers<'a> {
    pub(crate) fn new(context: &ExecutorContext<'a>, slurm: Option<Slurm>) -> Self {
        let invocation =
            format!("{}-{}", context.store.owner().mark(), jiff::Timestamp::now().as_nanosecond());
        Self { context: *context, slurm, invocation }
    }

    /// What the user should know if no trial ends for long.
    fn hint(&self) -> String {
        let ExecutorContext { store, run, .. } = self.context;
        let state = self.slurm.as_ref().and_then(Slurm::summary);
        state.unwrap_or_else(|| {
            format!(
                "`assay --store {} worker --run {run}` executes them, on any machine with this folder",
                store.root().display()
            )
        })
    }
}

impl Executor for Workers<'_> {
    fn execute(
        &self,
        batch: &Batch<'_>,
        budget: &Budget,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Done, RunError> {
        let ExecutorContext { store, run, cancel, .. } = self.context;
        let (mut waiting, cached) = unfinished(store, batch, events);
        events(Event::Begin { phase: batch.phase, total: batch.specs.len(), cached });
        let mut done = Done { executed: 0, cached, stopped: None };
        waiting.truncate(batch.most.unwrap_or(usize::MAX));
        // Interrupted in the phase before: what this one would execute was not decided.
        if waiting.is_empty() || cancel.load(Ordering::Relaxed) {
            return Ok(done);
        }
        let attempt = |trial: &TrialSpec| store.record(&trial.id).ok().flatten().map(|record| record.attempt);
        let header = Header {
            schema: SCHEMA.to_owned(),
            run: run.to_owned(),
            phase: if batch.phase == "checks" { Phase::Checks } else { Phase::Trials },
            retries: batch.retries,
            retry_broken: batch.retry_broken,
            broken: waiting.iter().filter_map(|trial| Some((trial.id.clone(), attempt(trial)?))).collect(),
            stop_after: batch.stop_after,
            budget: (budget.caps() != Caps::default())
                .then(|| BatchBudget { id: self.invocation.clone(), caps: budget.caps() }),
        };
        let mut spending = header.budget.as_ref().map(|_| Spending::new(store, run, &self.invocation));
        SharedBatch::save(store, &header, &waiting)?;
        let shared = Batch { specs: &waiting, broken: Some(&header.broken), ..*batch };
        let mut open: Vec<&Arc<TrialSpec>> = shared.specs.iter().collect();
        let mut last_end = Instant::now();
        let (mut progressed, mut was_told) = (false, false);
        while !open.is_empty() && !cancel.load(Ordering::Relaxed) {
            if let Some(slurm) = &self.slurm {
                for note in slurm.replace_lost(open.len(), progressed)? {
                    events(Event::Note(note));
                }
            }
            let before = open.len();
            let looked = Instant::now();
            open.retain(|trial| {
                let Ok(Some(record)) = store.record(&trial.id) else { return true };
                // After an infrastructure error, the worker that has the lease may try again.
                let is_final =
                    record.outcome.counts() || !store.trial_folder(&trial.id).join("lease").exists();
                if !is_final || !is_finished(&record, &shared) {
                    return true;
                }
                budget.charge(&record.usage.unwrap_or_default(), &Usage::default(), record.cost_usd);
                if !is_of(trial, &record) {
                    events(Event::Note(format!(
                        "warning: the record of {} is not what its worker was asked for, and stays without a signature",
                        trial.id.short()
                    )));
                } else if let Err(error) = store.sign_accepted(&trial.id) {
                    events(Event::Note(assay_diagnostic::chain(&error)));
                }
                events(Event::End { record: &record, elsewhere: true });
                false
            });
            done.executed += before - open.len();
            progressed = open.len() < before;
            if progressed {
                (last_end, was_told) = (Instant::now(), false);
            }
            if last_end.elapsed() >= QUIET && !was_told {
                was_told = true;
                events(Event::Note(format!("no trial has ended for 30 s: {}", self.hint())));
            }
            let is_spent = spending.as_mut().is_some_and(|spending| spending.is_spent(events));
            if is_spent {
                break;
            }
            if !open.is_empty() {
                // Of many trials, looking at a file server is the costly part.
                let pause = PAUSE.max(10 * looked.elapsed()).min(LONGEST_PAUSE);
                let until = Instant::now() + pause;
                while Instant::now() < until && !cancel.load(Ordering::Relaxed) {
                    std::thread::sleep(POLL);
                }
            }
        }
        // What a spent budget leaves over, nobody executes.
        if !cancel.load(Ordering::Relaxed) {
            remove(&batch_path(store, run))?;
        }
        Ok(done)
    }

    fn close(&self, events: &mut dyn FnMut(Event<'_>)) {
        let interrupted = self.context.cancel.load(Ordering::Relaxed);
        if let Some(note) = self.slurm.as_ref().and_then(|slurm| slurm.close(interrupted)) {
            events(Event::Note(note));
        }
    }
}

/// Whether a worker's record is that of the planned trial.
fn is_of(trial: &TrialSpec, record: &Record) -> bool {
    record.task == trial.task.name
        && record.agent == trial.agent
        && record.repetition == trial.repetition
        && record.sandbox == trial.sandbox_kind()
        && record.imported_from.is_none()
}

/// Asks the gateway of a run whether anything of the budget is left.
struct Spending {
    client: Arc<LimiterClient>,
    notes: Receiver<String>,
    asked: Instant,
}

impl Spending {
    fn new(store: &Store, run: &str, budget: &str) -> Self {
        let (sender, notes) = channel();
        let notify = move |note: &str| drop(sender.send(note.to_owned()));
        Self { client: limiter_client(store, run, budget, Box::new(notify)), notes, asked: Instant::now() }
    }

    fn is_spent(&mut self, events: &mut dyn FnMut(Event<'_>)) -> bool {
        if self.asked.elapsed() < 2 * PAUSE {
            return false;
        }
        let state = self.client.state();
        self.asked = Instant::now();
        self.notes.try_iter().for_each(|note| events(Event::Note(note)));
        state.is_some_and(|state| state.exhausted && state.under_way == 0)
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::Io { action: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
