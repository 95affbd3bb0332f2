//! Instructions that do not state the format of the result.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-format",
    levels: "warn",
    summary: "an instruction without the format of the result: no format, columns, keys, example, or file extension",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if subject.instructions.is_empty() || !subject.is_english() {
        return;
    }
    let said = subject.instructions.iter().any(|text| {
        let lower = text.text.to_lowercase();
        text.text.contains("```")
            || WORDS.iter().any(|word| lower.contains(word))
            || mention::mentions(&text.text).iter().any(|mention| mention::extension(&mention.path).is_some())
    });
    if !said {
        let hint = "describe the result: format, columns, keys, units, an example";
        let message = "the format of the result is not specified";
        found.push(Finding::new(Severity::Warning, RULE.code, subject.instruction_file(), message, hint));
    }
}

/// Words that describe a format.
const WORDS: [&str; 16] = [
    "format",
    "column",
    "header",
    "json",
    "csv",
    "field",
    "schema",
    "markdown",
    "one line",
    "per line",
    "keys",
    "layout",
    "a single",
    "followed by",
    "decimal",
    "sorted",
];
