//! Solutions with a hard-coded answer.

use std::collections::BTreeSet;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::literal;
use crate::check::rule::TaskRule;
use crate::check::shell;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "answer-hard-coded",
    levels: "warn, info",
    summary: "a solution that only writes what the tests expect, instead of computing it",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let Some(solve) = subject.solution.iter().find(|text| text.name() == "solve.sh") else { return };
    if subject.solution.iter().any(|text| text.is_code() && text.file != solve.file) {
        return;
    }
    let pipelines = shell::script(&solve.text);
    let works = pipelines
        .iter()
        .flat_map(|pipeline| &pipeline.commands)
        .any(|words| !WRITES.contains(&words[0].rsplit('/').next().unwrap_or_default()));
    // It may write a program, and then writing is the work.
    if works || pipelines.is_empty() || writes_a_program(solve) {
        return;
    }
    let expected: BTreeSet<&str> = subject
        .tests
        .iter()
        .flat_map(|text| literal::literals(&text.text))
        .take(MOST)
        .map(|literal| literal.value.trim_end_matches("\\n"))
        .filter(|value| value.chars().count() >= 3 && !subject.is_shown_to_agent(value))
        .collect();
    let same =
        solve.lines().filter(|(_, there)| !there.trim_start().starts_with('#')).find_map(|(line, there)| {
            let value = expected.iter().find(|value| is_answer(value) && writes_value(there, value))?;
            Some((line, *value))
        });
    let hint = "compute the answer from the inputs, so that the solution proves the task solvable";
    let shown = pipelines.iter().any(|pipeline| pipeline.line > 0) && is_shown(subject, solve);
    if let Some((line, value)) = same {
        let short: String = value.chars().take(40).collect();
        let message = format!("only writes what the tests expect: `{short}`");
        found.push(Finding::new(Severity::Warning, RULE.code, &solve.file, message, hint).at(line));
    } else if !shown {
        let message = format!("only writes text ({} bytes): nothing is computed", solve.text.len());
        found.push(Finding::new(Severity::Info, RULE.code, &solve.file, message, hint).at(1));
    }
}

/// Commands that put text into files, and those that change nothing.
const WRITES: [&str; 24] = [
    "echo", "printf", "cat", "tee", "mkdir", "cd", "set", "export", "true", ":", "exit", "touch", "chmod",
    "fi", "done", "esac", "[", "[[", "test", "shopt", "umask", "EOF", "pwd", "}",
];

/// Whether a literal can be an answer: not a path, not an option, not a single function word.
fn is_answer(value: &str) -> bool {
    !value.contains('/')
        && !value.starts_with('-')
        && value.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

/// Whether the instruction contains all that the solution writes: then writing it is the task.
fn is_shown(subject: &Subject<'_>, solve: &Text) -> bool {
    let literals = literal::literals(&solve.text);
    !literals.is_empty()
        && literals.iter().all(|literal| {
            literal.value.contains('/') || subject.is_shown_to_agent(literal.value.trim_end_matches("\\n"))
        })
}

/// Whether a line of a solution writes a text as an answer: as its only output, or as a number or a
/// sentence within it. A single word within a line may be grammar of the output format.
fn writes_value(line: &str, value: &str) -> bool {
    let bare = line.trim();
    let bare = ["echo -n ", "echo -e ", "echo ", "printf "]
        .iter()
        .find_map(|echo| bare.strip_prefix(echo))
        .unwrap_or(bare);
    let bare =
        bare.split(" >").next().unwrap_or_default().trim().trim_matches(['"', '\'']).trim_end_matches("\\n");
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_');
    let number = value.chars().filter(char::is_ascii_digit).count() >= 4
        && value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'));
    bare == value
        || number
            && line
                .split(|c: char| !part(c))
                .any(|token| token.trim_matches('.') == value.trim_start_matches('-'))
        || value.split_whitespace().count() >= 3 && line.contains(value)
}

/// Whether a solution writes a file that is a program by its ending.
fn writes_a_program(solve: &Text) -> bool {
    const PROGRAMS: &str = " py js ts jsx tsx mjs cjs sh bash rb pl pm go rs c cc cpp h hpp java kt swift scala r jl lua sql php cs lean v \
        hs ml ex exs clj dart m f90 html css vue svelte tex dockerfile makefile rules patch diff ipynb ";
    solve.lines().any(|(_, there)| {
        let target = there
            .split_once('>')
            .map_or_else(|| there.split_once("tee ").map(|(_, to)| to), |(_, to)| Some(to));
        target.is_some_and(|to| {
            let path = to.trim_start_matches('>').trim_start().trim_start_matches(['"', '\'']);
            let path = path
                .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | ')'))
                .next()
                .unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
            let ending = name.rsplit('.').next().unwrap_or_default();
            !ending.is_empty() && PROGRAMS.contains(&format!(" {ending} "))
        })
    })
}

/// Most literals of tests that are searched for.
const MOST: usize = 2_000;
