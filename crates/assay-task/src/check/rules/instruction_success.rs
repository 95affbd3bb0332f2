//! Instructions that do not state when the work is done.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-success",
    levels: "warn",
    summary: "an instruction without success criteria",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if subject.instructions.is_empty() || !subject.is_english() {
        return;
    }
    let said = subject.instructions.iter().any(|text| {
        let lower = text.text.to_lowercase();
        WORDS.iter().any(|word| lower.contains(word))
    });
    if !said {
        let hint = "state the criteria: what must exist, with what content, and what must not change";
        let message = "no success criteria";
        found.push(Finding::new(Severity::Warning, RULE.code, subject.instruction_file(), message, hint));
    }
}

/// Words that describe an end.
const WORDS: [&str; 31] = [
    "must",
    "should",
    "exactly",
    "only",
    "has to",
    "have to",
    "so that",
    "ensure",
    "make sure",
    "at least",
    "at most",
    "required",
    "every",
    "each",
    "all ",
    "write",
    "save",
    "put",
    "leave",
    "create",
    "produce",
    "pass",
    "without",
    "correct",
    "fix",
    "answer",
    "implement",
    "generate",
    "output",
    "return",
    "report",
];
