//! What the agent itself wrote, ran and said: the only input of the adoption score.
//!
//! Results of tools, prompts, file names and labels are not here, so nothing that is computed from
//! here can depend on them.

use std::collections::HashMap;

use assay_trace::{Source, Trajectory};
use serde_json::Value;

use super::skill::SkillText;
use super::words::{features, words};

/// A string argument, or a message, is read up to here, in bytes.
const PASSAGE_CAP: usize = 1 << 20;

/// How a passage reached the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Manner {
    /// Text to the user.
    Said,
    /// Reasoning.
    Thought,
    /// An argument of a tool that changes files.
    Wrote,
    /// An argument of any other tool.
    Ran,
}

impl Manner {
    /// In the words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Thought => "thought",
            Self::Wrote => "wrote",
            Self::Ran => "ran",
        }
    }
}

/// One line that the agent authored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authored {
    /// ATIF's `step_id`.
    pub(crate) step: usize,
    pub(crate) manner: Manner,
    pub(crate) text: String,
}

/// A trace as evidence: its authored lines, and the first place of each feature.
#[derive(Debug, Clone)]
pub struct TraceText {
    pub(crate) lines: Vec<Authored>,
    pub(crate) first: HashMap<u64, usize>,
    /// Where it is first written or run, when that is later.
    pub(crate) acted: HashMap<u64, usize>,
}

impl TraceText {
    /// What the agent authored, without every line of a tool call that names a path of a skill, or
    /// the place of one of these.
    pub fn new<'a>(trajectory: &Trajectory, skills: impl IntoIterator<Item = &'a SkillText>) -> Self {
        let mut lines = Vec::new();
        let mut slugs: Vec<String> =
            skills.into_iter().map(SkillText::slug).filter(|slug| !slug.is_empty()).collect();
        slugs.sort();
        slugs.dedup();
        collect(trajectory, &slugs, &mut lines);
        Self::of(lines)
    }

    pub(crate) fn of(lines: Vec<Authored>) -> Self {
        let (mut first, mut acted) = (HashMap::new(), HashMap::new());
        for (at, line) in lines.iter().enumerate() {
            for feature in features(&words(&line.text)) {
                let earliest = *first.entry(feature.key).or_insert(at);
                if line.manner >= Manner::Wrote && lines[earliest].manner < Manner::Wrote {
                    acted.entry(feature.key).or_insert(at);
                }
            }
        }
        Self { lines, first, acted }
    }

    /// The same trace, with lines written at its end.
    pub(crate) fn with_lines(&self, added: &[&str]) -> Self {
        let step = self.lines.last().map_or(1, |line| line.step);
        let line = |text: &&str| Authored { step, manner: Manner::Wrote, text: (*text).to_owned() };
        Self::of(self.lines.iter().cloned().chain(added.iter().map(line)).collect())
    }

    /// Whether two traces hold the same words. Copies of one session are one observation.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.lines == other.lines
    }
}

fn collect(trajectory: &Trajectory, slugs: &[String], lines: &mut Vec<Authored>) {
    for step in trajectory.steps.iter().filter(|step| step.source == Source::Agent) {
        push(
            lines,
            step.step_id,
            Manner::Thought,
            step.reasoning_content.as_deref().unwrap_or_default(),
            None,
        );
        push(lines, step.step_id, Manner::Said, &step.message, None);
        for call in &step.tool_calls {
            let manner = if writes(&call.function_name) { Manner::Wrote } else { Manner::Ran };
            strings(&call.arguments, &mut |text| push(lines, step.step_id, manner, text, Some(slugs)));
        }
    }
}

/// Whether a tool of this name changes files.
pub(crate) fn writes(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    ["write", "edit", "replace", "patch", "create"].iter().any(|verb| tool.contains(verb))
        && !tool.contains("todo")
}

/// The strings of a call, without those that quote what a file held before an edit.
fn strings(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, each)),
        Value::Object(map) => {
            for (key, item) in map {
                if !matches!(key.as_str(), "old_string" | "old_str" | "oldString" | "old_text") {
                    strings(item, each);
                }
            }
        }
        _ => {}
    }
}

fn push(lines: &mut Vec<Authored>, step: usize, manner: Manner, text: &str, slugs: Option<&[String]>) {
    let mut end = text.len().min(PASSAGE_CAP);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let patch = slugs.is_some() && text.trim_start().starts_with("*** Begin Patch");
    for line in text.lines() {
        // Of a patch only what it adds is authored.
        let Some(line) = (if patch { line.strip_prefix('+') } else { Some(line) }) else { continue };
        let line = line.trim();
        if !line.is_empty() && !slugs.is_some_and(|slugs| names_skill_path(line, slugs)) {
            lines.push(Authored { step, manner, text: line.to_owned() });
        }
    }
}

/// Whether a line of a tool call names the path of a skill: any `SKILL.md`, anything below a
/// `skills` folder, or a folder that has this skill's name; a whole line that is the name calls a
/// skill by it.
fn names_skill_path(line: &str, slugs: &[String]) -> bool {
    let lower = line.to_lowercase();
    if lower.contains("skill.md") || lower.contains("skills/") || lower.contains("skills\\") {
        return true;
    }
    let folder = |slug: &str| {
        lower.match_indices(slug).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            let after = lower[at + slug.len()..].chars().next();
            before == Some('/')
                && !after.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_' || c == '.')
        })
    };
    slugs.iter().any(|slug| lower == *slug || folder(slug))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(tool: &str, arguments: &Value) -> Vec<(Manner, String)> {
        let call = json!({"tool_call_id": "1", "function_name": tool, "arguments": arguments});
        let trajectory: Trajectory = serde_json::from_value(json!({
            "schema_version": "ATIF-v1.7",
            "agent": {"name": "t", "version": "1"},
            "steps": [
                {"step_id": 1, "source": "user", "message": "a prompt"},
                {
                    "step_id": 2, "source": "agent", "message": "I say", "reasoning_content": "I think", "tool_calls": [call],
                    "observation": {"results": [{"source_call_id": "1", "content": "a result"}]},
                },
            ],
        }))
        .unwrap();
        let skill = SkillText::parse(b"---\nname: Ledger Export\ndescription: d\n---\nx\n");
        TraceText::new(&trajectory, [&skill]).lines.into_iter().map(|l| (l.manner, l.text)).collect()
    }

    #[test]
    fn only_what_the_agent_authored_is_read() {
        let check = |tool: &str, arguments: &Value, expected: &[(Manner, &str)]| {
            let mut all = vec![(Manner::Thought, "I think".to_owned()), (Manner::Said, "I say".to_owned())];
            all.extend(expected.iter().map(|(manner, text)| (*manner, (*text).to_owned())));
            assert_eq!(lines(tool, arguments), all);
        };
        check(
            "Bash",
            &json!({"command": "make\n\n make test "}),
            &[(Manner::Ran, "make"), (Manner::Ran, "make test")],
        );
        check("Edit", &json!({"old_string": "a", "new_string": "b", "n": 3}), &[(Manner::Wrote, "b")]);
        check("TodoWrite", &json!({"todos": [{"content": "c"}]}), &[(Manner::Ran, "c")]);
        check(
            "apply_patch",
            &json!({"input": "*** Begin Patch\n*** Update File: x\n context\n-old\n+new\n*** End Patch"}),
            &[(Manner::Wrote, "new")],
        );
        // Lines that name a skill's path are no evidence; the lines beside them are.
        check("Read", &json!({"file_path": "/home/x/.claude/skills/other/reference.md"}), &[]);
        check("Bash", &json!({"command": "cat x/SKILL.md\nls"}), &[(Manner::Ran, "ls")]);
        check("Skill", &json!({"skill": "ledger-export"}), &[]);
        check("Bash", &json!({"command": "ls /opt/Ledger-Export"}), &[]);
        check(
            "Bash",
            &json!({"command": "pip install ledger-export"}),
            &[(Manner::Ran, "pip install ledger-export")],
        );
        check(
            "Bash",
            &json!({"command": "ls /opt/ledger-export-2"}),
            &[(Manner::Ran, "ls /opt/ledger-export-2")],
        );
    }
}
