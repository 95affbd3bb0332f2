//! Instructions that give a skill away.

use std::collections::BTreeSet;

use crate::check::finding::{Finding, Level};
use crate::check::rules::Rule;
use crate::check::subject::Subject;

pub(super) struct InstructionNamesSkill;

impl Rule for InstructionNamesSkill {
    fn code(&self) -> &'static str {
        "instruction-names-skill"
    }

    fn weighs(&self) -> &'static str {
        "fail, info"
    }

    fn about(&self) -> &'static str {
        "an instruction that names a skill, or says where skills lie: the baseline is told of what it does not have"
    }

    fn look(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        names.extend(subject.skills.iter().map(|skill| skill.name.as_str()));
        names.extend(subject.task.required_skills.iter().map(String::as_str));
        names.extend(subject.context.library.iter().map(|skill| skill.name.as_str()));
        let hint =
            "say what is wanted, not what to use: which skills an agent gets is the condition's business";
        for (text, line, there) in subject.instruction_lines() {
            let lower = there.to_lowercase();
            let told = WORDS.iter().find(|word| lower.contains(**word));
            if let Some(word) = told {
                let message = format!("speaks of skills: `{word}`");
                found.push(Finding::new(Level::Fail, self.code(), &text.file, message, hint).at(line));
            }
            for name in &names {
                if !holds_name(&lower, &name.to_lowercase()) {
                    continue;
                }
                // A plain word such as `pdf` names a thing as well as a skill.
                let plain = !name.contains(['-', '_']);
                let level = if plain && !lower.contains("skill") { Level::Info } else { Level::Fail };
                let message = format!("names the skill `{name}`");
                found.push(Finding::new(level, self.code(), &text.file, message, hint).at(line));
            }
        }
    }
}

/// What is said of skills only.
const WORDS: [&str; 8] = [
    "skill.md",
    "use the skill",
    "use your skill",
    "provided skill",
    "available skill",
    "skills directory",
    "/.claude/skills",
    "skills folder",
];

/// Whether a line holds a name, and not just a part of a longer one.
fn holds_name(line: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty()
        && line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(|c: char| part(c) || c == '.') && !line[at + name.len()..].starts_with(part)
        })
}
