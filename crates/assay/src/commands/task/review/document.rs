//! The content of a review.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_analysis::TaskResults;
use assay_diagnostic::Severity;
use assay_draft::review::Fault;
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use assay_trial::rubric_of;
use serde::Serialize;

use super::oracle::Oracle;
use super::recommend::Recommendation;

/// Most characters of a summary.
const SUMMARY_CHARS: usize = 600;

/// What `--format json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    schema: &'static str,
    pub(super) tasks: Vec<Review>,
    /// Folders that cannot be read as tasks, with the reasons.
    pub(super) unreadable: Vec<(PathBuf, Vec<Finding>)>,
}

impl Document {
    pub(super) fn new(unreadable: Vec<(PathBuf, Vec<Finding>)>) -> Self {
        Self { schema: "assay.task-review/1", tasks: Vec::new(), unreadable }
    }
}

/// The six parts of a report.
#[derive(Debug, Serialize)]
pub(super) struct Review {
    pub(super) path: PathBuf,
    pub(super) task: TaskPart,
    pub(super) oracle: Oracle,
    pub(super) policy: Vec<PolicyCheck>,
    /// Parts 4 and 5: results and failures, run by run.
    pub(super) results: Vec<TaskResults>,
    /// Runs that measured the task as it was with another content.
    pub(super) other_versions: Vec<String>,
    pub(super) recommendation: Recommendation,
}

/// What the task is.
#[derive(Debug, Serialize)]
pub(super) struct TaskPart {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) category: Option<String>,
    pub(super) difficulty: Option<String>,
    pub(super) tags: Vec<String>,
    /// The first paragraph of the instruction.
    pub(super) summary: String,
    pub(super) skills: Vec<SkillLine>,
    /// Skills that it requires and that were not found.
    pub(super) missing_skills: Vec<String>,
    pub(super) image: Option<String>,
    pub(super) cpus: Option<f64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) agent_seconds: Option<f64>,
    pub(super) verifier_seconds: f64,
    pub(super) has_doubles: bool,
    /// The items of its rubric.
    pub(super) rubric: Vec<String>,
    /// `[metadata.draft]`: how it was drafted.
    pub(super) draft: BTreeMap<String, String>,
}

/// A skill that belongs to the task.
#[derive(Debug, Serialize)]
pub(super) struct SkillLine {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) digest: String,
}

impl TaskPart {
    pub(super) fn new(task: &Task, skills: &[Package]) -> Self {
        let metadata = &task.config.metadata;
        let text = |key: &str| metadata.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let tags = metadata.get("tags").and_then(toml::Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect();
        let draft = metadata.get("draft").and_then(toml::Value::as_table).into_iter().flatten();
        let draft = draft.map(|(key, value)| {
            (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let has = |name: &String| skills.iter().any(|skill| &skill.name == name || &skill.directory == name);
        let rubric = task.graded_by.has_rubric().then(|| rubric_of(task).ok()).flatten();
        let items = rubric.iter().flat_map(|rubric| &rubric.sets).flat_map(|set| &set.items);
        Self {
            name: task.name.clone(),
            title: text("title").unwrap_or_else(|| task.title.clone()),
            category: text("category"),
            difficulty: text("difficulty"),
            tags,
            summary: first_paragraph(&task.instruction),
            skills: skills
                .iter()
                .map(|skill| SkillLine {
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
            rubric: items.map(|item| item.text.clone()).collect(),
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
pub(super) struct PolicyCheck {
    pub(super) check: &'static str,
    /// `passed`, `info`, `warning` or `failed`.
    pub(super) result: &'static str,
    pub(super) findings: Vec<PolicyFinding>,
}

/// What a rule found.
#[derive(Debug, Serialize)]
pub(super) struct PolicyFinding {
    pub(super) code: String,
    /// `fail`, `warn` or `info`.
    pub(super) weight: &'static str,
    /// Relative to the task; empty for the whole task.
    pub(super) file: String,
    pub(super) line: Option<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
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
pub(super) fn policy(findings: &[Finding], faults: &[Fault], task: &Task) -> Vec<PolicyCheck> {
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
    let of_drafting = faults.iter().map(|fault| PolicyFinding {
        code: fault.code.clone(),
        weight: "warn",
        file: String::new(),
        line: None,
        message: fault.message.clone(),
        hint: None,
    });
    let mut checks: Vec<PolicyCheck> = GROUPS
        .iter()
        .map(|(check, _)| PolicyCheck { check, result: "passed", findings: Vec::new() })
        .collect();
    for finding in of_rules.chain(of_drafting) {
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
