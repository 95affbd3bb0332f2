//! `description`: presence, type and length.

use assay_diagnostic::group_digits;
use assay_skill::DESCRIPTION_LIMIT;
use assay_syntax::yaml::{Kind, Node, Scalar, Style};

use crate::client::Client::{ClaudeCode, Codex, GeminiCli, Lenient, OpenCode, SkillsRef, Spec, Upload};
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Error, Warning};
use crate::rule::{Family, Findings, Rule};
use crate::skill::Skill;

pub(super) struct Description;

const RULES: &[Rule] = &[
    Rule {
        code: "description-missing",
        severities: Severities::all(Error).with(Warning, &[ClaudeCode, Codex]),
        about: "`description` is missing",
        fix: "Add a `description:` line that says what the skill does and when to use it.",
        source: "specification, skills-ref, quick_validate, the agents' sources",
        numbers: &[29, 58, 85, 106],
    },
    Rule {
        code: "description-empty",
        severities: Severities::all(Error).with(Warning, &[Upload, ClaudeCode, Codex, GeminiCli, OpenCode]),
        about: "`description` is empty or blank",
        fix: "Say what the skill does and when to use it.",
        source: "specification, skills-ref, the implementation guide",
        numbers: &[30, 58, 106],
    },
    Rule {
        code: "description-type",
        severities: Severities::all(Error).with(Warning, &[Spec, SkillsRef, ClaudeCode, GeminiCli, Lenient]),
        about: "`description` is not a string",
        fix: "Write it as a single string, quoted if it looks like a date or a number.",
        source: "skills-ref, quick_validate, the agents' sources",
        numbers: &[32],
    },
    Rule {
        code: "description-length",
        severities: Severities::none()
            .with(Error, &[Spec, SkillsRef, Upload, Codex])
            .with(Warning, &[Lenient]),
        about: "`description` has more than 1,024 characters",
        fix: "Move detail into the body; keep only what the skill does and when to use it.",
        source: "specification, skills-ref, quick_validate, Codex",
        numbers: &[31, 106],
    },
    Rule {
        code: "description-angle",
        severities: Severities::none().with(Error, &[Upload]),
        about: "`description` contains an angle bracket",
        fix: "Remove the angle brackets: clients insert the description between tags in a prompt.",
        source: "quick_validate, Anthropic's platform",
        numbers: &[76, 79],
    },
    Rule {
        code: "description-comment",
        severities: Severities::all(Warning),
        about: "` #` starts a comment and truncates an unquoted description",
        fix: "Quote the description if the text after ` #` belongs to it.",
        source: "YAML",
        numbers: &[33],
    },
    Rule {
        code: "description-cut",
        severities: Severities::none().with(Warning, &[ClaudeCode]),
        about: "`description` and `when_to_use` together are truncated in the listing",
        fix: "Put the words that should trigger the skill first, or shorten the description.",
        source: "Claude Code",
        numbers: &[86, 87],
    },
];

impl Family for Description {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        if skill.yaml.root.is_none() {
            return;
        }
        let Some((_, node)) = skill.field("description") else {
            findings
                .add("description-missing", skill, &skill.fence(), "missing `description`")
                .hint("add a `description:` line that says what the skill does and when to use it");
            return;
        };
        let at = skill.place("description");
        let Some(text) = node.text() else {
            if node.kind != Kind::Alias {
                findings
                    .add("description-type", skill, &at, "`description` is a list or a mapping, not a string")
                    .severities(Severities::all(Error).with(Warning, &[ClaudeCode, GeminiCli]))
                    .hint("write it as a single string");
            }
            return;
        };
        if text.trim().is_empty() || node.type_1_1() == Some(Scalar::Null) {
            let last = findings
                .add("description-empty", skill, &at, "`description` is empty")
                .hint("say what the skill does and when to use it");
            if node.type_1_1() == Some(Scalar::Null) {
                last.severities(Severities::all(Error).with(Warning, &[ClaudeCode, Codex]));
            }
            return;
        }
        let types = (node.type_1_1(), node.type_1_2());
        if types != (Some(Scalar::Text), Some(Scalar::Text)) {
            let word = types.0.filter(|&one| one != Scalar::Text).or(types.1).map_or("", Scalar::word);
            findings
                .add(
                    "description-type",
                    skill,
                    &at,
                    format!("`description` is parsed as {word} by a standard YAML parser"),
                )
                .hint("quote it");
        }
        length(skill, text, findings);
        if let Some(c) = text.chars().find(|c| matches!(c, '<' | '>')) {
            findings
                .add("description-angle", skill, &at, format!("`description` contains `{c}`"))
                .hint("remove it: clients insert the description between tags in a prompt");
        }
        comment(skill, node, findings);
    }
}

fn length(skill: &Skill, text: &str, findings: &mut Findings) {
    let at = skill.place("description");
    // A trailing line break of a block counts, as the reference validator counts it.
    let length = text.chars().count();
    if length > DESCRIPTION_LIMIT {
        let message = format!(
            "description has {} characters (limit {})",
            group_digits(length),
            group_digits(DESCRIPTION_LIMIT)
        );
        findings
            .add("description-length", skill, &at, message)
            .hint("move detail into the body; keep only what the skill does and when to use it");
    }
    let when = skill
        .field("when_to_use")
        .and_then(|(_, node)| node.text())
        .map_or(0, |text| text.trim().chars().count());
    let total = text.trim().chars().count() + if when > 0 { when + 3 } else { 0 };
    let limit = crate::client::CLAUDE_LISTING;
    if total > limit {
        findings
            .add(
                "description-cut",
                skill,
                &at,
                format!(
                    "{} characters in the listing, of which only the first {} are shown",
                    group_digits(total),
                    group_digits(limit)
                ),
            )
            .hint("put the words that should trigger the skill first");
    }
}

/// A comment right after a plain description.
fn comment(skill: &Skill, node: &Node, findings: &mut Findings) {
    if !matches!(node.kind, Kind::Scalar { style: Style::Plain, .. }) || node.span.is_empty() {
        return;
    }
    let rest = skill.text().get(node.span.end..).unwrap_or("");
    let line = rest.lines().next().unwrap_or("");
    let cut = line.trim_start();
    if cut.starts_with('#') && line.len() > cut.len() {
        let start = node.span.end + (line.len() - cut.len());
        let message = format!(
            "{} characters after ` #` are a comment, not part of the description",
            cut.chars().count()
        );
        findings
            .add("description-comment", skill, &(start..start + cut.trim_end().len()), message)
            .hint("quote the description if they belong to it");
    }
}
