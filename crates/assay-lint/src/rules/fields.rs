//! The other fields of the front matter: which are allowed, and of what type.

use assay_diagnostic::group_digits;
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
        "a field that the specification does not define",
        "Move the field under `metadata`, as a string, or restrict `clients` to those that you support."
    ),
    rule!(
        "field-misspelt",
        Severities::none().with(Warning, &AGENTS),
        [14, 91],
        "assay",
        "an unknown field whose name is close to one that a client reads",
        "Correct the spelling. `--fix` does this for fields that grant no permission."
    ),
    rule!(
        "compatibility-type",
        Severities::none().with(Error, &VALIDATORS),
        [39, 77],
        "skills-ref, quick_validate",
        "`compatibility` is not a string",
        "Write it as a single string, quoted if it looks like a number."
    ),
    rule!(
        "compatibility-length",
        Severities::none().with(Error, &VALIDATORS),
        [40, 77],
        "specification, skills-ref, quick_validate",
        "`compatibility` has more than 500 characters",
        "State the requirements in a sentence, and explain in the body how to install them."
    ),
    rule!(
        "compatibility-empty",
        Severities::none().with(Error, &[Spec]),
        [41],
        "specification",
        "`compatibility` is empty",
        "Fill in the field, or remove it."
    ),
    rule!(
        "license-type",
        Severities::none().with(Warning, &[Spec]),
        [38],
        "specification",
        "`license` is not a short string",
        "Write a short license name, or the name of a file in the package."
    ),
    rule!(
        "metadata-type",
        Severities::none().with(Error, &[Spec]).with(Warning, &[Codex, OpenCode]),
        [43],
        "specification",
        "`metadata` is not a mapping of strings to strings",
        "Write `key: \"value\"` lines below `metadata`."
    ),
    rule!(
        "metadata-number",
        Severities::none().with(Warning, &[Spec, OpenCode]),
        [45],
        "YAML",
        "a number, boolean or date in `metadata` where a string is expected",
        "Quote the value, unless a client expects a number or a boolean."
    ),
    rule!(
        "allowed-tools-type",
        Severities::none().with(Warning, &[Spec]),
        [46],
        "specification",
        "`allowed-tools` is not a single space-separated string",
        "Write the tools on one line, separated by spaces."
    ),
    rule!(
        "allowed-tools-bash",
        Severities::all(Warning),
        [92, 136],
        "agnix; Claude Code",
        "`allowed-tools` lets every shell command run without approval",
        "List the commands, for example `Bash(git:*)`. The field grants permission; it does not restrict."
    ),
    rule!(
        "allowed-tools-unknown",
        Severities::none().with(Warning, &[ClaudeCode]),
        [137],
        "agnix; Claude Code",
        "`allowed-tools` names a tool that Claude Code does not have",
        "Use a tool name that Claude Code documents."
    ),
];

/// Fields that Claude Code reads in addition to the specification's.
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

/// Fields that OpenClaw documents in addition to those of the specification and Claude Code.
const DOCUMENTED: [&str; 5] = ["version", "homepage", "command-dispatch", "command-tool", "command-arg-mode"];

/// The tools of Claude Code, as its documentation lists them, with those of earlier releases that
/// skills still name.
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
/// More tools, whose names share a prefix.
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
        (true, _) => "Claude Code reads it, but validators reject it: remove it before uploading",
        (false, _) if documented => "OpenClaw reads it, but validators reject it: move it under `metadata`",
        (false, Some(_)) => "spell it as the client that reads it does",
        (false, None) => "move it under `metadata`, as a string",
    };
    let last = findings.add(
        "field-unknown",
        skill,
        &key.span,
        format!("`{name}` is not a field of the specification"),
    );
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

/// The fix that renames a field: only if the value is valid for that field and it is descriptive.
/// Permissions, hooks and the like must be enabled by the author.
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

/// Whether two texts differ by one inserted, omitted or replaced character.
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
            .add("compatibility-type", skill, &at, "`compatibility` is a list or a mapping, not a string")
            .hint("write it as a single string");
        return;
    };
    if !matches!(node.type_1_1(), Some(Scalar::Text | Scalar::Null)) {
        findings
            .add(
                "compatibility-type",
                skill,
                &at,
                format!(
                    "`{text}` is parsed as {} by a standard YAML parser",
                    node.type_1_1().map_or("", Scalar::word)
                ),
            )
            .severities(Severities::none().with(Error, &[Upload]))
            .hint("quote it");
    }
    let length = text.chars().count();
    if length > COMPATIBILITY {
        findings
            .add(
                "compatibility-length",
                skill,
                &at,
                format!(
                    "compatibility has {} characters (limit {})",
                    group_digits(length),
                    group_digits(COMPATIBILITY)
                ),
            )
            .hint("state the requirements, and explain in the body how to install them");
    }
    if text.trim().is_empty() {
        findings
            .add("compatibility-empty", skill, &at, "`compatibility` is empty")
            .hint("fill it in, or remove it");
    }
}

fn license(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("license") else { return };
    let at = skill.place("license");
    match node.text().map(|text| text.chars().count()) {
        None if node.kind != Kind::Alias => {
            findings
                .add("license-type", skill, &at, "`license` is a list or a mapping, not a string")
                .hint("write a short license name, or the name of a file in the package");
        }
        Some(length) if length > 200 => {
            findings
                .add("license-type", skill, &at, format!("`license` has {} characters", group_digits(length)))
                .hint("write a short license name, and put the license text in a file of the package");
        }
        _ => {}
    }
}

fn metadata(skill: &Skill, findings: &mut Findings) {
    let Some((_, node)) = skill.field("metadata") else { return };
    let Kind::Map(entries) = &node.kind else {
        if node.type_1_1() != Some(Scalar::Null) && node.kind != Kind::Alias {
            findings
                .add("metadata-type", skill, &skill.place("metadata"), "`metadata` is not a mapping")
                .hint("write `key: \"value\"` lines below it");
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
                        format!("`metadata.{name}` is a list or a mapping, not a string"),
                    )
                    .hint("write it as a single string");
            }
            // The `skills` installer omits skills with `internal: true`, and compares with the
            // boolean.
            Kind::Scalar { .. } if name == "internal" && value.type_1_1() == Some(Scalar::Bool) => {}
            Kind::Scalar { text, .. } if !matches!(value.type_1_1(), Some(Scalar::Text | Scalar::Null)) => {
                findings
                    .add(
                        "metadata-number",
                        skill,
                        &value.span,
                        format!(
                            "`{text}` is parsed as {} by a standard YAML parser",
                            value.type_1_1().map_or("", Scalar::word)
                        ),
                    )
                    .hint("quote it, unless a client expects this type");
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
                .hint("write the tools on one line, separated by spaces");
            items.iter().filter_map(|item| Some((item.text()?, item.span.clone()))).collect()
        }
        Kind::Scalar { text, .. } => split_tools(text).into_iter().map(|tool| (tool, at.clone())).collect(),
        Kind::Map(_) => {
            findings
                .add("allowed-tools-type", skill, &at, "`allowed-tools` is a mapping")
                .hint("write the tools on one line, separated by spaces");
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
                    "`Bash` without a scope lets every command run without approval",
                )
                .hint("name the commands, as in `Bash(git:*)`; the field grants, it does not restrict");
        }
        // Tools of MCP servers and of other clients are not checked.
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
