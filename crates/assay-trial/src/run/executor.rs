//! Executors of trials, and their events.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_ask::WAITING_INTERVAL;
use assay_gateway::Budget;
use assay_model::Retry;
use assay_store::{Exclusion, Record, Selection, SpecError, Store, StoreError, TrialId, TrialSpec};

use crate::experiment::Retries;
use crate::run::resolve::{ResolveError, Resolver};
use crate::run::slurm::{SlurmError, SlurmOptions};

/// Executes trials, on this machine or elsewhere.
pub trait Executor {
    /// Executes the trials of a batch that have no result in the store yet, within the budget.
    /// Their records are in the store when it returns.
    ///
    /// # Errors
    /// An error that affects the whole batch. A trial with an infrastructure error is a record.
    fn execute(
        &self,
        batch: &Batch<'_>,
        budget: &Budget,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Done, RunError>;

    /// Ends what was started for batches, after the last of them or an interrupt.
    fn close(&self, _events: &mut dyn FnMut(Event<'_>)) {}
}

/// Trials that are executed together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// `checks` or `trials`.
    pub phase: &'static str,
    /// The trials, in order.
    pub specs: &'a [Arc<TrialSpec>],
    /// Most that are executed.
    pub most: Option<usize>,
    /// Retries of a trial with an infrastructure error.
    pub retries: Retries,
    /// Whether a trial with an infrastructure error in an earlier run is retried.
    pub retry_broken: bool,
    /// Which trials had infrastructure errors in earlier runs, and in which attempt; unset: as the
    /// store shows when the batch begins. A batch that several processes share begins at other times
    /// in each.
    pub broken: Option<&'a BTreeMap<TrialId, u32>>,
    /// Most consecutive infrastructure errors of one provider; 0: no limit.
    pub stop_after: u32,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Trials executed now.
    pub executed: usize,
    /// Trials whose records were in the store, or were written by another process.
    pub cached: usize,
    /// Why it stopped early.
    pub stopped: Option<String>,
}

/// What an executor works with.
#[derive(Clone, Copy)]
pub struct ExecutorContext<'a> {
    /// Where records go.
    pub store: &'a Store,
    /// Opens what trials need on this machine.
    pub resolver: &'a Resolver<'a>,
    /// The run that events are logged for.
    pub run: &'a str,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// The number of concurrent trials.
    pub concurrency: usize,
    /// Whether this machine can execute trials, asked before each; if not, why.
    pub health: Option<&'a (dyn Fn() -> Result<(), String> + Sync)>,
    /// Between two events about judges that are waited for.
    pub waiting_interval: Duration,
}

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A trial cannot be executed here.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The work of several processes cannot be read or written.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Slurm does not execute the workers.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
}

/// What executes the trials of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ExecutorKind {
    /// Threads of this process.
    #[default]
    Local,
    /// Other processes, on any machine that has the store: `assay worker`.
    Workers,
    /// The same, started by Slurm as the tasks of an array.
    Slurm(SlurmOptions),
}

/// Options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The number of concurrent trials.
    pub concurrency: usize,
    /// Most trials executed; the others are left for the next run.
    pub max_trials: Option<usize>,
    /// Most USD spent; no trial starts that would probably exceed it. Trials of unknown cost count
    /// as free.
    pub max_usd: Option<f64>,
    /// Most tokens, read and written. A trial is stopped before its next request, by this and by
    /// the most USD.
    pub max_tokens: Option<u64>,
    /// Which cells.
    pub only: Selection,
    /// Whether trials with infrastructure errors in an earlier run are retried.
    pub retry_broken: bool,
    /// Whether oracle and no-op checks run first.
    pub checks: bool,
    /// What executes the trials.
    pub executor: ExecutorKind,
    /// Between two events about judges that are waited for.
    pub waiting_interval: Duration,
}

impl RunOptions {
    /// All planned trials, on this machine's threads and without a cap; trials with infrastructure
    /// errors are retried, and no checks run.
    pub fn new(concurrency: usize) -> Self {
        Self {
            concurrency,
            max_trials: None,
            max_usd: None,
            max_tokens: None,
            only: Selection::default(),
            retry_broken: true,
            checks: false,
            executor: ExecutorKind::Local,
            waiting_interval: WAITING_INTERVAL,
        }
    }
}

/// A progress event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Checks or trials are about to begin.
    Begin {
        /// `checks` or `trials`.
        phase: &'static str,
        /// How many there are in all.
        total: usize,
        /// How many of them are in the store.
        cached: usize,
    },
    /// A trial ended.
    End {
        /// Its record.
        record: &'a Record,
        /// Whether another process executed it.
        elsewhere: bool,
    },
    /// A trial had an infrastructure error and is retried.
    Retry {
        /// The record of the attempt.
        record: &'a Record,
    },
    /// Requests to judges wait for their replies.
    JudgesWaiting {
        /// How many.
        requests: usize,
        /// How long the oldest has been waiting.
        oldest: Duration,
    },
    /// A request to a judge failed and was sent again.
    JudgeRetried {
        /// `provider:model`.
        judge: &'a str,
        /// The try.
        retry: &'a Retry,
    },
    /// A note for the user.
    Note(String),
}

/// The outcome of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOutcome {
    /// Distinct trials selected, without those of excluded tasks.
    pub planned: usize,
    /// Trials executed now.
    pub executed: usize,
    /// Trials found in the store.
    pub cached: usize,
    /// Of these, those of an archive, which cells name in the place of their own.
    pub imported: usize,
    /// Trials that ended with an infrastructure error.
    pub infrastructure: usize,
    /// Trials without a result: interrupted, or beyond a cap.
    pub unfinished: usize,
    /// The cost of this run, as far as it is known: of executed trials, and of attempts that were
    /// interrupted or retried.
    pub spent_usd: f64,
    /// Oracle and nop trials executed now.
    pub checks_executed: usize,
    /// Which cap of the run was reached.
    pub capped: Option<String>,
    /// Why it was stopped before its end: too many consecutive trials had infrastructure errors
    /// from one provider.
    pub stopped: Option<String>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Tasks that failed their checks, and why.
    pub failed_checks: Vec<Exclusion>,
}

/// Why the work of several processes cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line that is not what it should be.
    #[error("{}:{line}: {message} (hint: start `assay run` again, which writes the file anew)", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A specification that cannot be used here.
    #[error(transparent)]
    Spec(#[from] SpecError),
}
