//! `name`.

use assay_diagnostic::group_digits;
use unicode_normalization::UnicodeNormalization;

use assay_skill::NAME_LIMIT;
use assay_syntax::yaml::{Kind, Node, Scalar, Style};

use crate::client::Client::{ClaudeCode, Codex, GeminiCli, Lenient, OpenCode, SkillsRef, Spec, Upload};
use crate::client::agents_slug;
use crate::diagnostic::Severity::{Error, Info, Warning};
use crate::diagnostic::{Edit, Fix, Severities};
use crate::rule::{Family, Findings, Rule};
use crate::skill::Skill;

pub(super) struct Name;

/// Clients that check the format of a name, and the guide, which warns. OpenCode documents a
/// pattern but does not enforce it.
const FORM: Severities =
    Severities::none().with(Error, &[Spec, SkillsRef, Upload]).with(Warning, &[OpenCode, Lenient]);

const RULES: &[Rule] = &[
    Rule {
        code: "name-missing",
        severities: Severities::all(Error).with(Warning, &[ClaudeCode, Codex, Lenient]),
        about: "`name` is missing",
        fix: "Add a `name:` line with the folder's name. `--fix` does this.",
        source: "specification, skills-ref, quick_validate, the agents' sources",
        numbers: &[16, 85, 105],
    },
    Rule {
        code: "name-empty",
        severities: Severities::all(Warning).with(Error, &[Spec, SkillsRef]),
        about: "`name` is empty or blank",
        fix: "Set it to the folder's name.",
        source: "specification, skills-ref",
        numbers: &[17, 19],
    },
    Rule {
        code: "name-type",
        severities: Severities::all(Error).with(Warning, &[Spec, SkillsRef, ClaudeCode, GeminiCli, Lenient]),
        about: "a standard YAML parser does not read `name` as a string",
        fix: "Write the name as a single string, quoted if it looks like a number.",
        source: "quick_validate, YAML",
        numbers: &[28],
    },
    Rule {
        code: "name-length",
        severities: FORM.with(Error, &[Codex]),
        about: "`name` has more than 64 characters",
        fix: "Shorten the name to 64 characters, and the folder's name with it.",
        source: "specification, skills-ref, Codex, OpenCode",
        numbers: &[18, 105, 122],
    },
    Rule {
        code: "name-case",
        severities: FORM,
        about: "`name` is not lowercase",
        fix: "Write the name in lowercase. `--fix` does this if the folder already has that name.",
        source: "specification, skills-ref, quick_validate",
        numbers: &[20, 75, 122],
    },
    Rule {
        code: "name-characters",
        severities: FORM,
        about: "`name` contains characters other than letters, digits and hyphens",
        fix: "Use only a to z, 0 to 9 and single hyphens.",
        source: "specification, skills-ref, quick_validate",
        numbers: &[21, 22, 75, 122],
    },
    Rule {
        code: "name-not-ascii",
        severities: FORM.without(&[SkillsRef]),
        about: "`name` contains letters or digits other than a to z and 0 to 9, which the specification forbids and skills-ref allows",
        fix: "Use only a to z, 0 to 9 and hyphens.",
        source: "specification, quick_validate",
        numbers: &[21, 75, 122],
    },
    Rule {
        code: "name-hyphens",
        severities: FORM,
        about: "`name` starts or ends with a hyphen, or contains two in a row",
        fix: "Use single hyphens between words.",
        source: "specification, skills-ref, quick_validate",
        numbers: &[23, 24, 25, 122],
    },
    Rule {
        code: "name-directory",
        severities: Severities::none().with(Error, &[Spec, SkillsRef]).with(Warning, &[OpenCode, Lenient]),
        about: "`name` differs from the folder's name",
        fix: "Give the folder and `name` the same name.",
        source: "specification, skills-ref; VS Code",
        numbers: &[26, 57, 120],
    },
    Rule {
        code: "name-normalization",
        severities: Severities::all(Warning),
        about: "`name` changes under NFKC normalization: skills-ref and other clients may compare it differently",
        fix: "Use only a to z, 0 to 9 and hyphens.",
        source: "skills-ref",
        numbers: &[27],
    },
    Rule {
        code: "name-reserved",
        severities: Severities::none().with(Warning, &[Upload]),
        about: "`name` contains a word that Anthropic's platform reserves",
        fix: "Name the skill after what it does, without the reserved word.",
        source: "Anthropic's platform (no validator checks it)",
        numbers: &[78],
    },
    Rule {
        code: "name-vague",
        severities: Severities::all(Info),
        about: "`name` does not describe what the skill does",
        fix: "Name the skill after what it does, for example `pdf-forms`.",
        source: "agnix, NVIDIA, Cisco",
        numbers: &[131],
    },
];

/// Names, or last words of names, that fit any skill.
const VAGUE: [&str; 12] = [
    "helper", "helpers", "util", "utils", "tool", "tools", "misc", "skill", "my-skill", "common", "general",
    "stuff",
];

impl Family for Name {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        if skill.yaml.root.is_none() {
            return;
        }
        let Some((_, node)) = skill.field("name") else {
            findings
                .add(
                    "name-missing",
                    skill,
                    &skill.fence(),
                    "missing `name`; some clients use the folder's name instead",
                )
                .hint("add a `name:` line with the folder's name")
                .fix(insert(skill));
            return;
        };
        let at = skill.place("name");
        let Some(text) = node.text() else {
            if node.kind != Kind::Alias {
                findings
                    .add("name-type", skill, &at, "`name` is a list or a mapping, not a string")
                    .severities(Severities::all(Error).with(Warning, &[ClaudeCode, GeminiCli]))
                    .hint("write it as a single string");
            }
            return;
        };
        typed(skill, node, text, findings);
        let name = text.trim();
        if name.is_empty() {
            if node.type_1_1() == Some(Scalar::Text) {
                findings.add("name-empty", skill, &at, "`name` is empty").hint("set it to the folder's name");
            }
            return;
        }
        form(skill, name, findings);
        let lower = name.to_lowercase();
        if let Some(word) = ["anthropic", "claude"].into_iter().find(|word| lower.contains(word)) {
            findings
                .add(
                    "name-reserved",
                    skill,
                    &at,
                    format!("`name` contains `{word}`, which the platform reserves"),
                )
                .hint("name it after what it does");
        }
        if VAGUE.contains(&lower.as_str()) {
            findings
                .add("name-vague", skill, &at, format!("`{name}` could be the name of any skill"))
                .hint("name it after what it does, for example `pdf-forms`");
        }
    }
}

fn typed(skill: &Skill, node: &Node, text: &str, findings: &mut Findings) {
    let (old, new) = (node.type_1_1(), node.type_1_2());
    let Some(type_) = old.filter(|&old| old != Scalar::Text).or(new.filter(|&new| new != Scalar::Text))
    else {
        return;
    };
    let at = skill.place("name");
    let mut severities = RULES[2].severities;
    if text.is_empty() {
        findings
            .add("name-empty", skill, &at, "`name` has no value")
            .severities(Severities::all(Error).with(Warning, &[ClaudeCode, Codex, Lenient]))
            .hint("set it to the folder's name");
        return;
    }
    if new == Some(Scalar::Text) {
        severities = severities.with(Warning, &[Codex, OpenCode]);
    }
    findings
        .add(
            "name-type",
            skill,
            &at,
            format!("`{text}` is parsed as {} by a standard YAML parser", type_.word()),
        )
        .severities(severities)
        .hint("quote it");
}

/// The types of a plain scalar in YAML 1.1 and 1.2.
fn types(plain: &str) -> (Option<Scalar>, Option<Scalar>) {
    let kind = Kind::Scalar { text: plain.to_owned(), style: Style::Plain };
    let node = Node { kind, span: 0..plain.len() };
    (node.type_1_1(), node.type_1_2())
}

fn form(skill: &Skill, name: &str, findings: &mut Findings) {
    let at = skill.place("name");
    let normal: String = name.nfkc().collect();
    let length = normal.chars().count();
    if length > NAME_LIMIT {
        findings
            .add(
                "name-length",
                skill,
                &at,
                format!("name has {} characters (limit {})", group_digits(length), group_digits(NAME_LIMIT)),
            )
            .hint("shorten it, and rename the folder to match");
    }
    if normal != name {
        findings
            .add(
                "name-normalization",
                skill,
                &at,
                format!("`{name}` becomes `{normal}` under NFKC normalization"),
            )
            .hint("use only a to z, 0 to 9 and hyphens");
    }
    let lower = normal.to_lowercase();
    if lower != normal {
        findings
            .add("name-case", skill, &at, format!("`{normal}` is not lowercase"))
            .hint(slug(&normal).map_or_else(
                || "use only lowercase letters, digits and single hyphens".to_owned(),
                |slug| format!("write `{slug}`"),
            ))
            .fix(lowered(skill, name, &lower));
    }
    let strange: Vec<String> =
        normal.chars().filter(|&c| c != '-' && !c.is_alphanumeric()).map(|c| format!("`{c}`")).collect();
    if !strange.is_empty() {
        let mut shown = strange.clone();
        shown.dedup();
        findings
            .add("name-characters", skill, &at, format!("`name` contains {}", shown.join(", ")))
            .hint("use only letters, digits and single hyphens");
    } else if !normal.is_ascii() || (normal != name && !name.is_ascii()) {
        findings
            .add(
                "name-not-ascii",
                skill,
                &at,
                format!("`{name}` contains letters or digits other than a to z and 0 to 9"),
            )
            .hint("use only a to z, 0 to 9 and hyphens");
    }
    if normal.starts_with('-') || normal.ends_with('-') || normal.contains("--") {
        findings
            .add("name-hyphens", skill, &at, "`name` starts or ends with a hyphen, or contains two in a row")
            .hint("use single hyphens between words");
    }
    let directory: String = skill.directory().nfkc().collect();
    if directory != normal {
        findings
            .add(
                "name-directory",
                skill,
                &at,
                format!("`name` is `{name}`, but the folder is named `{}`", skill.directory()),
            )
            .hint("use the same name for both");
    }
}

/// The nearest valid name: lowercase, with single hyphens for other characters. `None` if nothing
/// valid is left, or letters outside of a to z would be lost.
fn slug(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    if lower.chars().any(|c| c.is_alphanumeric() && !c.is_ascii()) {
        return None;
    }
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    Some(words.join("-")).filter(|slug| agents_slug(slug))
}

/// The fix that uses the folder's name, if it differs only in case.
fn lowered(skill: &Skill, name: &str, lower: &str) -> Option<Fix> {
    let (_, node) = skill.field("name")?;
    let safe = agents_slug(lower) && types(lower) == (node.type_1_1(), node.type_1_2());
    (skill.directory() == lower && safe && node.span.len() == name.len()).then(|| Fix {
        title: "change it to the folder's name".to_owned(),
        edits: vec![Edit { range: node.span.clone(), text: lower.to_owned() }],
    })
}

/// A first line with the folder's name.
fn insert(skill: &Skill) -> Option<Fix> {
    let document = skill.document.as_ref()?;
    let fence = document.fence.as_ref().filter(|fence| fence.closed)?;
    let known = !skill.yaml.fields().is_empty() && document.trouble.is_none();
    let is_text = types(skill.directory()) == (Some(Scalar::Text), Some(Scalar::Text));
    (known && agents_slug(skill.directory()) && is_text).then(|| Fix {
        title: "add `name` with the folder's name".to_owned(),
        edits: vec![Edit {
            range: fence.inside.start..fence.inside.start,
            text: format!("name: {}\n", skill.directory()),
        }],
    })
}
