//! Packages without a fixed version.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::shell::{self, Pipeline};
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "dependency-unpinned",
    levels: "warn, info",
    summary: "packages without a version: pip, uv, npm and requirements files (warn; info if bounded), apt (info)",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let hint = "pin the version, so that results stay comparable over time";
    for (text, pipelines) in scripts(subject) {
        for pipeline in &pipelines {
            for command in &pipeline.commands {
                let (level, loose) = unpinned(command);
                if !loose.is_empty() {
                    let level = level.min(weight(&loose));
                    let message = message(&loose);
                    found.push(Finding::new(level, RULE.code, &text.file, message, hint).at(pipeline.line));
                }
            }
        }
    }
    let listed = subject.environment.iter().chain(&subject.tests).chain(&subject.solution);
    for text in listed.filter(|text| text.name().starts_with("requirements") && text.extension() == "txt") {
        for (line, there) in text.lines() {
            let package = there.split('#').next().unwrap_or_default().trim();
            let package = package.split(';').next().unwrap_or_default().trim();
            if !package.is_empty() && !package.starts_with('-') && !is_pinned(package) {
                let message = message(&[package]);
                let level = weight(&[package]);
                found.push(Finding::new(level, RULE.code, &text.file, message, hint).at(line));
            }
        }
    }
}

/// Every script that a task runs: its shell scripts and its Dockerfile.
pub(super) fn scripts<'s>(subject: &'s Subject<'_>) -> Vec<(&'s Text, Vec<Pipeline>)> {
    let mut found: Vec<(&Text, Vec<Pipeline>)> = subject
        .environment
        .iter()
        .filter(|text| text.name() == "Dockerfile")
        .map(|text| (text, shell::dockerfile(&text.text)))
        .collect();
    let shells = subject.tests.iter().chain(&subject.solution).filter(|text| text.is_shell());
    found.extend(shells.map(|text| (text, shell::script(&text.text))));
    found
}

/// The packages of a command that have no version, and how much that weighs.
fn unpinned(command: &[String]) -> (Severity, Vec<&str>) {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    let pip = |program: &str| program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "pip";
    let python = program.starts_with("python");
    match words.as_slice() {
        [_, "install", rest @ ..] if pip(program) => (Severity::Warning, unpinned_words(rest, is_pinned)),
        [_, "-m", "pip", "install", rest @ ..] if python => {
            (Severity::Warning, unpinned_words(rest, is_pinned))
        }
        ["uv", "pip" | "tool", "install", rest @ ..] | ["uv", "add", rest @ ..] => {
            (Severity::Warning, unpinned_words(rest, is_pinned))
        }
        ["uvx" | "uv", rest @ ..] => {
            let with = rest.windows(2).filter(|pair| matches!(pair[0], "-w" | "--with")).map(|pair| pair[1]);
            (Severity::Warning, with.filter(|package| !is_pinned(package)).collect())
        }
        ["npm", "install" | "i" | "add", rest @ ..] | ["yarn" | "pnpm", "add", rest @ ..] => (
            Severity::Warning,
            unpinned_words(rest, |package| package.get(1..).is_some_and(|rest| rest.contains('@'))),
        ),
        ["apt-get" | "apt", rest @ ..] if rest.contains(&"install") => {
            let after = rest.iter().position(|word| *word == "install").map_or(rest, |at| &rest[at + 1..]);
            (Severity::Info, unpinned_words(after, |package| package.contains('=')))
        }
        _ => (Severity::Info, Vec::new()),
    }
}

/// Options of installers that take the next word.
const TAKES: [&str; 40] = [
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "-t",
    "--target",
    "--prefix",
    "-o",
    "--python",
    "-p",
    "-e",
    "--editable",
    "--timeout",
    "--default-timeout",
    "--retries",
    "--trusted-host",
    "--proxy",
    "--cache-dir",
    "--root",
    "--log",
    "--platform",
    "--python-version",
    "--implementation",
    "--abi",
    "--progress-bar",
    "--only-binary",
    "--no-binary",
    "--src",
    "--cert",
    "--registry",
    "--index",
    "--target-release",
    "--option",
    "--config-settings",
    "--report",
];

fn unpinned_words<'w>(words: &[&'w str], pinned: impl Fn(&str) -> bool) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if TAKES.contains(word) {
            words.next();
            continue;
        }
        let other = word.starts_with(['-', '.', '/', '$', '>', '<'])
            || word.contains(['>', '<']) && word.starts_with(|c: char| c.is_ascii_digit())
            || matches!(*word, "pip" | "setuptools" | "wheel")
            || matches!(word.rsplit('.').next(), Some("whl" | "gz" | "zip"))
            || word.starts_with("git+") && word.contains('@');
        if !other && !pinned(word) {
            found.push(*word);
        }
    }
    found
}

/// Whether a package has bounds, and no exact version.
fn is_bounded(package: &str) -> bool {
    package.contains(['<', '>', '~', '!', '^'])
}

/// Bounds are a deliberate choice.
fn weight(loose: &[&str]) -> Severity {
    if loose.iter().all(|package| is_bounded(package)) { Severity::Info } else { Severity::Warning }
}

/// `no version` for a package without one, `no exact version` for one with bounds.
fn message(loose: &[&str]) -> String {
    let (bounded, bare): (Vec<&str>, Vec<&str>) = loose.iter().partition(|package| is_bounded(package));
    let part = |what: &str, packages: &[&str]| format!("{what}: {}", packages.join(", "));
    match (bare.is_empty(), bounded.is_empty()) {
        (_, true) => part("no version", &bare),
        (true, false) => part("no exact version", &bounded),
        (false, false) => format!("{}; {}", part("no version", &bare), part("no exact version", &bounded)),
    }
}

fn is_pinned(package: &str) -> bool {
    package.contains("==") || package.contains(" @ ") || package.contains('$') || package.contains("://")
}
