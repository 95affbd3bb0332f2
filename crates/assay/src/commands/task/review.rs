//! `assay task review`: a benchmark report for each task.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use assay_analysis::MeasuredRuns;
use assay_draft::review::find_faults;
use assay_report::task_review::{
    OracleResults, OracleTrial, ReviewChoice, ReviewedTask, TaskReview, TaskReviewDocument, distinct_names,
    review_markdown, summarize_reviews,
};
use assay_report::{clean, redact};
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::{self, Context};
use assay_trial::rubric_of;
use assay_trial::task_check::{
    TaskChecker, TaskTrials, check_context, report_refusal, report_unusable, skills_of_task,
};

use super::{TaskCheckLines, close_checker, open_checker, open_experiment};
use crate::args::task::TaskReviewArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Oracle trials of a task, as in the validation of drafts.
const ORACLE_TRIALS: u32 = 3;

pub(super) fn run(args: &TaskReviewArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let (experiment, library) = open_experiment(args.experiment.as_deref(), args.permissions)?;
    let runs = measured_runs(&args.runs, settings)?;
    let found = check::find(&args.dirs);
    let unreadable = found.refused.iter().map(report_refusal);
    let mut document =
        TaskReviewDocument::new(unreadable.map(|checked| (checked.path, checked.findings)).collect());
    let mut executor = None;
    let cancel = machine::interrupted()?;
    let mut interrupted = false;
    for path in found.tasks {
        let task = match Task::load(&path) {
            Ok(task) => task,
            Err(error) => {
                let checked = report_unusable(path, &error);
                document.unreadable.push((checked.path, checked.findings));
                continue;
            }
        };
        let skills = skills_of_task(&task, experiment.as_ref(), &library);
        let context = check_context(&task, experiment.as_ref(), &library, false);
        let executor = if args.r#static {
            None
        } else {
            Some(match &mut executor {
                Some(executor) => executor,
                none => none.insert(open_checker(args.jobs, ORACLE_TRIALS, experiment.as_ref(), settings)?),
            })
        };
        let review = review_task(&task, &skills, &context, executor, &runs, ui)?;
        interrupted = cancel.load(Ordering::Relaxed);
        document.tasks.push(review);
        if interrupted {
            break;
        }
    }
    close_checker(executor, ui);
    print(&document, args.out.as_deref(), ui)?;
    Ok(match document.tasks.iter().map(|review| review.recommendation.choice).min() {
        _ if interrupted => Status::Interrupted,
        None => Status::BadInput,
        Some(_) if !document.unreadable.is_empty() => Status::DidNotHold,
        Some(ReviewChoice::Reject) => Status::DidNotHold,
        Some(_) if document.tasks.iter().any(|review| review.oracle.is_unchecked()) => Status::Infrastructure,
        Some(_) => Status::Done,
    })
}

/// The report of a task. Without an executor nothing is executed.
fn review_task(
    task: &Task,
    skills: &[Package],
    context: &Context<'_>,
    executor: Option<&mut TaskChecker<'_>>,
    runs: &MeasuredRuns,
    ui: &Ui,
) -> Result<TaskReview, Failure> {
    let mut findings = check::check(task, context);
    let is_static = executor.is_none();
    let executed = match executor {
        None => TaskTrials::default(),
        Some(executor) => executor.execute_task(task, &TaskCheckLines(ui))?,
    };
    executed.add_findings(task, &mut findings);
    findings.extend(find_faults(task, skills));
    let (results, other_versions) = runs.results_of(&task.name, |digest| task.has_digest(digest))?;
    let trials = executed.named_trials().into_iter().map(|(agent, trial)| {
        OracleTrial::new(agent, trial.outcome, trial.reward, trial.rewards.clone(), trial.seconds)
    });
    let oracle = OracleResults {
        is_static,
        sandbox: executed.sandbox_name().map(str::to_owned),
        trials: trials.collect(),
        unchecked: executed.unchecked_parts().to_vec(),
    };
    let rubric = task.graded_by.has_rubric().then(|| rubric_of(task).ok()).flatten();
    let items = rubric.iter().flat_map(|rubric| &rubric.sets).flat_map(|set| &set.items);
    let part = ReviewedTask::new(task, skills, items.map(|item| item.text.clone()).collect());
    Ok(TaskReview::new(task, part, &findings, oracle, results, other_versions))
}

/// Writes the reports of tasks to `out`, as NAME.md, with all runs of the store. A report of the same task is kept.
pub(in crate::commands) fn write_reviews(
    tasks: &[PathBuf],
    skills: &[Package],
    out: &Path,
    settings: &Settings,
    ui: &Ui,
) -> Result<(), Failure> {
    let runs = measured_runs(&[], settings)?;
    let mut executor = None;
    for path in tasks {
        let task = Task::load(path).map_err(|error| {
            Failure::bad_input(format!("cannot read the task {}: {error}", path.display()))
        })?;
        let mark = format!("<!-- task {} -->\n", task.digest);
        let file = out.join(format!("{}.md", task.name));
        if fs::read_to_string(&file).is_ok_and(|text| text.ends_with(&mark)) {
            continue;
        }
        let executor = match &mut executor {
            Some(executor) => executor,
            none => none.insert(open_checker(None, ORACLE_TRIALS, None, settings)?),
        };
        let context = Context {
            skills: skills.iter().collect(),
            library: skills.iter().collect(),
            ..Context::default()
        };
        let review = review_task(&task, skills, &context, Some(executor), &runs, ui)?;
        write_review(out, &task.name, &(redact(&review_markdown(&review), &machine::secrets()) + &mark))?;
    }
    close_checker(executor, ui);
    Ok(())
}

fn write_review(out: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let file = out.join(format!("{name}.md"));
    let written = fs::create_dir_all(out).and_then(|()| assay_fs::replace_file(&file, text.as_bytes()));
    written.map_err(|error| {
        Failure::infrastructure(format!("cannot write {}: {error}", file.display()))
            .hint("check that the path is writable and has free space")
    })
}

fn print(document: &TaskReviewDocument, out: Option<&Path>, ui: &Ui) -> Result<(), Failure> {
    let secrets = machine::secrets();
    if let Some(out) = out {
        let names = distinct_names(document.tasks.iter().map(|review| review.task.name.as_str()));
        for (review, name) in document.tasks.iter().zip(names) {
            write_review(out, &name, &redact(&review_markdown(review), &secrets))?;
        }
    }
    if ui.json() {
        return ui.document(document);
    }
    for (path, findings) in &document.unreadable {
        for finding in findings {
            let message = clean(&finding.message);
            ui.out(&format!("{}: {}: {message}\n", clean(&path.display().to_string()), finding.code))?;
        }
    }
    if out.is_none() {
        for review in &document.tasks {
            ui.out(&format!("{}\n", redact(&review_markdown(review), &secrets)))?;
        }
    }
    ui.out(&summarize_reviews(document))
}

/// The runs that may have results: those that are named, or all of the store.
fn measured_runs(names: &[String], settings: &Settings) -> Result<MeasuredRuns, Failure> {
    let is_there = !names.is_empty() || settings.store.is_dir();
    let store = is_there.then(|| machine::read_store(&settings.store)).transpose()?;
    Ok(MeasuredRuns::read(store, names)?)
}
