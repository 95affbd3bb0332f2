//! Instructions that do not state where the result belongs.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-output-path",
    levels: "warn",
    summary: "an instruction without the path of the result",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let any = subject.instructions.iter().any(|text| {
        !mention::mentions(&text.text).is_empty() || text.text.contains('`') && text.text.contains('/')
    });
    if any || !subject.is_english() || subject.instructions.iter().all(|text| text.text.trim().is_empty()) {
        return;
    }
    // A task may only ask for an answer.
    if ["final message", "last message", "answer", "reply"]
        .iter()
        .any(|word| subject.instruction_contains(word))
    {
        return;
    }
    let hint = "state the path of the file that is checked";
    let message = "the path of the result is not specified";
    found.push(Finding::new(Severity::Warning, RULE.code, subject.instruction_file(), message, hint));
}
