//! Solutions that know the answer.

use std::collections::BTreeSet;

use crate::check::finding::{Finding, Level};
use crate::check::literal;
use crate::check::rules::Rule;
use crate::check::shell;
use crate::check::subject::{Subject, Text};

pub(super) struct AnswerHardCoded;

impl Rule for AnswerHardCoded {
    fn code(&self) -> &'static str {
        "answer-hard-coded"
    }

    fn weighs(&self) -> &'static str {
        "warn, info"
    }

    fn about(&self) -> &'static str {
        "a solution that only writes down what the tests expect, instead of working it out"
    }

    fn look(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let Some(solve) = subject.solution.iter().find(|text| text.name() == "solve.sh") else { return };
        if subject.solution.iter().any(|text| text.is_code() && text.file != solve.file) {
            return;
        }
        let script = shell::script(&solve.text);
        let works = script
            .pipelines
            .iter()
            .flat_map(|pipeline| &pipeline.commands)
            .any(|words| !WRITES.contains(&words[0].rsplit('/').next().unwrap_or_default()));
        // What it writes may be a program that something else runs.
        if works || script.pipelines.is_empty() {
            return;
        }
        let expected: BTreeSet<&str> = subject
            .tests
            .iter()
            .flat_map(|text| literal::literals(&text.text))
            .take(MOST)
            .filter(|literal| literal.value.chars().count() >= 3 && !subject.shows(literal.value))
            .map(|literal| literal.value)
            .collect();
        let same = solve.lines().find_map(|(line, there)| {
            let value = expected
                .iter()
                .find(|value| there.contains(**value) && !there.trim_start().starts_with('#'))?;
            Some((line, *value))
        });
        let hint =
            "work the answer out from the inputs, so that the solution shows that the task can be solved";
        let shown = script.pipelines.iter().any(|pipeline| pipeline.line > 0) && is_shown(subject, solve);
        if let Some((line, value)) = same.filter(|(_, value)| is_answer(value)) {
            let short: String = value.chars().take(40).collect();
            let message = format!("only writes, and what it writes is what the tests expect: `{short}`");
            found.push(Finding::new(Level::Warn, self.code(), &solve.file, message, hint).at(line));
        } else if !shown {
            let message = format!("only writes ({} bytes of text): nothing is worked out", solve.text.len());
            found.push(Finding::new(Level::Info, self.code(), &solve.file, message, hint).at(1));
        }
    }
}

/// Commands that put text into files, and those that change nothing.
const WRITES: [&str; 24] = [
    "echo", "printf", "cat", "tee", "mkdir", "cd", "set", "export", "true", ":", "exit", "touch", "chmod",
    "fi", "done", "esac", "[", "[[", "test", "shopt", "umask", "EOF", "pwd", "}",
];

/// Whether a literal says something: not a path, not an option, not a single word of grammar.
fn is_answer(value: &str) -> bool {
    !value.contains('/')
        && !value.starts_with('-')
        && value.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

/// Whether all that a solution writes stands in the instruction: then to write it is the task.
fn is_shown(subject: &Subject<'_>, solve: &Text) -> bool {
    let literals = literal::literals(&solve.text);
    !literals.is_empty()
        && literals.iter().all(|literal| {
            literal.value.contains('/') || subject.shows(literal.value.trim_end_matches("\\n"))
        })
}

/// Literals of tests that are looked for.
const MOST: usize = 2_000;
