//! `assay task`: checks of tasks before an experiment uses them, and single trials.

pub(super) mod review;

use std::path::{Path, PathBuf};

use assay_skill::Library;
use assay_task::Task;
use assay_task::check;
use assay_trial::Experiment;
use assay_trial::task_check::{
    TaskCheckDocument, TaskCheckEvent, TaskCheckEvents, TaskCheckMachine, TaskChecker, check_context,
    check_task, list_problems, load_library, report_refusal, report_unusable,
};

use crate::args::permission::ForeignFlags;
use crate::args::task::{TaskArgs, TaskCheckArgs, TaskWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Concurrent trials of a task's checks.
const JOBS: u16 = 2;

/// Oracle trials of a task.
const ORACLE_TRIALS: u32 = 2;

pub(crate) fn run(args: &TaskArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        TaskWhat::Check(args) => check_tasks(args, settings, ui),
        TaskWhat::Review(args) => review::run(args, settings, ui),
        TaskWhat::Run(args) => super::trial::run_task(args, settings, ui),
    }
}

fn check_tasks(args: &TaskCheckArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let (experiment, library) = open_experiment(args.experiment.as_deref(), args.permissions)?;
    let found = check::find(&args.dirs);
    let mut tasks: Vec<_> = found.refused.iter().map(report_refusal).collect();
    let mut checker = None;
    let mut interrupted = false;
    let any = !found.tasks.is_empty();
    for path in found.tasks {
        let task = match Task::load(&path) {
            Ok(task) => task,
            Err(error) => {
                tasks.push(report_unusable(path, &error));
                continue;
            }
        };
        let context = check_context(&task, experiment.as_ref(), &library, args.all_rules);
        if !args.r#static && checker.is_none() {
            checker = Some(open_checker(args.jobs, ORACLE_TRIALS, experiment.as_ref(), settings)?);
        }
        tasks.push(check_task(&task, path, &context, checker.as_mut(), &TaskCheckLines(ui))?);
        interrupted |= checker.as_ref().is_some_and(TaskChecker::is_interrupted);
        if interrupted {
            break;
        }
    }
    close_checker(checker, ui);
    let document = TaskCheckDocument::new(tasks, found.skipped);
    let status = match &document.summary {
        _ if interrupted => Status::Interrupted,
        _ if !any => Status::BadInput,
        summary if summary.fail > 0 => Status::DidNotHold,
        summary if summary.unchecked > 0 => Status::Infrastructure,
        _ => Status::Done,
    };
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&document.render_text(args.r#static, settings.verbose))?;
    }
    Ok(status)
}

/// Checks tasks beside something else: a summary, and a line for each finding that is an error. Every sandbox isolates, or
/// the task is not executed.
pub(in crate::commands) fn check_isolated(
    folders: &[PathBuf],
    experiment: Option<&Experiment>,
    jobs: Option<u16>,
    settings: &Settings,
    ui: &Ui,
) -> Result<Vec<String>, Failure> {
    let mut checker = open_checker(jobs, ORACLE_TRIALS, experiment, settings)?;
    let mut tasks = Vec::new();
    let library = Library::default();
    for folder in folders {
        if checker.is_interrupted() {
            break;
        }
        tasks.push(match Task::load(folder) {
            Ok(task) => {
                let context = check_context(&task, experiment, &library, false);
                let lines = TaskCheckLines(ui);
                check_task(&task, folder.clone(), &context, Some(&mut checker), &lines)?
            }
            Err(error) => report_unusable(folder.clone(), &error),
        });
    }
    close_checker(Some(checker), ui);
    Ok(list_problems(&tasks))
}

/// The experiment that a command names, and its skills, if the caller permits what it names.
fn open_experiment(
    path: Option<&Path>,
    flags: ForeignFlags,
) -> Result<(Option<Experiment>, Library), Failure> {
    let Some(path) = path else { return Ok((None, Library::default())) };
    let experiment = Experiment::load(path)?;
    experiment.check_permissions(flags.permissions())?;
    let library = load_library(&experiment);
    Ok((Some(experiment), library))
}

/// What executes tasks' checks, in a store of its own.
pub(in crate::commands) fn open_checker<'a>(
    jobs: Option<u16>,
    oracle_trials: u32,
    experiment: Option<&'a Experiment>,
    settings: &Settings,
) -> Result<TaskChecker<'a>, Failure> {
    let folder = settings.store.join("debug").join(format!("check-{}", std::process::id()));
    let store = machine::open_store(&folder)?;
    let machine = TaskCheckMachine {
        env: &machine::env,
        cancel: machine::interrupted()?,
        sandboxes: machine::sandboxes_for(settings)?,
        cli_agents: machine::cli_agents(None),
    };
    Ok(TaskChecker::new(store, machine, experiment, usize::from(jobs.unwrap_or(JOBS)), oracle_trials))
}

/// Removes what the checks left, unless something in it is worth a look.
pub(in crate::commands) fn close_checker(checker: Option<TaskChecker<'_>>, ui: &Ui) {
    if let Some(store) = checker.and_then(TaskChecker::close_store) {
        let store = store.display();
        ui.note(&format!(
            "`assay --store {store} show` lists the trials with the output of solution and tests"
        ));
    }
}

/// Prints what happens while tasks are checked.
pub(in crate::commands) struct TaskCheckLines<'a>(pub(in crate::commands) &'a Ui);

impl TaskCheckEvents for TaskCheckLines<'_> {
    fn handle_event(&self, event: &TaskCheckEvent<'_>) {
        match event {
            TaskCheckEvent::Note(note) => self.0.note(note),
            _ => event.describe().iter().for_each(|line| self.0.detail(line)),
        }
    }
}
