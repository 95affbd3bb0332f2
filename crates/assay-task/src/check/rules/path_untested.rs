//! Requested files that no test reads.

use std::collections::BTreeSet;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "path-untested",
    levels: "warn",
    summary: "a file that the instruction asks for and no test checks",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if subject.tests.is_empty() {
        return;
    }
    let mut seen = BTreeSet::new();
    for text in &subject.instructions {
        for (line, path) in requested_files(text) {
            let name = mention::name(&path);
            // A file of the environment, or one that the Dockerfile mentions, is an input.
            let is_input =
                subject.finds(name) || subject.environment.iter().any(|file| file.text.contains(name));
            if is_input || !seen.insert(path.clone()) || is_read_by_tests(subject, &path) {
                continue;
            }
            let message = format!("asks for {path}, which no test checks");
            let hint = "test it, or remove it from the instruction";
            found.push(Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(line));
        }
    }
}

/// Verbs by which an instruction requests a file.
const VERBS: [&str; 13] = [
    "write",
    "save",
    "create",
    "produce",
    "generate",
    "store",
    "put",
    "export",
    "output",
    "render",
    "deliver",
    "implement",
    "place",
];

/// Words after which a file is not a result: it is read, an example, or belongs to something else.
const OTHERWISE: [&str; 34] = [
    "from", "given", "input", "inputs", "read", "reads", "using", "use", "based", "load", "of", "like",
    "such", "e.g", "eg", "example", "named", "not", "never", "than", "provided", "existing", "that", "which",
    "when", "if", "run", "runs", "under", "per", "by", "with", "inside", "check",
];

/// Most words between the verb and the file.
const NEAR: usize = 7;

/// The files with an ending that a text asks to be made, with their lines: those that follow a verb
/// of making in the same sentence.
fn requested_files(text: &Text) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    // Words since the verb; `None` without a verb, or if something came between.
    let mut since: Option<usize> = None;
    for (line, there) in text.lines() {
        let start = there.trim_start();
        if start.starts_with("```") {
            fenced = !fenced;
        }
        if fenced
            || start.is_empty()
            || start.starts_with(['-', '*', '#', '|'])
            || start.starts_with(|c: char| c.is_ascii_digit())
        {
            since = None;
        }
        if fenced {
            continue;
        }
        for word in there.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let paths = mention::mentions(word);
            if VERBS.contains(&bare.as_str()) {
                since = Some(0);
            } else if OTHERWISE.contains(&bare.as_str()) || word.starts_with('(') {
                since = None;
            } else if let Some(count) = since {
                since = Some(count + 1).filter(|count| *count <= NEAR || !paths.is_empty());
                let with_ending = paths.into_iter().filter(|path| mention::extension(&path.path).is_some());
                let asked = with_ending.filter(|_| count <= NEAR).map(|path| (line, path.path));
                found.extend(asked);
            }
            if word.ends_with(['.', '!', '?', ';', ':']) && !word.ends_with("to:") && !word.ends_with("at:") {
                since = None;
            }
        }
    }
    found
}

/// Whether a test names a file, or puts its name together from parts.
fn is_read_by_tests(subject: &Subject<'_>, path: &str) -> bool {
    let name = mention::name(path);
    let dotted = format!(".{}", mention::extension(path).unwrap_or_default());
    let made = ["}", "*", "\"", "'", "%s"].iter().any(|before| {
        subject.tests.iter().any(|text| text.is_code() && text.text.contains(&format!("{before}{dotted}")))
    });
    made || subject.tests.iter().any(|text| text.text.contains(name))
}
