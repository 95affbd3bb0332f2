//! Reference solutions that need the skills which the image would have brought.

use std::collections::BTreeSet;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "solution-needs-skill",
    levels: "warn, info",
    summary: "a solution that reads or runs files in an agent's skills folder: it shows that the task is solvable with the skills, not without (info: it only looks there)",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    // Where the Dockerfile would have put skills, whatever the name of the folder.
    let baked: BTreeSet<String> = subject
        .task
        .environment
        .skill_copies
        .iter()
        .map(|copy| copy.target.to_string_lossy().trim_end_matches('/').to_owned())
        .filter(|target| target.matches('/').count() >= 2)
        .collect();
    for text in &subject.solution {
        let mut first: Option<(usize, String, bool)> = None;
        for (line, there) in text.lines() {
            let start = there.trim_start();
            if start.starts_with('#') || start.starts_with("//") {
                continue;
            }
            let Some(place) = place_of_skills(there, &baked) else { continue };
            let only_looks = text.is_shell() && only_lists_folder(start);
            if first.as_ref().is_none_or(|(_, _, looked)| *looked && !only_looks) {
                first = Some((line, place, only_looks));
            }
        }
        let Some((line, place, only_looks)) = first else { continue };
        let level = if only_looks { Severity::Info } else { Severity::Warning };
        let message = format!("the solution uses {place}: agents without the skill do not have it");
        let hint = "move what every agent needs out of the skills; otherwise only conditions with the skill can follow the solution";
        found.push(Finding::new(level, RULE.code, &text.file, message, hint).at(line));
    }
}

/// The path into a folder of skills that a line names.
fn place_of_skills(line: &str, baked: &BTreeSet<String>) -> Option<String> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '$' | '{' | '}');
    let tokens = line.split(|c: char| !part(c)).filter(|token| token.contains('/'));
    tokens.into_iter().find_map(|token| {
        let parts: Vec<&str> = token.split('/').collect();
        // An agent's own folder: `.name/skills/…`, or the task's source of them.
        let own = parts.windows(2).any(|pair| {
            let folder = pair[0].len() > 1 && pair[0].starts_with('.') && !pair[0].starts_with("..")
                || pair[0] == "environment";
            folder && matches!(pair[1], "skills" | "skill")
        });
        let known = baked.iter().any(|target| {
            token.strip_prefix(target.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        (own || known).then(|| token.to_owned())
    })
}

/// Whether a line of a shell script only lists a folder.
fn only_lists_folder(line: &str) -> bool {
    ["ls ", "echo ", "[ ", "[[ ", "if [", "test ", "find ", "printf "]
        .iter()
        .any(|start| line.starts_with(start))
}
