//! `assay task run`: one cell of an experiment, executed outside any run; and `trial exec`: one trial from its specification.

use std::path::{Path, PathBuf};

use assay_gateway::Budget;
use assay_report::trial_heading;
use assay_store::{Claim, Outcome, Record, Store, StoreError, TrialId};
use assay_trial::{
    Executed, Experiment, MachineContext, Plan, PrepCache, Resolver, RetriesLeft, Runner, Sources, TrialSpec,
};
use serde_json::json;

use crate::args::task::TaskRunArgs;
use crate::args::trial::{TrialArgs, TrialExecArgs, TrialWhat};
use crate::asking::judge_progress;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &TrialArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let TrialWhat::Exec(args) = &args.what;
    exec(args, settings, ui)
}

/// Executes one cell of an experiment in a store of its own, so that no run counts it.
pub(super) fn run_task(args: &TaskRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    // A separate store, so that no run counts this trial.
    let mut store = machine::open_store(&settings.store.join("debug"))?;
    if args.keep {
        // A run on another store must not clean up the folders that are kept.
        let scratch = store.root().join("scratch");
        store = store.work_in(Some(scratch));
    }
    let cancel = machine::interrupted()?;
    assay_trial::clean_up(&store);
    machine::remove_stale_containers(&Store::open(&settings.store)?);
    let sandboxes = machine::sandboxes_for(settings)?;
    let permissions = args.permissions.permissions();
    let here = MachineContext { permissions, ..machine::context(&sandboxes, None) };
    let plan = Plan::build(experiment(args)?, &store, &here)?;
    let trial = plan.resolver(&store, &here).resolve(cell(&plan, args)?)?;
    let cache = PrepCache::new(&store)?;
    let (budget, retries) = (Budget::default(), RetriesLeft::default());
    let runner = Runner {
        store: &store,
        cache: &cache,
        cancel: &cancel,
        budget: &budget,
        retries,
        keep: args.keep,
        judge_progress: &judge_progress(ui),
    };
    let Claim::Mine(lease) = store.claim(&trial.id)? else {
        return Err(Failure::infrastructure("another process is executing this trial"));
    };
    let executed = runner.execute(&trial, &lease)?;
    drop(lease);
    let Executed::Recorded { record, folder, kept } = executed else {
        store.clear_scratch();
        return Ok(Status::Interrupted);
    };
    if kept.is_none() {
        store.clear_scratch();
    }
    print(&record, &folder, kept.as_deref(), &settings.store.join("debug"), ui)?;
    if kept.is_some() {
        ui.note("the next `assay task run` or `assay gc` removes the kept folders");
    }
    Ok(if record.outcome == Outcome::Infrastructure { Status::Infrastructure } else { Status::Done })
}

fn print(record: &Record, folder: &Path, kept: Option<&Path>, store: &Path, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        return ui.document(
            &json!({ "schema": "assay.trial-run/1", "record": record, "folder": folder, "kept": kept }),
        );
    }
    ui.out(&trial_heading(&record.trial, Some(record), folder))?;
    if let Some(kept) = kept {
        ui.out(&format!("  sandbox folders: {}\n", kept.display()))?;
    }
    let (store, trial) = (store.display(), record.trial.short());
    ui.note(&format!("`assay --store {store} show {trial}` shows every step"));
    Ok(())
}

/// Executes a trial that was planned elsewhere, unless the store has its result.
fn exec(args: &TrialExecArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let spec = TrialSpec::load(&args.spec)?;
    if spec.sandbox_kind() == "none" && !args.allow_unsandboxed {
        return Err(Failure::bad_input(format!(
            "{}: sandbox \"none\" isolates nothing: commands of this trial would run with your permissions on your files",
            args.spec.display()
        ))
        .hint("if you trust the trial, pass --allow-unsandboxed"));
    }
    let store = machine::open_store(&settings.store)?;
    let cancel = machine::interrupted()?;
    assay_trial::clean_up(&store);
    machine::remove_stale_containers(&store);
    let sandboxes = machine::sandboxes_for(settings)?;
    let here = machine::context(&sandboxes, args.replay.as_deref());
    let absolute = |folders: &[PathBuf]| folders.iter().map(std::path::absolute).collect::<Result<_, _>>();
    let failed = |error: std::io::Error| Failure::bad_input(format!("cannot find a folder: {error}"));
    let sources = Sources {
        suite: absolute(&args.suite).map_err(failed)?,
        library: absolute(&args.library).map_err(failed)?,
        scripts: args.scripts.clone(),
        made: store.made_folder(),
    };
    let trial = Resolver::new(&here, sources).resolve(&spec)?;
    let Claim::Mine(lease) = store.claim(&trial.id)? else {
        return Err(Failure::infrastructure("another process is executing this trial"));
    };
    let (record, folder) = if let Some(record) = recorded(&store, &trial.id, ui)? {
        ui.note("the store already has its result");
        let folder = store.trial_folder(&trial.id).join(format!("attempts/{}", record.attempt));
        (Box::new(record), folder)
    } else {
        let cache = PrepCache::new(&store)?;
        let (budget, retries) = (Budget::default(), RetriesLeft::default());
        let runner = Runner {
            store: &store,
            cache: &cache,
            cancel: &cancel,
            budget: &budget,
            retries,
            keep: false,
            judge_progress: &judge_progress(ui),
        };
        let executed = runner.execute(&trial, &lease);
        store.clear_scratch();
        match executed? {
            Executed::Recorded { record, folder, .. } => (record, folder),
            Executed::Interrupted => return Ok(Status::Interrupted),
            Executed::Waiting => {
                return Err(Failure::infrastructure("another process is executing the work of this trial"));
            }
            Executed::Discarded => return Err(StoreError::LeaseLost { trial: trial.id }.into()),
        }
    };
    drop(lease);
    print(&record, &folder, None, &settings.store, ui)?;
    Ok(if record.outcome == Outcome::Infrastructure { Status::Infrastructure } else { Status::Done })
}

/// The recorded result, if it counts. As in a run, an unreadable record is ignored.
fn recorded(store: &Store, trial: &TrialId, ui: &Ui) -> Result<Option<Record>, Failure> {
    match store.record(trial) {
        Ok(record) => Ok(record.filter(|record| record.outcome.counts())),
        Err(
            error @ (StoreError::Format { .. } | StoreError::Version { .. } | StoreError::Changed { .. }),
        ) => {
            ui.note(&format!("{}; the trial is executed again", assay_diagnostic::chain(&error)));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The experiment around a task, cut down to the one cell.
fn experiment(args: &TaskRunArgs) -> Result<Experiment, Failure> {
    let task = args.task.canonicalize().map_err(|error| {
        Failure::bad_input(format!("cannot open the task {}: {error}", args.task.display()))
    })?;
    let path = match &args.experiment {
        Some(path) => path.clone(),
        None => task
            .ancestors()
            .map(|folder| folder.join("experiment.toml"))
            .find(|path| path.is_file())
            .ok_or_else(|| {
                Failure::bad_input(format!("no experiment.toml in or above {}", task.display()))
                    .hint("pass one with --experiment FILE")
            })?,
    };
    let mut experiment = Experiment::load(&path)?;
    let repetition = args.repetition.max(1);
    experiment
        .keep_cell(&task, &args.condition, repetition, args.agent.as_deref())
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(experiment)
}

fn cell<'a>(plan: &'a Plan, args: &TaskRunArgs) -> Result<&'a TrialSpec, Failure> {
    let found = plan.cells.iter().find(|cell| cell.repetition == args.repetition.max(1));
    let trial = found.and_then(|cell| plan.trials.get(&cell.trial));
    trial.map(|trial| &**trial).ok_or_else(|| {
        let reason =
            plan.excluded.first().map_or("the experiment has no such cell", |excluded| &excluded.reason);
        Failure::bad_input(format!("the cell cannot be run: {reason}"))
    })
}
