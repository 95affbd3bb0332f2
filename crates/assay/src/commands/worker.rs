//! `assay worker`: executes trials of runs that other processes started.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_report::counted;
use assay_store::Record;
use assay_trial::{WorkerEvent, WorkerEvents, WorkerOptions, WorkerOutcome, await_work, run_worker};
use serde::Serialize;

use crate::args::worker::WorkerArgs;
use crate::asking::{WAITING_INTERVAL, describe_waiting_judges};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

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
    let idle = Duration::from_secs(args.idle_exit);
    await_work(&settings.store, args.run.as_deref(), idle, &cancel);
    if !settings.store.join("store.json").is_file() {
        return Err(Failure::bad_input(format!("no store in {}", settings.store.display()))
            .hint("`--store DIR` names the store of the `assay run` that has the work"));
    }
    let store = machine::open_store_unsigned(&settings.store)?;
    assay_trial::clean_up(&store);
    machine::remove_stale_containers(&store);
    let sandboxes = machine::sandboxes_for(settings)?;
    let here = machine::context(&sandboxes, None);
    let options = WorkerOptions {
        run: args.run.as_deref(),
        jobs: usize::from(args.jobs),
        max_trials: args.max_trials,
        idle,
        permissions: args.permissions.permissions(),
        docker_answers: &machine::docker_answers,
        waiting_interval: WAITING_INTERVAL,
    };
    let lines = Arc::new(WorkerLines { ui: ui.clone(), written: Mutex::new(Ok(())) });
    let events: Arc<dyn WorkerEvents> = lines.clone();
    let WorkerOutcome { executed, stopped } = run_worker(&store, &here, &options, &cancel, &events)?;
    lines.take_written()?;
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

/// Prints what happens in the worker.
struct WorkerLines {
    ui: Ui,
    /// Whether every line could be written.
    written: Mutex<Result<(), Failure>>,
}

impl WorkerLines {
    /// The first failure to write a line.
    fn take_written(&self) -> Result<(), Failure> {
        std::mem::replace(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner), Ok(()))
    }
}

impl WorkerEvents for WorkerLines {
    fn handle_event(&self, event: &WorkerEvent<'_>) {
        match event {
            WorkerEvent::Ended { run, record } => {
                let line = print(run, record, &self.ui);
                let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                if written.is_ok() {
                    *written = line;
                }
            }
            WorkerEvent::Retried(record) => {
                let reason = record.reason.as_deref().unwrap_or("infrastructure error");
                self.ui.note(&format!("{}: {reason}; retrying", record.task));
            }
            WorkerEvent::LeftRun { run, error } => {
                self.ui.note(&format!("the run {run} is left to other workers: {error}"));
            }
            WorkerEvent::Unreported => self.ui.note(
                "warning: the gateway of the run does not answer, and lacks the cost of the last requests",
            ),
            WorkerEvent::JudgesWaiting { requests, oldest } => {
                self.ui.note(&describe_waiting_judges(*requests, *oldest));
            }
            WorkerEvent::JudgeRetried { judge, retry } => {
                self.ui.note(&format!("the judge {judge} is asked again: {}", retry.message));
            }
            WorkerEvent::Note(note) => self.ui.note(note),
            _ => {}
        }
    }

    fn is_closed(&self) -> bool {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).is_err()
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
