//! The fields and the substitutions of Claude Code.

use assay_syntax::yaml::{Kind, Scalar};

use crate::client::Client::ClaudeCode;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Info, Warning};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;

pub(super) struct Claude;

const OWN: Severities = Severities::none().with(Warning, &[ClaudeCode]);
const ADVICE: Severities = Severities::none().with(Info, &[ClaudeCode]);

const RULES: &[Rule] = &[
    rule!(
        "claude-boolean",
        OWN,
        [90, 91, 140],
        "Claude Code; agnix",
        "a boolean field that is neither true nor false",
        "Write `true` or `false` without quotes."
    ),
    rule!(
        "claude-text",
        OWN,
        [86, 88, 89],
        "Claude Code",
        "a field that must be a string is something else",
        "Write the value as a quoted string."
    ),
    rule!(
        "claude-value",
        OWN,
        [93, 94, 95, 99, 139],
        "Claude Code; agnix",
        "a value that Claude Code does not recognize",
        "Use one of the values that Claude Code documents for the field."
    ),
    rule!(
        "claude-agent",
        OWN,
        [96, 138],
        "Claude Code; agnix",
        "`agent` without `context: fork`",
        "Add `context: fork`, or remove `agent`."
    ),
    rule!(
        "claude-arguments",
        ADVICE,
        [88, 100, 141],
        "Claude Code; agnix",
        "`argument-hint` without arguments in the body, or arguments without `argument-hint`",
        "Add `argument-hint`, so that users see what to pass."
    ),
    rule!(
        "claude-unreachable",
        OWN,
        [142],
        "Claude Code; agnix",
        "neither the user nor the model can invoke the skill",
        "Allow the user or the model to invoke the skill."
    ),
    rule!(
        "claude-hidden",
        ADVICE,
        [90],
        "Claude Code",
        "the model does not see the skill",
        "Remove `disable-model-invocation` if the model should choose the skill."
    ),
    rule!(
        "claude-hooks",
        OWN,
        [97, 145],
        "Claude Code; agnix",
        "`hooks` is not a mapping of known events to lists",
        "Write events such as `PreToolUse`, each with a list of matchers and their hooks."
    ),
    rule!(
        "claude-inline",
        OWN,
        [100, 144],
        "Claude Code; agnix",
        "commands that run while the skill loads, before the model sees it",
        "Have the model run the command, which asks for permission, instead of running it when the skill loads."
    ),
    rule!(
        "claude-substitution",
        OWN,
        [100],
        "Claude Code; agnix",
        "`$1` and similar in the document, which Claude Code replaces with the arguments of a call",
        "Write a backslash before the dollar sign, as in `\\$1`, or move the text to another file of the package: only SKILL.md is rewritten."
    ),
];

/// More inline commands than this are hard to review.
const INLINE: usize = 5;

impl Family for Claude {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        for key in ["disable-model-invocation", "user-invocable"] {
            check_boolean(skill, key, findings);
        }
        check_text(skill, "when_to_use", findings);
        check_text(skill, "argument-hint", findings);
        check_value(skill, "effort", &["low", "medium", "high", "xhigh", "max"], findings);
        check_value(skill, "context", &["fork"], findings);
        check_value(skill, "shell", &["bash", "powershell"], findings);
        check_model(skill, findings);
        if skill.field("agent").is_some() && skill.field("context").is_none() {
            findings
                .add(
                    "claude-agent",
                    skill,
                    &skill.place("agent"),
                    "`agent` has no effect without `context: fork`",
                )
                .hint("add `context: fork`, or remove `agent`");
        }
        check_reachable(skill, findings);
        check_hooks(skill, findings);
        check_arguments(skill, findings);
        check_inline_commands(skill, findings);
        check_substitutions(skill, findings);
    }
}

fn check_boolean(skill: &Skill, key: &str, findings: &mut Findings) {
    let Some((_, node)) = skill.field(key) else { return };
    if node.type_1_2() == Some(Scalar::Bool) || node.type_1_1() == Some(Scalar::Null) {
        return;
    }
    let shown = node.text().unwrap_or("a list or a mapping");
    findings
        .add(
            "claude-boolean",
            skill,
            &skill.place(key),
            format!("`{key}` is `{shown}`, neither true nor false"),
        )
        .hint("write true or false, without quotes");
}

fn check_text(skill: &Skill, key: &str, findings: &mut Findings) {
    let Some((_, node)) = skill.field(key) else { return };
    // The documentation writes `argument-hint: [file]`, which YAML parses as a list and Claude Code
    // shows verbatim.
    let shown = key == "argument-hint" && skill.text()[skill.place(key)].starts_with('[');
    if !shown && matches!(node.kind, Kind::List(_) | Kind::Map(_)) {
        let last = findings.add(
            "claude-text",
            skill,
            &skill.place(key),
            format!("`{key}` is a list or a mapping, not a string"),
        );
        last.hint("quote it, including the brackets");
    }
}

fn check_value(skill: &Skill, key: &str, allowed: &[&str], findings: &mut Findings) {
    let Some((_, node)) = skill.field(key) else { return };
    let text = node.text().map_or("", str::trim);
    if !allowed.contains(&text) {
        findings
            .add(
                "claude-value",
                skill,
                &skill.place(key),
                format!("`{key}` is `{text}`, which Claude Code does not recognize"),
            )
            .hint(format!("write {}", allowed.join(", ")));
    }
}

/// Aliases, and what looks like the id of a model.
fn check_model(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("model") else { return };
    let text = node.text().map_or("", str::trim);
    let alias = ["sonnet", "opus", "haiku", "inherit", "default", "best", "opusplan"];
    let stem = text.trim_end_matches("[1m]");
    if !alias.contains(&stem) && !stem.contains("claude-") {
        findings
            .add(
                "claude-value",
                skill,
                &skill.place("model"),
                format!("`model` is `{text}`, which is neither an alias nor the id of a Claude model"),
            )
            .hint(format!("write {} or a full id, or remove it", alias[..4].join(", ")));
    }
}

fn is(skill: &Skill, key: &str, wanted: &str) -> bool {
    skill.field(key).and_then(|(_, node)| node.text()).is_some_and(|text| text.eq_ignore_ascii_case(wanted))
}

fn check_reachable(skill: &Skill, findings: &mut Findings) {
    let hidden = is(skill, "disable-model-invocation", "true");
    if hidden && is(skill, "user-invocable", "false") {
        findings
            .add(
                "claude-unreachable",
                skill,
                &skill.place("user-invocable"),
                "neither the user nor the model can invoke this skill",
            )
            .hint("allow one of them to");
    } else if hidden {
        findings
            .add(
                "claude-hidden",
                skill,
                &skill.place("disable-model-invocation"),
                "only the user can invoke this skill: the model does not see it",
            )
            .hint("remove it if the model should choose the skill");
    }
}

fn check_hooks(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("hooks") else { return };
    if !matches!(node.kind, Kind::Map(_)) {
        findings
            .add("claude-hooks", skill, &skill.place("hooks"), "`hooks` is not a mapping")
            .hint("write events, each with a list of matchers");
        return;
    }
    for (event, list) in node.entries() {
        let name = event.text().unwrap_or("");
        if !crate::plugin::is_event(name) {
            findings
                .add("claude-hooks", skill, &event.span, format!("`{name}` is not an event of Claude Code"))
                .hint("write an event such as PreToolUse");
        } else if !matches!(list.kind, Kind::List(_)) {
            findings
                .add("claude-hooks", skill, &event.span, format!("the value of `{name}` is not a list"))
                .hint("write a list of matchers with their hooks");
        }
    }
}

/// `$ARGUMENTS`, `$ARGUMENTS[0]`, `$0` and so on.
fn check_arguments(skill: &Skill, findings: &mut Findings) {
    let uses = skill.body().contains("$ARGUMENTS")
        || ["$0", "$1", "$2"].iter().any(|digit| skill.body().contains(digit))
        || skill.field("arguments").is_some();
    let hint = skill.field("argument-hint").is_some();
    if hint && !uses {
        findings
            .add(
                "claude-arguments",
                skill,
                &skill.place("argument-hint"),
                "`argument-hint` is set, but the body uses no arguments",
            )
            .hint("write $ARGUMENTS where they belong; otherwise they are appended at the end");
    }
    if !hint && let Some(at) = skill.body().find("$ARGUMENTS") {
        let at = skill.body_start() + at;
        findings
            .add(
                "claude-arguments",
                skill,
                &(at..at + "$ARGUMENTS".len()),
                "arguments are used, but `argument-hint` is missing",
            )
            .hint("add `argument-hint`");
    }
}

/// `$0` to `$9` where they are meant as text: amounts of money, fields of awk, parameters of a
/// shell function.
///
/// Claude Code replaces a dollar sign with digits, and no letter, digit or underscore after them,
/// by the argument of that number, counted from 0; in code as well, in `SKILL.md` alone, and not
/// after a backslash. A number without an argument stays, so that only small ones are at risk.
fn check_substitutions(skill: &Skill, findings: &mut Findings) {
    let (text, start) = (skill.text(), skill.body_start());
    let takes = ["arguments", "argument-hint"].iter().any(|key| skill.field(key).is_some())
        || skill.body().contains("$ARGUMENTS");
    let mut places = Vec::new();
    for (at, _) in text[start..].match_indices('$') {
        let at = start + at;
        let rest = &text[at + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest[digits..].chars().next();
        let word = after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        if digits != 1 || word || text[..at].ends_with('\\') {
            continue;
        }
        // A skill with arguments means them, except in amounts and in awk commands.
        let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let amount =
            matches!(after, Some('.' | ',')) && rest[digits + 1..].starts_with(|c: char| c.is_ascii_digit());
        if !takes || amount || text[line..at].contains("awk ") {
            places.push(at..at + 1 + digits);
        }
    }
    let Some(first) = places.first().cloned() else { return };
    let more = match places.len() - 1 {
        0 => String::new(),
        1 => ", and one more like it".to_owned(),
        more => format!(", and {more} more like it"),
    };
    findings
        .add(
            "claude-substitution",
            skill,
            &first,
            format!("Claude Code replaces `{}` with an argument of the call{more}", &text[first.clone()]),
        )
        .hint("write a backslash before the dollar sign, or move the text to another file of the package");
}

/// A back-tick after an exclamation mark: run before the model sees the text.
fn check_inline_commands(skill: &Skill, findings: &mut Findings) {
    let text = skill.text();
    let mut commands = Vec::new();
    for span in &skill.markdown().inline_code {
        if span.start > 0 && text.as_bytes()[span.start - 1] == b'!' {
            let before = text[..span.start - 1].chars().next_back();
            if before.is_none_or(char::is_whitespace) {
                commands.push(span.start - 1..span.end);
            }
        }
    }
    let Some(first) = commands.first().cloned() else { return };
    let count = commands.len();
    let many =
        if count > INLINE { format!("; more than {INLINE} are hard to review") } else { String::new() };
    findings
        .add(
            "claude-inline",
            skill,
            &first,
            format!(
                "{count} command{} while the skill loads{many}",
                if count == 1 { " runs" } else { "s run" }
            ),
        )
        .severities(if count > INLINE { OWN } else { ADVICE })
        .hint("have the model run the command, which asks for permission");
}
