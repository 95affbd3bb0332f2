//! `assay worker`: executes trials of runs that other processes started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_gateway::LimiterClient;
use assay_report::counted;
use assay_store::{Record, Store};
use assay_trial::{
    Event, ExecutorContext, Experiment, Permissions, Resolver, SharedBatch, Sources, TrialSpec,
    execute_shared, has_gateway, limiter_client,
};
use rustix::fs::statvfs;
use serde::Serialize;

use crate::args::worker::WorkerArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Disk space that a trial needs at least.
const ROOM: u64 = 1 << 30;
/// Between two looks for work.
const PAUSE: Duration = Duration::from_millis(500);
/// Most time for the last reports to a gateway.
const FLUSH: Duration = Duration::from_secs(10);

/// A line of `--format json`.
#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    run: &'a str,
    trial: &'a str,
    task: &'a str,
    agent: &'a str,
    condition: &'a str,
    repetition: u32,
    attempt: u32,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    seconds: Option<f64>,
}

pub(crate) fn run(args: &WorkerArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let cancel = machine::interrupted()?;
    await_work(args, settings, &cancel);
    if !settings.store.join("store.json").is_file() {
        return Err(Failure::bad_input(format!("no store in {}", settings.store.display()))
            .hint("`--store DIR` names the store of the `assay run` that has the work"));
    }
    let store = machine::open_store_unsigned(&settings.store)?;
    assay_trial::clean_up(&store);
    machine::remove_stale_containers(&store);
    let sandboxes = machine::sandboxes_for(settings)?;
    let here = machine::context(&sandboxes, None);
    let mut executed = 0;
    let mut idle = Instant::now();
    let mut stopped = None;
    let mut limiters = Limiters::default();
    let (mut permitted, mut refused) = (BTreeSet::new(), BTreeSet::new());
    while stopped.is_none() && !cancel.load(Ordering::Relaxed) {
        let left = args.max_trials.map(|most| most.saturating_sub(executed));
        if left == Some(0) {
            break;
        }
        let before = executed;
        for run in runs(&store, args)? {
            let Some(batch) = SharedBatch::load(&store, &run)? else { continue };
            if !permitted.contains(&run) && !refused.contains(&run) {
                match check_batch(&store, &run, &batch, args.permissions.permissions()) {
                    Ok(()) => permitted.insert(run.clone()),
                    // A worker of one run has nothing else to do; another goes on with the other runs.
                    Err(failure) if args.run.is_some() => return Err(failure),
                    Err(failure) => {
                        ui.note(&format!("the run {run} is left to other workers: {failure}"));
                        refused.insert(run.clone())
                    }
                };
            }
            if refused.contains(&run) {
                continue;
            }
            let sources = Sources { made: store.made_folder(), ..Sources::default() };
            let resolver = Resolver::new(&here, sources);
            let uses_docker = batch.specs().iter().any(|spec| spec.sandbox_kind() == "docker");
            let health = || is_able(&store, uses_docker);
            let context = ExecutorContext {
                store: &store,
                resolver: &resolver,
                run: &run,
                cancel: &cancel,
                concurrency: usize::from(args.jobs),
                health: Some(&health),
            };
            let left = args.max_trials.map(|most| most.saturating_sub(executed));
            let mut written = Ok(());
            let mut on_event = |event: Event<'_>| match event {
                Event::End { record, elsewhere: false } => {
                    let line = print(&run, record, ui);
                    if written.is_ok() {
                        written = line;
                    }
                }
                Event::Retry { record } => {
                    let reason = record.reason.as_deref().unwrap_or("infrastructure error");
                    ui.note(&format!("{}: {reason}; retrying", record.task));
                }
                Event::Note(note) => ui.note(&note),
                Event::Begin { .. } | Event::End { .. } => {}
            };
            let limiter = limiters.of(&store, &run, &batch, ui);
            let done = execute_shared(&batch, &context, left, limiter, &mut on_event)?;
            written?;
            executed += done.executed;
            stopped = done.stopped;
            if stopped.is_some() {
                break;
            }
        }
        if executed > before {
            idle = Instant::now();
        } else if idle.elapsed() >= Duration::from_secs(args.idle_exit) {
            break;
        } else {
            std::thread::sleep(PAUSE);
        }
    }
    store.clear_scratch();
    limiters.close(ui);
    if let Some(reason) = stopped {
        return Err(Failure::infrastructure(format!(
            "the worker stopped after {}: {reason}",
            counted(executed, "trial", "trials")
        ))
        .hint("repair this machine and start the worker again; other workers execute the remaining trials"));
    }
    ui.note(&format!("executed {}", counted(executed, "trial", "trials")));
    Ok(if cancel.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}

/// Waits until there is a store, or the run of this worker in it, for as long as a worker may be idle.
fn await_work(args: &WorkerArgs, settings: &Settings, cancel: &AtomicBool) {
    let begun = Instant::now();
    let file = match &args.run {
        Some(run) => settings.store.join("runs").join(run).join("plan.json"),
        None => settings.store.join("store.json"),
    };
    while !file.is_file()
        && begun.elapsed() < Duration::from_secs(args.idle_exit)
        && !cancel.load(Ordering::Relaxed)
    {
        std::thread::sleep(PAUSE);
    }
}

/// Refuses trials that the caller of this worker does not permit: their experiment may be somebody else's.
fn check_batch(
    store: &Store,
    run: &str,
    batch: &SharedBatch,
    permissions: Permissions,
) -> Result<(), Failure> {
    if let Some(path) = store.experiment_path(run) {
        let source = store.root().join("runs").join(run).join("experiment.toml");
        let source = std::fs::read_to_string(&source)
            .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", source.display())))?;
        Experiment::parse(&path, &source)?.check_permissions(permissions)?;
    }
    let is_bare = |spec: &Arc<TrialSpec>| spec.sandbox_kind() == "none";
    if !permissions.unsandboxed && batch.specs().iter().any(is_bare) {
        return Err(Failure::bad_input(format!(
            "the run {run} has sandbox \"none\", which isolates nothing: its commands would run with your permissions"
        ))
        .hint("if you trust the experiment, pass --allow-unsandboxed"));
    }
    Ok(())
}

/// The clients of the gateways of runs.
#[derive(Default)]
struct Limiters(BTreeMap<(String, String), Arc<LimiterClient>>);

impl Limiters {
    /// That of a batch, if it has caps, or if a gateway was started for its run.
    fn of(&mut self, store: &Store, run: &str, batch: &SharedBatch, ui: &Ui) -> Option<&Arc<LimiterClient>> {
        if !batch.calls_models() || (batch.budget().is_none() && !has_gateway(store, run)) {
            return None;
        }
        let budget = batch.budget().unwrap_or_default();
        let new = || {
            let ui = ui.clone();
            limiter_client(store, run, budget, Box::new(move |note| ui.note(note)))
        };
        Some(self.0.entry((run.to_owned(), budget.to_owned())).or_insert_with(new))
    }

    /// Sends what they have not reported yet.
    fn close(&self, ui: &Ui) {
        if !self.0.values().all(|limiter| limiter.flush(FLUSH)) {
            ui.note(
                "warning: the gateway of the run does not answer, and lacks the cost of the last requests",
            );
        }
    }
}

/// The runs whose trials are executed.
fn runs(store: &Store, args: &WorkerArgs) -> Result<Vec<String>, Failure> {
    match &args.run {
        Some(run) => Ok(vec![store.run(run)?.run]),
        None => Ok(store.run_names()),
    }
}

fn print(run: &str, record: &Record, ui: &Ui) -> Result<(), Failure> {
    let line = Line {
        schema: "assay.worker/1",
        run,
        trial: record.trial.as_str(),
        task: &record.task,
        agent: &record.agent.name,
        condition: &record.condition,
        repetition: record.repetition,
        attempt: record.attempt,
        outcome: record.outcome.word(),
        reason: record.reason.as_deref(),
        seconds: record.seconds.total,
    };
    if ui.json() {
        return ui.json_line(&line);
    }
    let reason = line.reason.map_or(String::new(), |reason| format!(": {}", assay_report::clean(reason)));
    // A check has no condition: its agent is `oracle` or `nop`.
    let arm = if line.condition.is_empty() { &record.agent.name } else { line.condition };
    ui.out(&format!(
        "{}  {}, {}, repetition {}: {} after {}{reason}\n",
        record.trial.short(),
        assay_report::clean(line.task),
        assay_report::clean(arm),
        line.repetition,
        line.outcome.replace('_', " "),
        line.seconds.map_or_else(|| "an unknown time".to_owned(), assay_report::seconds)
    ))
}

/// Whether this machine can execute trials; if not, why.
fn is_able(store: &Store, uses_docker: bool) -> Result<(), String> {
    let work = store.work().map_err(|error| assay_diagnostic::chain(&error))?;
    for folder in [store.root(), work.as_path()] {
        has_room(folder)?;
    }
    if uses_docker && !machine::docker_answers(store) {
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
