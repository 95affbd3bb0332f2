//! Instructions that reveal a skill.

use std::collections::BTreeSet;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-names-skill",
    levels: "fail, info",
    summary: "an instruction that names a skill, asks the agent to use skills, or says where they are: the baseline has none (info, opt-in: an ordinary word that is also a skill's name)",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    names.extend(subject.skills.iter().map(|skill| skill.name.as_str()));
    names.extend(subject.task.required_skills.iter().map(String::as_str));
    names.extend(subject.context.library.iter().map(|skill| skill.name.as_str()));
    let hint = "describe the result, not the means: the condition decides which skills an agent gets";
    for (text, line, there) in subject.instruction_lines() {
        let lower = there.to_lowercase();
        let told = WORDS.iter().find(|word| lower.contains(**word)).map(|word| (*word).to_owned());
        if let Some(phrase) = told.or_else(|| use_of_skills(&lower)) {
            let message = format!("asks the agent to use skills: `{phrase}`");
            found.push(Finding::new(Severity::Error, RULE.code, &text.file, message, hint).at(line));
        }
        for name in &names {
            if !contains_name(&lower, &name.to_lowercase()) {
                continue;
            }
            // A plain word such as `pdf` can mean a thing or a skill.
            let plain = !name.contains(['-', '_']) && !lower.contains("skill");
            if plain && !subject.context.all_rules {
                continue;
            }
            let level = if plain { Severity::Info } else { Severity::Error };
            let message = format!("names the skill `{name}`");
            found.push(Finding::new(level, RULE.code, &text.file, message, hint).at(line));
        }
    }
}

/// Words used of skills only.
const WORDS: [&str; 7] = [
    "skill.md",
    "skills are available",
    "provided skill",
    "available skill",
    "skills directory",
    "/.claude/skills",
    "skills folder",
];

/// Verbs by which an instruction asks the agent to use something.
const USE: [&str; 18] = [
    "use",
    "using",
    "utilize",
    "utilise",
    "utilizing",
    "apply",
    "leverage",
    "invoke",
    "load",
    "consult",
    "follow",
    "activate",
    "employ",
    "call",
    "read",
    "run",
    "execute",
    "rely",
];
/// Skills of people, and of no agent's folder.
const OWN: [&str; 16] = [
    "writing",
    "communication",
    "analytical",
    "analysis",
    "reasoning",
    "programming",
    "coding",
    "research",
    "reading",
    "language",
    "technical",
    "engineering",
    "problem-solving",
    "solving",
    "soft",
    "own",
];
/// Words that end the name of the thing to use.
const ENDS: [&str; 14] =
    ["to", "and", "or", "in", "for", "on", "into", "from", "with", "that", "which", "then", "as", "where"];

/// The words by which a line in lower case asks the agent to use skills, such as `apply the table
/// export skill`. The noun has to follow the verb within a few words of the same phrase; `skills
/// used` counts as well.
fn use_of_skills(lower: &str) -> Option<String> {
    let words: Vec<&str> = lower.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_noun = |word: &str| matches!(word, "skill" | "skills");
    for (at, word) in words.iter().enumerate() {
        if !is_noun(&bare(word)) {
            continue;
        }
        if words.get(at + 1).is_some_and(|next| matches!(bare(next).as_str(), "used" | "invoked" | "applied"))
        {
            let phrase = words[at..at + 2].join(" ");
            return Some(phrase.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
        }
        let own = at > 0 && OWN.contains(&bare(words[at - 1]).as_str());
        for back in 1..=6_usize.min(at) {
            let before = words[at - back];
            let verb = bare(before);
            if USE.contains(&verb.as_str()) && !own {
                let phrase = words[at - back..=at].join(" ");
                return Some(phrase.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
            }
            if ENDS.contains(&verb.as_str()) || before.ends_with(['.', ',', ';', ':', ')']) {
                break;
            }
        }
    }
    None
}

/// Whether a line contains a name that is not part of a longer one.
fn contains_name(line: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty()
        && line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(|c: char| part(c) || c == '.') && !line[at + name.len()..].starts_with(part)
        })
}
