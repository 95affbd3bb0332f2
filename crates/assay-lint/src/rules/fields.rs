//! The other fields of the front matter: which are allowed, and of what type.

use assay_syntax::yaml::{Kind, Node, Scalar, Style};

use crate::client::Client::{ClaudeCode, Codex, OpenCode, Spec, Upload};
use crate::client::skills_ref::{COMPATIBILITY, FIELDS};
use crate::client::{AGENTS, VALIDATORS};
use crate::diagnostic::Severity::{Error, Info, Warning};
use crate::diagnostic::{Edit, Fix, Severities};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;

pub(super) struct Fields;

const RULES: &[Rule] = &[
    rule!(
        "field-unknown",
        Severities::none().with(Error, &VALIDATORS).with(Info, &AGENTS),
        [14, 15, 93, 104, 123],
        "specification, skills-ref, quick_validate",
        "a field that the specification does not know",
        "Move the field under `metadata`, as text, or limit the check to the clients you support with `clients`."
    ),
    rule!(
        "field-misspelt",
        Severities::none().with(Warning, &AGENTS),
        [14, 91],
        "assay",
        "an unknown field that differs little from one that a client knows",
        "Write the field as the client that reads it does. `--fix` does this for fields that grant nothing."
    ),
    rule!(
        "compatibility-type",
        Severities::none().with(Error, &VALIDATORS),
        [39, 77],
        "skills-ref, quick_validate",
        "`compatibility` is not text",
        "Write it as one text, between quotes if it looks like a number."
    ),
    rule!(
        "compatibility-length",
        Severities::none().with(Error, &VALIDATORS),
        [40, 77],
        "specification, skills-ref, quick_validate",
        "`compatibility` has more than 500 characters",
        "Say in a sentence what the skill needs, and how to get it in the body."
    ),
    rule!(
        "compatibility-empty",
        Severities::none().with(Error, &[Spec]),
        [41],
        "specification",
        "`compatibility` is given and empty",
        "Fill in the field, or remove it."
    ),
    rule!(
        "license-type",
        Severities::none().with(Warning, &[Spec]),
        [38],
        "specification",
        "`license` is not a short text",
        "Write a short name, or the name of a file of the package."
    ),
    rule!(
        "metadata-type",
        Severities::none().with(Error, &[Spec]).with(Warning, &[Codex, OpenCode]),
        [43],
        "specification",
        "`metadata` is not a map of texts to texts",
        "Write `key: \"value\"` lines below `metadata`."
    ),
    rule!(
        "metadata-number",
        Severities::none().with(Warning, &[Spec, OpenCode]),
        [45],
        "YAML",
        "a number, boolean or date in `metadata` that is meant as text",
        "Put the value between quotes, unless a client reads it as the number or boolean that it is now."
    ),
    rule!(
        "allowed-tools-type",
        Severities::none().with(Warning, &[Spec]),
        [46],
        "specification",
        "`allowed-tools` is not one text with spaces between the tools",
        "Write the tools on one line, with spaces between them."
    ),
    rule!(
        "allowed-tools-bash",
        Severities::all(Warning),
        [92, 136],
        "agnix, aws-samples; Claude Code",
        "`allowed-tools` lets every shell command run unasked",
        "Name the commands, as in `Bash(git:*)`. The field grants permission; it does not restrict."
    ),
    rule!(
        "allowed-tools-unknown",
        Severities::none().with(Warning, &[ClaudeCode]),
        [137],
        "agnix; Claude Code",
        "`allowed-tools` names a tool that Claude Code does not have",
        "Use the name that Claude Code's list of tools has."
    ),
];

/// Fields that Claude Code reads beside those of the specification.
pub(super) const CLAUDE: [&str; 12] = [
    "when_to_use",
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
    "model",
    "effort",
    "context",
    "agent",
    "hooks",
    "paths",
    "shell",
];

/// Fields that OpenClaw documents beside those of the specification and of Claude Code.
const DOCUMENTED: [&str; 5] = ["version", "homepage", "command-dispatch", "command-tool", "command-arg-mode"];

/// The tools of Claude Code, as its documentation lists them, with those of earlier releases that skills still name.
const TOOLS: [&str; 41] = [
    "Agent",
    "Artifact",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillShell",
    "ListMcpResourcesTool",
    "LS",
    "LSP",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
];
/// More of them, whose names are words of a family.
const MORE_TOOLS: [&str; 3] = ["Write", "KillBash", "TaskOutput"];

impl Family for Fields {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        for (key, _) in skill.yaml.fields() {
            let Some(name) = key.text() else { continue };
            if FIELDS.contains(&name) {
                continue;
            }
            unknown(skill, key, name, findings);
        }
        compatibility(skill, findings);
        license(skill, findings);
        metadata(skill, findings);
        tools(skill, findings);
    }
}

fn unknown(skill: &Skill, key: &Node, name: &str, findings: &mut Findings) {
    let claude = CLAUDE.contains(&name);
    let documented = claude || DOCUMENTED.contains(&name);
    let near = if documented { None } else { nearest(name) };
    let hint = match (claude, near) {
        (true, _) => "Claude Code reads it; the validators refuse it: leave it out of what is uploaded",
        (false, _) if documented => "OpenClaw reads it; the validators refuse it: put it under `metadata`",
        (false, Some(_)) => "write it as the client that knows it does",
        (false, None) => "put it under `metadata`, as text",
    };
    let last =
        findings.add("field-unknown", skill, &key.span, format!("`{name}` is no field of the specification"));
    let last = last.hint(hint);
    if documented {
        let last = last.documented();
        if claude {
            last.severities(Severities::none().with(Error, &VALIDATORS));
        }
    }
    if let Some(near) = near {
        findings
            .add(
                "field-misspelt",
                skill,
                &key.span,
                format!("unknown field `{name}`; did you mean `{near}`?"),
            )
            .hint(format!("write `{near}`"))
            .fix(renamed(skill, key, name, near));
    }
}

/// The field under its right name: only where the value is one that the field may have, and where nothing but what the skill says
/// of itself changes. Permissions, hooks and the like are for their author to turn on.
fn renamed(skill: &Skill, key: &Node, name: &str, near: &str) -> Option<Fix> {
    if skill.document.as_ref()?.trouble.is_some() || skill.field(near).is_some() {
        return None;
    }
    let fields = skill.yaml.fields();
    let same = |other: &str| other == name || (!FIELDS.contains(&other) && nearest(other) == Some(near));
    if fields.iter().filter_map(|(key, _)| key.text()).filter(|other| same(other)).count() != 1 {
        return None;
    }
    let (_, value) = skill.field(name)?;
    let fits = match near {
        "name" | "description" | "license" | "compatibility" => {
            (value.type_1_1(), value.type_1_2()) == (Some(Scalar::Text), Some(Scalar::Text))
        }
        "metadata" => matches!(value.kind, Kind::Map(_)),
        _ => false,
    };
    let plain = matches!(&key.kind, Kind::Scalar { style: Style::Plain, .. }) && key.span.len() == name.len();
    (fits && plain).then(|| Fix {
        title: format!("write `{near}`"),
        edits: vec![Edit { range: key.span.clone(), text: near.to_owned() }],
    })
}

/// A known field that one edit, or case and underscores, make of a name.
fn nearest(name: &str) -> Option<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let wanted = plain(name);
    FIELDS.into_iter().chain(CLAUDE).find(|known| {
        let known = plain(known);
        wanted.len() >= 5 && (known == wanted || (known.len() > 5 && one_edit(&known, &wanted)))
    })
}

/// Whether two texts differ by one character put in, left out or replaced.
fn one_edit(one: &str, other: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let left = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(left).take_while(|(x, y)| x == y).count();
    a.len().max(b.len()) - head - tail <= 1
}

fn compatibility(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("compatibility") else { return };
    let at = skill.place("compatibility");
    let Some(text) = node.text() else {
        findings
            .add("compatibility-type", skill, &at, "`compatibility` is a list or a map, not text")
            .hint("write it as one text");
        return;
    };
    if !matches!(node.type_1_1(), Some(Scalar::Text | Scalar::Null)) {
        findings
            .add(
                "compatibility-type",
                skill,
                &at,
                format!(
                    "`{text}` is {} to an ordinary YAML reader",
                    node.type_1_1().map_or("", Scalar::word)
                ),
            )
            .severities(Severities::none().with(Error, &[Upload]))
            .hint("put it between quotes");
    }
    let length = text.chars().count();
    if length > COMPATIBILITY {
        findings
            .add(
                "compatibility-length",
                skill,
                &at,
                format!("compatibility of {length} characters, at most {COMPATIBILITY} are allowed"),
            )
            .hint("say what the skill needs, and how to get it in the body");
    }
    if text.trim().is_empty() {
        findings
            .add("compatibility-empty", skill, &at, "`compatibility` is empty")
            .hint("fill it in, or leave it out");
    }
}

fn license(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("license") else { return };
    let at = skill.place("license");
    match node.text().map(|text| text.chars().count()) {
        None if node.kind != Kind::Alias => {
            findings
                .add("license-type", skill, &at, "`license` is a list or a map, not text")
                .hint("write a short name, or the name of a file of the package");
        }
        Some(length) if length > 200 => {
            findings
                .add("license-type", skill, &at, format!("`license` of {length} characters"))
                .hint("write a short name, and the text into a file of the package");
        }
        _ => {}
    }
}

fn metadata(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("metadata") else { return };
    let Kind::Map(entries) = &node.kind else {
        if node.type_1_1() != Some(Scalar::Null) && node.kind != Kind::Alias {
            findings
                .add("metadata-type", skill, &skill.place("metadata"), "`metadata` is not a map")
                .hint("write `key: \"value\"` lines beneath it");
        }
        return;
    };
    for (key, value) in entries {
        let name = key.text().unwrap_or("?");
        match &value.kind {
            Kind::List(_) | Kind::Map(_) => {
                findings
                    .add(
                        "metadata-type",
                        skill,
                        &key.span,
                        format!("`metadata.{name}` is a list or a map, not text"),
                    )
                    .hint("write it as one text");
            }
            // The installer `skills` leaves out what says `internal: true`, and compares with the boolean.
            Kind::Scalar { .. } if name == "internal" && value.type_1_1() == Some(Scalar::Bool) => {}
            Kind::Scalar { text, .. } if !matches!(value.type_1_1(), Some(Scalar::Text | Scalar::Null)) => {
                findings
                    .add(
                        "metadata-number",
                        skill,
                        &value.span,
                        format!(
                            "`{text}` is {} to an ordinary YAML reader",
                            value.type_1_1().map_or("", Scalar::word)
                        ),
                    )
                    .hint("put it between quotes, unless a client reads it as what it is now");
            }
            _ => {}
        }
    }
}

fn tools(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("allowed-tools") else { return };
    let at = skill.place("allowed-tools");
    let listed: Vec<(&str, std::ops::Range<usize>)> = match &node.kind {
        Kind::List(items) => {
            findings
                .add("allowed-tools-type", skill, &at, "`allowed-tools` is a list")
                .hint("write the tools on one line, with spaces between them");
            items.iter().filter_map(|item| Some((item.text()?, item.span.clone()))).collect()
        }
        Kind::Scalar { text, .. } => split_tools(text).into_iter().map(|tool| (tool, at.clone())).collect(),
        Kind::Map(_) => {
            findings
                .add("allowed-tools-type", skill, &at, "`allowed-tools` is a map")
                .hint("write the tools on one line, with spaces between them");
            return;
        }
        Kind::Alias => return,
    };
    for (tool, at) in listed {
        let (name, scope) = tool.split_once('(').unwrap_or((tool, ""));
        let name = name.trim().trim_matches(['"', '\'', '[', ']']);
        let wide = scope.is_empty() || matches!(scope.trim_end_matches(')').trim(), "*" | ":*" | "**");
        if name == "Bash" && wide {
            findings
                .add(
                    "allowed-tools-bash",
                    skill,
                    &at,
                    "`Bash` without a scope lets every command run unasked",
                )
                .hint("name the commands, as in `Bash(git:*)`; the field grants, it does not restrict");
        }
        // Tools of MCP servers and of other clients' spelling are somebody else's.
        let own = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        if own && !TOOLS.contains(&name) && !MORE_TOOLS.contains(&name) {
            findings
                .add("allowed-tools-unknown", skill, &at, format!("Claude Code has no tool `{name}`"))
                .hint("look up its name in the list of tools");
        }
    }
}

/// Tools with spaces or commas between them, outside parentheses.
fn split_tools(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    })
    .filter(|tool| !tool.is_empty())
    .collect()
}
