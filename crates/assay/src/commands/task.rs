//! `assay task`: checks of tasks before an experiment uses them, and single trials.

mod checked;
mod context;
pub(super) mod execute;
mod hints;
pub(super) mod review;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_diagnostic::Severity;
use assay_report::{clean, counted};
use assay_skill::Library;
use assay_task::Task;
use assay_task::check::{self, Finding, Verdict};
use assay_trial::Experiment;
use serde::Serialize;

use self::checked::{Checked, refused, unusable};
pub(super) use self::context::memory;
use self::context::{context, open_experiment};
use self::execute::{Executed, Executor, GradingEnvironment, jobs};
use crate::args::task::{TaskArgs, TaskCheckArgs, TaskWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    tasks: Vec<Checked>,
    /// Folders that hold nothing like a task, where others beside them do.
    skipped: Vec<PathBuf>,
    summary: Summary,
}

#[derive(Default, Serialize)]
struct Summary {
    tasks: usize,
    ok: usize,
    warn: usize,
    fail: usize,
    unchecked: usize,
    /// Tasks that were graded in Docker, by the environment in which their work is graded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verifier_environments: BTreeMap<GradingEnvironment, usize>,
}

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
    let mut tasks: Vec<Checked> = found.refused.iter().map(refused).collect();
    let mut executor = None;
    let mut interrupted = false;
    let any = !found.tasks.is_empty();
    for path in found.tasks {
        let task = match Task::load(&path) {
            Ok(task) => task,
            Err(error) => {
                tasks.push(unusable(path, &error));
                continue;
            }
        };
        let context = context(&task, experiment.as_ref(), &library, args.all_rules);
        let mut findings = check::check(&task, &context);
        let executed = if args.r#static {
            Executed::default()
        } else {
            let executor = match &mut executor {
                Some(executor) => executor,
                none => none.insert(Executor::new(jobs(args.jobs), 2, experiment.as_ref(), settings)?),
            };
            ui.detail(&format!("{}: running the oracle twice and the no-op check once", task.name));
            let executed = executor.execute(&task, ui)?;
            interrupted |= executor.interrupted();
            executed.add_findings(&task, &mut findings);
            executed
        };
        let verdict = check::verdict(&findings, executed.is_unchecked());
        tasks.push(Checked { task: task.name, path, verdict, findings, executed });
        if interrupted {
            break;
        }
    }
    if let Some(executor) = executor {
        executor.finish(ui);
    }
    tasks.sort_by(|a, b| a.path.cmp(&b.path));
    let summary = summary(&tasks);
    let status = match &summary {
        _ if interrupted => Status::Interrupted,
        _ if !any => Status::BadInput,
        summary if summary.fail > 0 => Status::DidNotHold,
        summary if summary.unchecked > 0 => Status::Infrastructure,
        _ => Status::Done,
    };
    let document = Document { schema: "assay.task-check/2", tasks, skipped: found.skipped, summary };
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&render_text(&document, args.r#static, settings.verbose))?;
    }
    Ok(status)
}

/// Checks tasks beside something else: a summary, and a line for each finding that is an error. Every sandbox isolates, or
/// the task is not executed.
pub(in crate::commands) fn check_isolated(
    folders: &[PathBuf],
    experiment: Option<&Experiment>,
    jobs_asked: Option<u16>,
    settings: &Settings,
    ui: &Ui,
) -> Result<Vec<String>, Failure> {
    let mut executor = Executor::new(jobs(jobs_asked), 2, experiment, settings)?;
    let (mut tasks, mut lines) = (Vec::new(), Vec::new());
    for folder in folders {
        if executor.interrupted() {
            break;
        }
        let checked = match Task::load(folder) {
            Ok(task) => {
                let mut findings =
                    check::check(&task, &context(&task, experiment, &Library::default(), false));
                ui.detail(&format!("{}: running the oracle twice and the no-op check once", task.name));
                let executed = executor.execute(&task, ui)?;
                executed.add_findings(&task, &mut findings);
                let verdict = check::verdict(&findings, executed.is_unchecked());
                Checked { task: task.name, path: folder.clone(), verdict, findings, executed }
            }
            Err(error) => unusable(folder.clone(), &error),
        };
        let errors = checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let errors = errors.map(|finding| format!("{}: {}", finding.code, finding.message));
        let unchecked = checked.executed.unchecked().iter().map(|reason| format!("unchecked: {reason}"));
        lines.extend(errors.chain(unchecked).map(|line| format!("task {}: {}", checked.task, clean(&line))));
        tasks.push(checked);
    }
    executor.finish(ui);
    let sum = summary(&tasks);
    let line = format!(
        "task check: {}: {} ok, {} warn, {} fail, {} unchecked",
        counted(sum.tasks, "task", "tasks"),
        sum.ok,
        sum.warn,
        sum.fail,
        sum.unchecked
    );
    lines.insert(0, line);
    Ok(lines)
}

fn summary(tasks: &[Checked]) -> Summary {
    let count = |verdict| tasks.iter().filter(|task| task.verdict == verdict).count();
    let mut verifier_environments = BTreeMap::new();
    for environment in tasks.iter().filter_map(|task| task.executed.verifier_environment()) {
        *verifier_environments.entry(environment).or_default() += 1;
    }
    Summary {
        tasks: tasks.len(),
        ok: count(Verdict::Ok),
        warn: count(Verdict::Warn),
        fail: count(Verdict::Fail),
        unchecked: count(Verdict::Unchecked),
        verifier_environments,
    }
}

fn render_text(document: &Document, only_static: bool, verbose: bool) -> String {
    let mut text = String::new();
    for task in &document.tasks {
        text.push_str(&format!("{:9} {}\n", task.verdict.word(), clean(&task.path.display().to_string())));
        let shown = |finding: &&Finding| verbose || finding.severity != Severity::Info;
        for finding in task.findings.iter().filter(shown) {
            let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
            let inside =
                finding.file.strip_prefix(&task.path).ok().filter(|file| !file.as_os_str().is_empty());
            let file = inside.unwrap_or(&finding.file);
            text.push_str(&format!(
                "  {} {}: {}{line}: {}\n",
                finding.word(),
                finding.code,
                clean(&file.display().to_string()),
                clean(&finding.message)
            ));
            for (name, span) in [("skill", &finding.skill_span), ("task", &finding.task_span)] {
                if let Some(span) = span {
                    let place = format!("{}:{}", span.file.display(), span.line);
                    text.push_str(&format!("       {name} {}: {}\n", clean(&place), clean(&span.text)));
                }
            }
            if let Some(hint) = finding.hint.as_ref().filter(|_| finding.severity != Severity::Info) {
                text.push_str(&format!("       hint: {}\n", clean(hint)));
            }
        }
        let infos = task.findings.iter().filter(|finding| !shown(finding)).count();
        if infos > 0 {
            let shown = if infos == 1 { "it" } else { "them" };
            text.push_str(&format!("  {} (-v shows {shown})\n", counted(infos, "info", "infos")));
        }
        if !only_static {
            text.push_str(&task.executed.line());
        }
    }
    for folder in &document.skipped {
        text.push_str(&format!("skipped: {} contains no task\n", clean(&folder.display().to_string())));
    }
    let sum = &document.summary;
    text.push_str(&format!(
        "{} task{}: {} ok, {} warn, {} fail, {} unchecked\n",
        sum.tasks,
        if sum.tasks == 1 { "" } else { "s" },
        sum.ok,
        sum.warn,
        sum.fail,
        sum.unchecked
    ));
    text.push_str(&environments_line(&sum.verifier_environments));
    text
}

/// How many tasks are graded in which environment, and the share of the restored ones where it is
/// known. Empty if no task was graded in Docker.
fn environments_line(environments: &BTreeMap<GradingEnvironment, usize>) -> String {
    if environments.is_empty() {
        return String::new();
    }
    let number = |kind| environments.get(&kind).copied().unwrap_or_default();
    let restored = number(GradingEnvironment::Restored);
    let known = restored + number(GradingEnvironment::Kept);
    let counts = environments.iter().map(|(kind, count)| {
        let share = match kind {
            GradingEnvironment::Restored => {
                format!(" ({}% of {known})", (restored * 200 + known) / (2 * known))
            }
            _ => String::new(),
        };
        format!("{count} {}{share}", kind.word())
    });
    format!("verifier environments: {}\n", counts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_restored_environments_is_printed() {
        use GradingEnvironment::{Kept, Restored, Separate, Undecided};
        let check = |counts: &[(GradingEnvironment, usize)], expected: &str| {
            assert_eq!(environments_line(&counts.iter().copied().collect()), expected);
        };
        check(&[], "");
        check(&[(Restored, 1)], "verifier environments: 1 restored (100% of 1)\n");
        check(
            &[(Undecided, 1), (Kept, 2), (Restored, 27)],
            "verifier environments: 27 restored (93% of 29), 2 kept, 1 undecided\n",
        );
        check(&[(Kept, 1), (Separate, 3)], "verifier environments: 1 kept, 3 separate\n");
        check(&[(Restored, 199), (Kept, 1)], "verifier environments: 199 restored (100% of 200), 1 kept\n");
    }
}
