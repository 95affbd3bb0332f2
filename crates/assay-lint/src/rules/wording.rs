//! The wording of descriptions. Advice: no client checks it.

use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Info, Warning};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;
use assay_diagnostic::group_digits;

pub(super) struct Wording;

const ADVICE: Severities = Severities::all(Info);

const RULES: &[Rule] = &[
    rule!(
        "description-short",
        Severities::all(Warning),
        [36, 37, 128],
        "agnix, NVIDIA",
        "a description of fewer than 20 characters or 4 words",
        "Say what the skill does and when to use it, in the words that users would use."
    ),
    rule!(
        "description-when",
        ADVICE,
        [35, 129],
        "specification; agnix, NVIDIA",
        "a description that does not say when to use the skill",
        "Add a phrase such as `Use when …`."
    ),
    rule!(
        "description-person",
        ADVICE,
        [80, 130],
        "Anthropic's authoring guidance; agnix",
        "a description in the first or second person",
        "Write in the third person: `Extracts tables from PDF files.`"
    ),
    rule!(
        "description-name",
        ADVICE,
        [36, 37],
        "assay",
        "a description that only repeats the name",
        "Say what the skill does and when to use it, instead of repeating its name."
    ),
];

/// Words that mark a time or occasion. Matched at word boundaries, in lower case.
const WHEN: [&str; 26] = [
    "when",
    "whenever",
    "use for",
    "used for",
    "use to",
    "use this",
    "use it",
    "use if",
    "trigger",
    "triggers",
    "invoke",
    "activate",
    "activates",
    "if the user",
    "if you",
    "for tasks",
    "before",
    "after",
    "while",
    "during",
    "asks",
    "asked",
    "mentions",
    "use proactively",
    "use on",
    "use with",
];

impl Family for Wording {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        let Some(text) = skill.field("description").and_then(|(_, node)| node.text()) else { return };
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let at = skill.place("description");
        let words = words(text);
        let length = text.chars().count();
        // Writing systems without spaces need fewer characters.
        let spaced = text.is_ascii();
        if spaced && (length < 20 || words.len() < 4) {
            findings
                .add(
                    "description-short",
                    skill,
                    &at,
                    format!(
                        "description has {} characters and {} words",
                        group_digits(length),
                        group_digits(words.len())
                    ),
                )
                .hint("say what the skill does and when to use it, in the words that users would use");
        }
        let name = skill.field("name").and_then(|(_, node)| node.text()).unwrap_or("");
        let in_name: Vec<String> = self::words(&name.replace(['-', '_'], " "));
        if !in_name.is_empty()
            && words.iter().all(|word| in_name.contains(word) || FILLERS.contains(&word.as_str()))
        {
            findings
                .add("description-name", skill, &at, "the description only repeats the name")
                .hint("say what the skill does and when to use it");
        }
        let joined = format!(" {} ", words.join(" "));
        let when_field = skill.field("when_to_use").is_some();
        if spaced && !when_field && !WHEN.iter().any(|phrase| joined.contains(&format!(" {phrase} "))) {
            findings
                .add("description-when", skill, &at, "the description does not say when to use the skill")
                .hint("add a phrase such as `Use when …`");
        }
        let first = words.first().map_or("", String::as_str);
        let person = ["i", "we", "my", "our", "i'll", "we'll", "i'm"].contains(&first)
            || [
                " i can ",
                " i will ",
                " i help ",
                " we can ",
                " we help ",
                " you can use this ",
                " helps you ",
                " help you ",
                " your ",
            ]
            .iter()
            .any(|phrase| joined.contains(phrase) && !joined.contains(" use when you"));
        if person {
            findings
                .add("description-person", skill, &at, "the description is in the first or second person")
                .hint("write in the third person: `Extracts tables from PDF files.`");
        }
    }
}

/// Words that add nothing.
const FILLERS: [&str; 8] = ["a", "an", "the", "skill", "for", "of", "and", "to"];

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
