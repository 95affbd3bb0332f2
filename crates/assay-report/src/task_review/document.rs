//! The content of a review.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_analysis::TaskResults;
use assay_diagnostic::Severity;
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use serde::Serialize;

use super::oracle::OracleResults;
use super::recommend::{Recommendation, recommend_choice};

/// Most characters of a summary.
const SUMMARY_CHARS: usize = 600;

/// What `task review --format json` prints.
#[derive(Debug, Serialize)]
pub struct TaskReviewDocument {
    schema: &'static str,
    /// The reports, one for each task.
    pub tasks: Vec<TaskReview>,
    /// Folders that cannot be read as tasks, with the reasons.
    pub unreadable: Vec<(PathBuf, Vec<Finding>)>,
}

impl TaskReviewDocument {
    /// No review so far, and the folders that cannot be read as tasks.
    pub fn new(unreadable: Vec<(PathBuf, Vec<Finding>)>) -> Self {
        Self { schema: "assay.task-review/1", tasks: Vec::new(), unreadable }
    }
}

/// The six parts of a report.
#[derive(Debug, Serialize)]
pub struct TaskReview {
    /// The task's folder.
    pub path: PathBuf,
    /// Part 1.
    pub task: ReviewedTask,
    /// Part 2.
    pub oracle: OracleResults,
    /// Part 3.
    pub policy: Vec<PolicyCheck>,
    /// Parts 4 and 5: results and failures, run by run.
    pub results: Vec<TaskResults>,
    /// Runs that measured the task as it was with another content.
    pub other_versions: Vec<String>,
    /// Part 6.
    pub recommendation: Recommendation,
}

impl TaskReview {
    /// The report of a task: what rules found, what its own trials came to, and the results of runs; `other_versions` are the
    /// runs that measured it with another content.
    pub fn new(
        task: &Task,
        part: ReviewedTask,
        findings: &[Finding],
        oracle: OracleResults,
        results: Vec<TaskResults>,
        other_versions: Vec<String>,
    ) -> Self {
        let recommendation = recommend_choice(findings, &oracle, &results);
        let policy = group_findings(findings, task);
        Self { path: task.root.clone(), task: part, oracle, policy, results, other_versions, recommendation }
    }
}

/// What the task is.
#[derive(Debug, Serialize)]
pub struct ReviewedTask {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its category, if it states one.
    pub category: Option<String>,
    /// Its difficulty, if it states one.
    pub difficulty: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The first paragraph of the instruction.
    pub summary: String,
    /// The skills that belong to it.
    pub skills: Vec<ReviewedSkill>,
    /// Skills that it requires and that were not found.
    pub missing_skills: Vec<String>,
    /// Its image, if it names one.
    pub image: Option<String>,
    /// Its processors, if it states them.
    pub cpus: Option<f64>,
    /// Its memory, if it states it.
    pub memory_bytes: Option<u64>,
    /// The time of the agent, if it states it.
    pub agent_seconds: Option<f64>,
    /// The time of the verifier.
    pub verifier_seconds: f64,
    /// Whether it has test doubles.
    pub has_doubles: bool,
    /// The items of its rubric.
    pub rubric: Vec<String>,
    /// `[metadata.draft]`: how it was drafted.
    pub draft: BTreeMap<String, String>,
}

/// A skill that belongs to the task.
#[derive(Debug, Serialize)]
pub struct ReviewedSkill {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its digest.
    pub digest: String,
}

impl ReviewedTask {
    /// A task with its skills and the items of its rubric.
    pub fn new(task: &Task, skills: &[Package], rubric: Vec<String>) -> Self {
        let metadata = &task.config.metadata;
        let text = |key: &str| metadata.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let tags = metadata.get("tags").and_then(toml::Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect();
        let draft = metadata.get("draft").and_then(toml::Value::as_table).into_iter().flatten();
        let draft = draft.map(|(key, value)| {
            (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let has = |name: &String| skills.iter().any(|skill| &skill.name == name || &skill.directory == name);
        Self {
            name: task.name.clone(),
            title: text("title").unwrap_or_else(|| task.title.clone()),
            category: text("category"),
            difficulty: text("difficulty"),
            tags,
            summary: first_paragraph(&task.instruction),
            skills: skills
                .iter()
                .map(|skill| ReviewedSkill {
                    name: skill.name.clone(),
                    description: skill.description.clone(),
                    digest: skill.digest.to_string(),
                })
                .collect(),
            missing_skills: task.required_skills.iter().filter(|name| !has(name)).cloned().collect(),
            image: task.config.environment.docker_image.clone(),
            cpus: task.config.environment.cpus,
            memory_bytes: task.config.environment.memory_bytes,
            agent_seconds: task.config.agent_timeout,
            verifier_seconds: task.config.verifier_timeout,
            has_doubles: task.doubles.is_some(),
            rubric,
            draft: draft.collect(),
        }
    }
}

/// The first paragraph of a Markdown text that is no heading.
fn first_paragraph(text: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let found = paragraphs.find(|paragraph| !paragraph.is_empty() && !paragraph.starts_with('#'));
    let found = found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = found.chars().take(SUMMARY_CHARS).collect();
    if cut.len() < found.len() { format!("{cut}…") } else { cut }
}

/// A group of rules.
#[derive(Debug, Serialize)]
pub struct PolicyCheck {
    /// What is checked.
    pub check: &'static str,
    /// `passed`, `info`, `warning` or `failed`.
    pub result: &'static str,
    /// What was found.
    pub findings: Vec<PolicyFinding>,
}

/// What a rule found.
#[derive(Debug, Serialize)]
pub struct PolicyFinding {
    /// Its code.
    pub code: String,
    /// `fail`, `warn` or `info`.
    pub weight: &'static str,
    /// Relative to the task; empty for the whole task.
    pub file: String,
    /// The line at fault.
    pub line: Option<usize>,
    /// A fragment.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The groups, in the order of a report. The last one has all other codes.
const GROUPS: [(&str, &[&str]); 6] = [
    ("instruction", &["instruction-", "path-", "copied-line"]),
    ("leaks and duplicates", &["leak-", "near-duplicate"]),
    ("tests", &["few-tests", "several-rewards", "text-searches", "rubric", "nop-", "verifier-"]),
    ("solution", &["oracle-", "answer-", "solution-"]),
    ("environment", &["dependency-", "image-", "script-", "resources", "compose-", "workdir-"]),
    ("structure", &[]),
];

/// The rules of `task check` and of drafting, by group.
fn group_findings(findings: &[Finding], task: &Task) -> Vec<PolicyCheck> {
    let of_rules = findings.iter().map(|finding| PolicyFinding {
        code: finding.code.clone(),
        weight: match finding.severity {
            Severity::Error => "fail",
            Severity::Warning => "warn",
            Severity::Info => "info",
        },
        file: finding.file.strip_prefix(&task.root).unwrap_or(&finding.file).display().to_string(),
        line: finding.line,
        message: finding.message.clone(),
        hint: finding.hint.clone(),
    });
    let mut checks: Vec<PolicyCheck> = GROUPS
        .iter()
        .map(|(check, _)| PolicyCheck { check, result: "passed", findings: Vec::new() })
        .collect();
    for finding in of_rules {
        let is_of =
            |(_, prefixes): &(&str, &[&str])| prefixes.iter().any(|prefix| finding.code.starts_with(prefix));
        let at = GROUPS.iter().position(is_of).unwrap_or(GROUPS.len() - 1);
        checks[at].findings.push(finding);
    }
    for check in &mut checks {
        let has = |weight: &str| check.findings.iter().any(|finding| finding.weight == weight);
        check.result = match (has("fail"), has("warn"), has("info")) {
            (true, ..) => "failed",
            (_, true, _) => "warning",
            (_, _, true) => "info",
            _ => "passed",
        };
    }
    checks
}

/// Names for files: those of the tasks, with a number where a name occurs again.
pub fn distinct_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|own| !distinct.contains(own));
        distinct.extend(free);
    }
    distinct
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
