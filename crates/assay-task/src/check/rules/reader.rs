//! Leniencies of the task's reader.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "structure",
    levels: "fail, warn, info",
    summary: "problems found while reading the task, each with its own code: missing parts, unknown keys, links that leave the task, skills baked into the image",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    // Requests that no sandbox can meet are a separate rule.
    let elsewhere = ["gpus", "windows"];
    let own = subject.task.diagnostics.iter().filter(|said| !elsewhere.contains(&said.code));
    found.extend(own.map(|said| {
        let mut finding = Finding::from(said);
        if NAMES.contains(&said.code) {
            finding.severity = finding.severity.min(Severity::Info);
        }
        finding
    }));
    if found.is_empty() && subject.instructions.is_empty() {
        let hint = "write instruction.md, or one per step";
        found.push(Finding::new(Severity::Error, RULE.code, &subject.task.root, "no instruction", hint));
    }
}

/// Diagnostics about the names of a task's skills: `assay lint` reports these, because they do not
/// affect a trial.
const NAMES: [&str; 2] = ["name-characters", "name-directory"];
