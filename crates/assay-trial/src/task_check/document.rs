//! What `task check` found, as JSON and as text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_diagnostic::{Severity, clean, counted};
use assay_task::Task;
use assay_task::check::{self, Context, Finding, Verdict};
use serde::Serialize;

use super::checked::CheckedTask;
use super::checker::{TaskCheckError, TaskCheckEvents, TaskChecker};
use super::trials::{GradingEnvironment, TaskTrials};

/// What `task check` found.
#[derive(Debug, Serialize)]
pub struct TaskCheckDocument {
    schema: &'static str,
    /// The tasks, by path.
    pub tasks: Vec<CheckedTask>,
    /// Folders that hold nothing like a task, where others beside them do.
    pub skipped: Vec<PathBuf>,
    /// How many there are of each verdict.
    pub summary: TaskCheckSummary,
}

/// How many tasks there are of each verdict.
#[derive(Debug, Default, Serialize)]
pub struct TaskCheckSummary {
    /// All of them.
    pub tasks: usize,
    /// Those without a finding above `info`.
    pub ok: usize,
    /// Those with a warning.
    pub warn: usize,
    /// Those that cannot be used unchanged.
    pub fail: usize,
    /// Those of which a part could not be checked.
    pub unchecked: usize,
    /// Tasks that were graded in Docker, by the environment in which their work is graded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub verifier_environments: BTreeMap<GradingEnvironment, usize>,
}

/// Checks a task by all rules, and by its trials if there is a checker.
///
/// # Errors
/// The trials cannot be executed.
pub fn check_task(
    task: &Task,
    path: PathBuf,
    context: &Context<'_>,
    checker: Option<&mut TaskChecker<'_>>,
    events: &dyn TaskCheckEvents,
) -> Result<CheckedTask, TaskCheckError> {
    let mut findings = check::check(task, context);
    let executed = match checker {
        None => TaskTrials::default(),
        Some(checker) => {
            let executed = checker.execute_task(task, events)?;
            executed.add_findings(task, &mut findings);
            executed
        }
    };
    let verdict = check::verdict(&findings, executed.is_unchecked());
    Ok(CheckedTask { task: task.name.clone(), path, verdict, findings, executed })
}

impl TaskCheckDocument {
    /// What was found of tasks, and the folders that were skipped.
    pub fn new(mut tasks: Vec<CheckedTask>, skipped: Vec<PathBuf>) -> Self {
        tasks.sort_by(|a, b| a.path.cmp(&b.path));
        let summary = summarize_tasks(&tasks);
        Self { schema: "assay.task-check/2", tasks, skipped, summary }
    }

    /// The result for people. Without `only_static`, also what the trials came to; `verbose` has the findings that are infos.
    pub fn render_text(&self, only_static: bool, verbose: bool) -> String {
        let mut text = String::new();
        for task in &self.tasks {
            text.push_str(&format!(
                "{:9} {}\n",
                task.verdict.word(),
                clean(&task.path.display().to_string())
            ));
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
                text.push_str(&task.executed.describe_trials());
            }
        }
        for folder in &self.skipped {
            text.push_str(&format!("skipped: {} contains no task\n", clean(&folder.display().to_string())));
        }
        let sum = &self.summary;
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
}

/// A line with the number of each verdict, and a line for each error and each part that could not be checked.
pub fn list_problems(tasks: &[CheckedTask]) -> Vec<String> {
    let sum = summarize_tasks(tasks);
    let mut lines = vec![format!(
        "task check: {}: {} ok, {} warn, {} fail, {} unchecked",
        counted(sum.tasks, "task", "tasks"),
        sum.ok,
        sum.warn,
        sum.fail,
        sum.unchecked
    )];
    for checked in tasks {
        let errors = checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let errors = errors.map(|finding| format!("{}: {}", finding.code, finding.message));
        let unchecked =
            checked.executed.unchecked_parts().iter().map(|reason| format!("unchecked: {reason}"));
        lines.extend(errors.chain(unchecked).map(|line| format!("task {}: {}", checked.task, clean(&line))));
    }
    lines
}

fn summarize_tasks(tasks: &[CheckedTask]) -> TaskCheckSummary {
    let count = |verdict| tasks.iter().filter(|task| task.verdict == verdict).count();
    let mut verifier_environments = BTreeMap::new();
    for environment in tasks.iter().filter_map(|task| task.executed.verifier_environment()) {
        *verifier_environments.entry(environment).or_default() += 1;
    }
    TaskCheckSummary {
        tasks: tasks.len(),
        ok: count(Verdict::Ok),
        warn: count(Verdict::Warn),
        fail: count(Verdict::Fail),
        unchecked: count(Verdict::Unchecked),
        verifier_environments,
    }
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
