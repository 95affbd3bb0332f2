//! Paths and file names that a skill shares with a task.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::rules::leak_words::Side;
use crate::check::subject::{Subject, Text};
use crate::check::words::is_import;

pub(super) const RULE: TaskRule = TaskRule {
    code: "leak-names",
    levels: "warn, info",
    summary: "paths (warn) and file names (info) that a skill shares with the task; in tests and solution only those not shown to the agent",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for skill in &subject.skills {
        let own = |path: &str| {
            skill.files.iter().any(|file| {
                file.to_str() == Some(path)
                    || file.file_name().and_then(|name| name.to_str()) == Some(mention::name(path))
            })
        };
        let named = mention::all(&skill.texts);
        for (side, texts) in Side::all(subject) {
            let mut compared = 0;
            for (path, (task, line)) in mention::all(texts) {
                let Some((from, at)) = named.get(&path) else { continue };
                compared += 1;
                if compared > MOST {
                    break;
                }
                let shown = side != Side::Instruction
                    && (subject.is_shown_to_agent(&path) || subject.finds(mention::name(&path)));
                let says = |text: &Text, line: usize| {
                    text.text.lines().nth(line.saturating_sub(1)).unwrap_or_default().to_owned()
                };
                let used = is_import(&says(task, line)) || is_import(&says(from, *at));
                if own(&path)
                    || shown
                    || used
                    || is_usual(&path)
                    || leads_to_skills(&path)
                    || SYSTEM.iter().any(|system| path.starts_with(system))
                {
                    continue;
                }
                let level = if path.contains('/') { Severity::Warning } else { Severity::Info };
                let message = format!("the skill `{}` and the {} both name {path}", skill.name, side.word());
                let hint = "a skill should not contain this task's paths";
                let (skill, task) = (from.span(*at, *at), task.span(line, line));
                found.push(Finding::shared(level, RULE.code, message, hint, skill, task));
            }
        }
    }
}

/// Whether a path is common to many tasks: a folder named only after its purpose.
fn is_usual(path: &str) -> bool {
    const USUAL: &str = " app root home workspace work data input inputs output outputs out result results src tests logs tmp config assets \
        files docs report reports ";
    path.split('/')
        .filter(|part| !part.is_empty())
        .all(|part| USUAL.contains(&format!(" {} ", part.to_lowercase())))
}

/// Whether a path leads into a folder of skills: another rule covers a solution's use of those.
fn leads_to_skills(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| matches!(part, "skills" | "skill"))
}

/// Names of one part that are compared.
const MOST: usize = 300;

/// Folders that every system has.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/etc", "/dev", "/proc", "/tmp", "/var", "/opt", "/lib"];
