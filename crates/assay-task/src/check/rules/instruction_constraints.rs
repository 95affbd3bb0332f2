//! Instructions that state no constraint.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-constraints",
    levels: "warn",
    summary: "an instruction without constraints: no requirement, limit, prohibition or format",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if subject.instructions.is_empty() || !subject.is_english() {
        return;
    }
    if subject.instructions.iter().any(|text| states_constraint(&text.text)) {
        return;
    }
    let hint =
        "list what the result has to satisfy: limits, precision, what must not change, what is not allowed";
    let message = "no constraints";
    found.push(Finding::new(Severity::Warning, RULE.code, subject.instruction_file(), message, hint));
}

/// Whether a text contains one of the phrases, word by word: `commonly` contains no `only`.
fn states_constraint(text: &str) -> bool {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'"))
        .filter(|word| !word.is_empty())
        .collect();
    let joined = format!(" {} ", words.join(" "));
    PHRASES.iter().any(|phrase| joined.contains(&format!(" {phrase} ")))
}

/// Words by which a text restricts a result: what has to hold of it, how much is allowed, and what
/// is not. Words that only ask for a result, such as `write`, restrict nothing.
const PHRASES: [&str; 76] = [
    "must",
    "mustn't",
    "shall",
    "should",
    "shouldn't",
    "has to",
    "have to",
    "need to be",
    "needs to be",
    "required",
    "requirement",
    "requirements",
    "constraint",
    "constraints",
    "restriction",
    "restrictions",
    "rule",
    "rules",
    "ensure",
    "make sure",
    "be sure",
    "do not",
    "don't",
    "does not",
    "doesn't",
    "not allowed",
    "may not",
    "cannot",
    "can't",
    "can only",
    "may only",
    "never",
    "avoid",
    "without",
    "only",
    "nothing else",
    "no other",
    "no extra",
    "no additional",
    "unchanged",
    "intact",
    "remain",
    "remains",
    "keep",
    "preserve",
    "preserving",
    "respect",
    "exactly",
    "strictly",
    "precisely",
    "at least",
    "at most",
    "no more than",
    "no fewer than",
    "no less than",
    "fewer than",
    "less than",
    "more than",
    "up to",
    "within",
    "limit",
    "limited to",
    "limits",
    "maximum",
    "minimum",
    "tolerance",
    "max",
    "min",
    "rounded",
    "decimal places",
    "sorted",
    "format",
    "formatted",
    "in the form",
    "per line",
    "following structure",
];
