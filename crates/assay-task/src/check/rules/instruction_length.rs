//! Instructions that are too short or too long.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-length",
    levels: "warn, info",
    summary: "an instruction of fewer than 8 words, or of more than 1,500",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for text in &subject.instructions {
        let words = count(&text.text);
        if (1..LEAST).contains(&words) {
            let message = format!("{words} words: too short to say what is checked");
            let hint = "state the result, its path and its format";
            found.push(Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(1));
        } else if words > MOST {
            let message = format!("{words} words: too long for most agents to follow");
            let hint = "move data and specifications to files in the environment";
            found.push(Finding::new(Severity::Info, RULE.code, &text.file, message, hint).at(1));
        }
    }
}

/// Fewest words of an instruction.
const LEAST: usize = 8;
/// Most words of an instruction.
const MOST: usize = 1_500;

/// The words of a text; in scripts that do not separate words, such as Chinese, two characters
/// count as one.
fn count(text: &str) -> usize {
    let dense = text
        .chars()
        .filter(|c| ('\u{2e80}'..='\u{9fff}').contains(c) || ('\u{ac00}'..='\u{d7a3}').contains(c));
    text.split_whitespace().count() + dense.count() / 2
}
