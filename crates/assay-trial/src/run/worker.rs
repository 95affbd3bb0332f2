//! A worker: executes trials of runs that other processes started.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_gateway::LimiterClient;
use assay_model::Retry;
use assay_store::{Record, Store, StoreError, TrialSpec};
use rustix::fs::statvfs;

use crate::experiment::foreign::{NotPermitted, Permissions};
use crate::experiment::{Experiment, ExperimentError};
use crate::run::context::MachineContext;
use crate::run::executor::{BatchError, Event, ExecutorContext, RunError};
use crate::run::limiter::{has_gateway, limiter_client};
use crate::run::resolve::{Resolver, Sources};
use crate::run::workers::{SharedBatch, execute_shared};

/// Disk space that a trial needs at least.
const ROOM: u64 = 1 << 30;
/// Between two looks for work.
const PAUSE: Duration = Duration::from_millis(500);
/// Most time for the last reports to a gateway.
const FLUSH: Duration = Duration::from_secs(10);

/// What a worker executes.
pub struct WorkerOptions<'a> {
    /// The only run; all of the store without one.
    pub run: Option<&'a str>,
    /// Concurrent trials.
    pub jobs: usize,
    /// Most trials.
    pub max_trials: Option<usize>,
    /// How long it waits for work.
    pub idle: Duration,
    /// What the caller permits experiments.
    pub permissions: Permissions,
    /// Whether the Docker daemon answers.
    pub docker_answers: &'a (dyn Fn(&Store) -> bool + Sync),
    /// Between two events about judges that are waited for.
    pub waiting_interval: Duration,
}

/// What happens in a worker.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// A trial ended here.
    Ended {
        /// The run.
        run: &'a str,
        /// The record of the trial.
        record: &'a Record,
    },
    /// A trial had an infrastructure error and is retried.
    Retried(&'a Record),
    /// A run has trials that the caller does not permit.
    LeftRun {
        /// The run.
        run: &'a str,
        /// Why.
        error: &'a WorkerError,
    },
    /// The gateway of a run does not answer, and lacks the cost of the last requests.
    Unreported,
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
    Note(&'a str),
}

/// Hears what happens in a worker, from any thread.
pub trait WorkerEvents: Send + Sync {
    /// Handles an event. It must return soon.
    fn handle_event(&self, event: &WorkerEvent<'_>);

    /// Whether nobody hears any more: then the worker ends after the batch.
    fn is_closed(&self) -> bool {
        false
    }
}

/// What a worker did.
#[derive(Debug, Default)]
pub struct WorkerOutcome {
    /// Trials that it executed.
    pub executed: usize,
    /// Why it executes no more, if the machine cannot.
    pub stopped: Option<String>,
}

/// Why a worker ends early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trials of a run cannot be read.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The trials cannot be executed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The experiment of a run cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The experiment of a run is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The experiment of a run needs more than the caller permits.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    /// A run needs no sandbox, which the caller does not permit.
    #[error(
        "the run {0} has sandbox \"none\", which isolates nothing: its commands would run with your permissions"
    )]
    Unsandboxed(String),
}

/// Executes trials of the store's runs, until there are none for a while, the worker was interrupted, or this machine cannot.
///
/// # Errors
/// The store or a batch cannot be read, or the only run is not permitted.
pub fn run_worker(
    store: &Store,
    here: &MachineContext<'_>,
    options: &WorkerOptions<'_>,
    cancel: &AtomicBool,
    events: &Arc<dyn WorkerEvents>,
) -> Result<WorkerOutcome, WorkerError> {
    let mut limiters = Limiters::default();
    let outcome = serve_runs(store, here, options, cancel, events, &mut limiters)?;
    if !events.is_closed() {
        store.clear_scratch();
        limiters.close(&**events);
    }
    Ok(outcome)
}

fn serve_runs(
    store: &Store,
    here: &MachineContext<'_>,
    options: &WorkerOptions<'_>,
    cancel: &AtomicBool,
    events: &Arc<dyn WorkerEvents>,
    limiters: &mut Limiters,
) -> Result<WorkerOutcome, WorkerError> {
    let mut executed = 0;
    let mut idle = Instant::now();
    let mut stopped = None;
    let (mut permitted, mut refused) = (BTreeSet::new(), BTreeSet::new());
    while stopped.is_none() && !cancel.load(Ordering::Relaxed) {
        let left = options.max_trials.map(|most| most.saturating_sub(executed));
        if left == Some(0) {
            break;
        }
        let before = executed;
        for run in runs(store, options.run)? {
            let Some(batch) = SharedBatch::load(store, &run)? else { continue };
            if !permitted.contains(&run) && !refused.contains(&run) {
                match check_batch(store, &run, &batch, options.permissions) {
                    Ok(()) => permitted.insert(run.clone()),
                    // A worker of one run has nothing else to do; another goes on with the other runs.
                    Err(error) if options.run.is_some() => return Err(error),
                    Err(error) => {
                        events.handle_event(&WorkerEvent::LeftRun { run: &run, error: &error });
                        refused.insert(run.clone())
                    }
                };
            }
            if refused.contains(&run) {
                continue;
            }
            let sources = Sources { made: store.made_folder(), ..Sources::default() };
            let resolver = Resolver::new(here, sources);
            let uses_docker = batch.specs().iter().any(|spec| spec.sandbox_kind() == "docker");
            let health = || is_able(store, uses_docker, options.docker_answers);
            let context = ExecutorContext {
                store,
                resolver: &resolver,
                run: &run,
                cancel,
                concurrency: options.jobs,
                health: Some(&health),
                waiting_interval: options.waiting_interval,
            };
            let left = options.max_trials.map(|most| most.saturating_sub(executed));
            let mut on_event = |event: Event<'_>| match event {
                Event::End { record, elsewhere: false } => {
                    events.handle_event(&WorkerEvent::Ended { run: &run, record });
                }
                Event::Retry { record } => events.handle_event(&WorkerEvent::Retried(record)),
                Event::JudgesWaiting { requests, oldest } => {
                    events.handle_event(&WorkerEvent::JudgesWaiting { requests, oldest });
                }
                Event::JudgeRetried { judge, retry } => {
                    events.handle_event(&WorkerEvent::JudgeRetried { judge, retry });
                }
                Event::Note(note) => events.handle_event(&WorkerEvent::Note(&note)),
                Event::Begin { .. } | Event::End { .. } => {}
            };
            let limiter = limiters.of(store, &run, &batch, events);
            let done = execute_shared(&batch, &context, left, limiter, &mut on_event)?;
            if events.is_closed() {
                return Ok(WorkerOutcome { executed: executed + done.executed, stopped: done.stopped });
            }
            executed += done.executed;
            stopped = done.stopped;
            if stopped.is_some() {
                break;
            }
        }
        if executed > before {
            idle = Instant::now();
        } else if idle.elapsed() >= options.idle {
            break;
        } else {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(WorkerOutcome { executed, stopped })
}

/// Waits until there is a store, or the run of this worker in it, for as long as a worker may be idle.
pub fn await_work(store: &Path, run: Option<&str>, idle: Duration, cancel: &AtomicBool) {
    let begun = Instant::now();
    let file = match run {
        Some(run) => store.join("runs").join(run).join("plan.json"),
        None => store.join("store.json"),
    };
    while !file.is_file() && begun.elapsed() < idle && !cancel.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE);
    }
}

/// Refuses trials that the caller of this worker does not permit: their experiment may be somebody else's.
fn check_batch(
    store: &Store,
    run: &str,
    batch: &SharedBatch,
    permissions: Permissions,
) -> Result<(), WorkerError> {
    if let Some(path) = store.experiment_path(run) {
        let source = store.root().join("runs").join(run).join("experiment.toml");
        let text = std::fs::read_to_string(&source)
            .map_err(|error| WorkerError::Read { path: source.clone(), source: error })?;
        Experiment::parse(&path, &text)?.check_permissions(permissions)?;
    }
    let is_bare = |spec: &Arc<TrialSpec>| spec.sandbox_kind() == "none";
    if !permissions.unsandboxed && batch.specs().iter().any(is_bare) {
        return Err(WorkerError::Unsandboxed(run.to_owned()));
    }
    Ok(())
}

/// The clients of the gateways of runs.
#[derive(Default)]
struct Limiters(BTreeMap<(String, String), Arc<LimiterClient>>);

impl Limiters {
    /// That of a batch, if it has caps, or if a gateway was started for its run.
    fn of(
        &mut self,
        store: &Store,
        run: &str,
        batch: &SharedBatch,
        events: &Arc<dyn WorkerEvents>,
    ) -> Option<&Arc<LimiterClient>> {
        if !batch.calls_models() || (batch.budget().is_none() && !has_gateway(store, run)) {
            return None;
        }
        let budget = batch.budget().unwrap_or_default();
        let new = || {
            let events = events.clone();
            let note = move |note: &str| events.handle_event(&WorkerEvent::Note(note));
            limiter_client(store, run, budget, Box::new(note))
        };
        Some(self.0.entry((run.to_owned(), budget.to_owned())).or_insert_with(new))
    }

    /// Sends what they have not reported yet.
    fn close(&self, events: &dyn WorkerEvents) {
        if !self.0.values().all(|limiter| limiter.flush(FLUSH)) {
            events.handle_event(&WorkerEvent::Unreported);
        }
    }
}

/// The runs whose trials are executed.
fn runs(store: &Store, run: Option<&str>) -> Result<Vec<String>, StoreError> {
    match run {
        Some(run) => Ok(vec![store.run(run)?.run]),
        None => Ok(store.run_names()),
    }
}

/// Whether this machine can execute trials; if not, why.
fn is_able(store: &Store, uses_docker: bool, docker_answers: &dyn Fn(&Store) -> bool) -> Result<(), String> {
    let work = store.work().map_err(|error| assay_diagnostic::chain(&error))?;
    for folder in [store.root(), work.as_path()] {
        has_room(folder)?;
    }
    if uses_docker && !docker_answers(store) {
        return Err("Docker does not answer".to_owned());
    }
    Ok(())
}

fn has_room(folder: &Path) -> Result<(), String> {
    let found = statvfs(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let room = found.f_bavail.saturating_mul(found.f_frsize);
    if room < ROOM {
        let left = room >> 20;
        return Err(format!(
            "{left} MiB of disk space are left in {}; a trial needs 1 GiB",
            folder.display()
        ));
    }
    Ok(())
}
