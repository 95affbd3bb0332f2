//! What executes trials, and what it says while it does.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_gateway::Budget;
use assay_store::{Exclusion, Record, Selection, Store, StoreError, TrialSpec};

use crate::run::resolve::{ResolveError, Resolver};

/// Executes trials: on this machine, or by handing their specifications to others.
pub trait Executor {
    /// Executes the trials of a batch that have no result in the store yet, as far as the budget goes, and has their records in
    /// the store when it returns.
    ///
    /// # Errors
    /// What keeps all of them from being executed. A trial that breaks is a record, and no error.
    fn execute(
        &self,
        batch: &Batch<'_>,
        budget: &Budget,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Done, RunError>;
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
    /// How often one that breaks is tried again.
    pub retries: u32,
    /// Whether one that broke in an earlier run is tried again.
    pub retry_broken: bool,
    /// How many in a row may be lost to one provider; 0 for any number.
    pub stop_after: u32,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Trials executed now.
    pub executed: usize,
    /// Trials whose records were there, or came from another process.
    pub cached: usize,
    /// Why it was stopped before its end.
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
    /// Trials at once.
    pub concurrency: usize,
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
}

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

impl RunOptions {
    /// All that is planned, on this machine's threads and without a cap; trials that broke are tried again, and no checks go first.
    pub fn new(concurrency: usize) -> Self {
        Self {
            concurrency,
            max_trials: None,
            max_usd: None,
            max_tokens: None,
            only: Selection::default(),
            retry_broken: true,
            checks: false,
        }
    }
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
        cached: usize,
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

/// The outcome of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOutcome {
    /// Distinct trials asked for, those of excluded tasks left out.
    pub planned: usize,
    /// Of them, executed now.
    pub executed: usize,
    /// Of them, found in the store.
    pub cached: usize,
    /// Of them, ended as infrastructure.
    pub infrastructure: usize,
    /// Of them, without a result: interrupted, or beyond the number or the sum allowed.
    pub unfinished: usize,
    /// What was spent now, as far as costs are known: by the trials that were executed, and by attempts that were interrupted or
    /// tried again.
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
