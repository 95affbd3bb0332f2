//! Paths that tests read and that the instruction does not mention.

use std::collections::BTreeMap;
use std::path::Path;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "path-unmentioned",
    levels: "warn",
    summary: "an absolute path that the tests read, and that neither the instruction nor the environment mentions",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let workdir = subject.task.environment.dockerfile.as_ref().map(|file| file.workdir.clone());
    let copied: Vec<String> = subject
        .task
        .environment
        .dockerfile
        .iter()
        .flat_map(|file| &file.copies)
        .map(|copy| copy.target.to_string_lossy().into_owned())
        .collect();
    let mut paths: BTreeMap<String, (&Text, usize)> = BTreeMap::new();
    for text in subject.tests.iter().filter(|text| text.is_code()) {
        for (line, there) in text.lines() {
            let trimmed = there.trim_start();
            if trimmed.starts_with('#') || trimmed.starts_with("//") {
                continue;
            }
            let absolute = mention::mentions(there).into_iter().filter(|found| found.path.starts_with('/'));
            for found in absolute {
                if paths.len() < MOST {
                    paths.entry(found.path).or_insert((text, line));
                }
            }
        }
    }
    for (path, (text, line)) in paths {
        let inside = workdir.as_ref().and_then(|dir| Path::new(&path).strip_prefix(dir).ok());
        let relative = inside.and_then(Path::to_str).filter(|rest| !rest.is_empty()).map(str::to_owned);
        let own = SYSTEM.iter().any(|system| path == *system || path.starts_with(&format!("{system}/")))
            || path.contains("/.")
            || inside.is_some_and(|rest| rest.as_os_str().is_empty());
        let name = mention::name(&path);
        let told = subject.is_shown_to_agent(&path)
            || relative.as_ref().is_some_and(|rest| subject.instruction_contains(rest))
            || subject.is_shown_to_agent(name)
            || subject.finds(name)
            || copied.iter().any(|target| Path::new(target).starts_with(&path));
        if !own && !told {
            let message = format!("the tests read {path}, which the instruction never mentions");
            let hint = "state the path of the result in the instruction";
            found.push(Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(line));
        }
    }
}

/// Folders that are the system's or the verifier's.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc",
    "/dev",
    "/proc",
    "/sys",
    "/run",
    "/opt",
    "/tmp",
    "/var",
    "/logs",
    "/tests",
    "/solution",
    "/verifier",
    "/n",
    "/root/.local",
    "/oracle",
];

/// Most paths that are searched for.
const MOST: usize = 300;
