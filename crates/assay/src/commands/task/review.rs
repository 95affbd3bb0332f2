//! `assay task review`: a benchmark report for each task.

mod document;
mod markdown;
mod oracle;
mod recommend;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use assay_analysis::{TaskResults, task_results};
use assay_draft::proposal::read_task;
use assay_draft::review::{Fault, Reference, review};
use assay_report::{clean, redact};
use assay_skill::{Library, Package};
use assay_store::{RunFolder, Store};
use assay_task::Task;
use assay_task::check::{self, Context};
use assay_trial::Experiment;

use self::document::{Document, Review, TaskPart};
use self::oracle::Oracle;
use self::recommend::{Choice, recommend};
use super::checked::{refused, unusable};
use super::context::{context, open_experiment};
use super::execute::{Executed, Executor, jobs};
use crate::args::task::TaskReviewArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Oracle trials of a task, as in the validation of drafts.
const ORACLE_TRIALS: u32 = 3;

pub(super) fn run(args: &TaskReviewArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let (experiment, library) = open_experiment(args.experiment.as_deref(), args.permissions)?;
    let runs = Runs::open(&args.runs, settings)?;
    let found = check::find(&args.dirs);
    let unreadable = found.refused.iter().map(refused);
    let mut document = Document::new(unreadable.map(|checked| (checked.path, checked.findings)).collect());
    let mut executor = None;
    let cancel = machine::interrupted()?;
    let mut interrupted = false;
    for path in found.tasks {
        let task = match Task::load(&path) {
            Ok(task) => task,
            Err(error) => {
                let checked = unusable(path, &error);
                document.unreadable.push((checked.path, checked.findings));
                continue;
            }
        };
        let skills = skills_of(&task, experiment.as_ref(), &library);
        let context = context(&task, experiment.as_ref(), &library, false);
        let executor = if args.r#static {
            None
        } else {
            Some(match &mut executor {
                Some(executor) => executor,
                none => none.insert(new_executor(args.jobs, experiment.as_ref(), settings)?),
            })
        };
        let review = review_task(&task, &skills, &context, executor, &runs, ui)?;
        interrupted = cancel.load(Ordering::Relaxed);
        document.tasks.push(review);
        if interrupted {
            break;
        }
    }
    if let Some(executor) = executor {
        executor.finish(ui);
    }
    print(&document, args.out.as_deref(), ui)?;
    Ok(match document.tasks.iter().map(|review| review.recommendation.choice).min() {
        _ if interrupted => Status::Interrupted,
        None => Status::BadInput,
        Some(_) if !document.unreadable.is_empty() => Status::DidNotHold,
        Some(Choice::Reject) => Status::DidNotHold,
        Some(_) if document.tasks.iter().any(|review| review.oracle.is_unchecked()) => Status::Infrastructure,
        Some(_) => Status::Done,
    })
}

fn new_executor<'a>(
    asked: Option<u16>,
    experiment: Option<&'a Experiment>,
    settings: &Settings,
) -> Result<Executor<'a>, Failure> {
    Executor::new(jobs(asked), ORACLE_TRIALS, experiment, settings)
}

/// The report of a task. Without an executor nothing is executed.
fn review_task(
    task: &Task,
    skills: &[Package],
    context: &Context<'_>,
    executor: Option<&mut Executor<'_>>,
    runs: &Runs,
    ui: &Ui,
) -> Result<Review, Failure> {
    let mut findings = check::check(task, context);
    let is_static = executor.is_none();
    let executed = match executor {
        None => Executed::default(),
        Some(executor) => {
            ui.detail(&format!(
                "{}: running the oracle {ORACLE_TRIALS} times and the no-op check",
                task.name
            ));
            executor.execute(task, ui)?
        }
    };
    executed.add_findings(task, &mut findings);
    let faults = faults(task, skills);
    let (results, other_versions) = runs.of(task)?;
    let oracle = Oracle::new(&executed, is_static);
    let recommendation = recommend(&findings, &faults, &oracle, &results);
    Ok(Review {
        path: task.root.clone(),
        task: TaskPart::new(task, skills),
        oracle,
        policy: document::policy(&findings, &faults, task),
        results,
        other_versions,
        recommendation,
    })
}

/// Writes the reports of tasks to `out`, as NAME.md, with all runs of the store. A report of the same task is kept.
pub(in crate::commands) fn write_reviews(
    tasks: &[PathBuf],
    skills: &[Package],
    out: &Path,
    settings: &Settings,
    ui: &Ui,
) -> Result<(), Failure> {
    let runs = Runs::open(&[], settings)?;
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
            none => none.insert(new_executor(None, None, settings)?),
        };
        let context = Context {
            skills: skills.iter().collect(),
            library: skills.iter().collect(),
            ..Context::default()
        };
        let review = review_task(&task, skills, &context, Some(executor), &runs, ui)?;
        let failed = |error| {
            Failure::infrastructure(format!("cannot write {}: {error}", file.display()))
                .hint("check that the path is writable and has free space")
        };
        fs::create_dir_all(out).map_err(failed)?;
        let text = redact(&markdown::review(&review), &machine::secrets()) + &mark;
        assay_fs::replace_file(&file, text.as_bytes()).map_err(failed)?;
    }
    if let Some(executor) = executor {
        executor.finish(ui);
    }
    Ok(())
}

/// Names for files: those of the tasks, with a number where a name occurs again.
fn distinct_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|own| !distinct.contains(own));
        distinct.extend(free);
    }
    distinct
}

fn print(document: &Document, out: Option<&Path>, ui: &Ui) -> Result<(), Failure> {
    let secrets = machine::secrets();
    if let Some(out) = out {
        let failed = |error| {
            Failure::bad_input(format!("cannot write to {}: {error}", out.display()))
                .hint("check that the path is writable and has free space")
        };
        fs::create_dir_all(out).map_err(failed)?;
        let names = distinct_names(document.tasks.iter().map(|review| review.task.name.as_str()));
        for (review, name) in document.tasks.iter().zip(names) {
            let text = redact(&markdown::review(review), &secrets);
            let file = out.join(format!("{name}.md"));
            assay_fs::replace_file(&file, text.as_bytes()).map_err(failed)?;
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
            ui.out(&format!("{}\n", redact(&markdown::review(review), &secrets)))?;
        }
    }
    ui.out(&markdown::summary(document))
}

/// The skills that belong to a task: its own, those that it requires, and those that an experiment pairs it with.
fn skills_of(task: &Task, experiment: Option<&Experiment>, library: &Library) -> Vec<Package> {
    let pairing = experiment.and_then(|experiment| experiment.pairings.get(&task.name));
    let paired = pairing.and_then(|pairing| pairing.curated.as_ref());
    let names = paired.into_iter().flatten().chain(&task.required_skills);
    let mut skills = task.skills.clone();
    skills.extend(names.filter_map(|name| library.get(name).ok()).cloned());
    let mut seen = BTreeSet::new();
    skills.retain(|skill| seen.insert(skill.digest));
    skills
}

/// The checks of drafts that apply to every task.
fn faults(task: &Task, skills: &[Package]) -> Vec<Fault> {
    let files = read_task(&task.root);
    let skills: Vec<(&str, &str)> =
        skills.iter().map(|skill| (skill.name.as_str(), skill.document.as_str())).collect();
    let mut faults = review(&files, &Reference { skills: &skills, examples: &[], others: &[] });
    let mut seen = BTreeSet::new();
    faults.retain(|fault| seen.insert((fault.code.clone(), fault.message.clone())));
    faults
}

/// The runs that may have results.
struct Runs {
    store: Option<Store>,
    runs: Vec<RunFolder>,
}

impl Runs {
    /// The named runs, or all of the store.
    fn open(names: &[String], settings: &Settings) -> Result<Self, Failure> {
        if names.is_empty() && !settings.store.is_dir() {
            return Ok(Self { store: None, runs: Vec::new() });
        }
        let store = machine::read_store(&settings.store)?;
        let names = if names.is_empty() { store.run_names() } else { names.to_vec() };
        let runs = names.iter().map(|name| store.run(name)).collect::<Result<_, _>>()?;
        Ok(Self { store: Some(store), runs })
    }

    /// The results on a task, and the runs that measured another version of it.
    fn of(&self, task: &Task) -> Result<(Vec<TaskResults>, Vec<String>), Failure> {
        let (mut results, mut others) = (Vec::new(), Vec::new());
        let Some(store) = &self.store else { return Ok((results, others)) };
        for run in &self.runs {
            match run.tasks.iter().find(|planned| planned.name == task.name) {
                Some(planned) if task.has_digest(&planned.digest) => {
                    results.extend(task_results(store, run, &task.name)?);
                }
                Some(_) => others.push(run.run.clone()),
                None => {}
            }
        }
        Ok((results, others))
    }
}

#[cfg(test)]
mod tests {
    use super::distinct_names;

    #[test]
    fn files_of_tasks_of_one_name_have_numbers() {
        let check = |names: &[&str], expected: &[&str]| {
            assert_eq!(distinct_names(names.iter().copied()), expected);
        };
        check(&["a", "b"], &["a", "b"]);
        check(&["a", "a", "a"], &["a", "a-2", "a-3"]);
        check(&["a", "a", "a-2"], &["a", "a-2", "a-2-2"]);
        check(&["a-2", "a", "a"], &["a-2", "a", "a-3"]);
    }
}
