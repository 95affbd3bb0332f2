//! Tool calls as actions on targets.

use assay_trace::{ObservationResult, Source, Trajectory};
use serde_json::Value;

use super::command::{classify, is_check, path};
use super::verb::Verb;
use crate::evidence::writes;

/// The phase of work of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Before the first write.
    Orientation,
    /// From a write to the next check.
    Implementation,
    /// From a check that held to the next write.
    Validation,
    /// From a check that failed to the next one that holds.
    Debugging,
}

impl Phase {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orientation => "orientation",
            Self::Implementation => "implementation",
            Self::Validation => "validation",
            Self::Debugging => "debugging",
        }
    }
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// ATIF's `step_id`.
    pub step: usize,
    /// Which of the step's calls, from 0.
    pub call: usize,
    /// What it does.
    pub verb: Verb,
    /// What it does it to: a path without its `./`, a pattern, or the command in one line.
    pub target: String,
    /// Whether it is said to have failed.
    pub failed: bool,
    /// Whether it checks what was made: a test, a build, a linter.
    pub check: bool,
    /// Its phase.
    pub phase: Phase,
    /// What a write puts into the file; empty for others.
    pub content: String,
    /// Whether a shell command may do more than this.
    pub compound: bool,
    /// Lines of the result of a read or search that say that something does not exist; one empty
    /// line if a search found nothing. Empty if the program itself is missing.
    pub missing: Vec<String>,
}

/// The actions of a trace, in order. Calls that keep lists or start skills are none.
pub fn actions(trajectory: &Trajectory) -> Vec<Action> {
    let mut actions = Vec::new();
    for step in trajectory.steps.iter().filter(|step| step.source == Source::Agent) {
        let results =
            step.observation.as_ref().map(|observation| observation.results.as_slice()).unwrap_or_default();
        for (at, call) in step.tool_calls.iter().enumerate() {
            let result =
                results.iter().find(|result| result.source_call_id.as_deref() == Some(&call.tool_call_id));
            let failed = result.is_some_and(|result| {
                let status = || ["exit", "exit_code"].iter().find_map(|key| result.extra.get(*key)?.as_i64());
                let text = result.content.as_deref().unwrap_or_default();
                result.extra.get("is_error") == Some(&Value::Bool(true))
                    || status().is_some_and(|status| status != 0)
                    || text.strip_prefix("Exit code ").is_some_and(|rest| !rest.starts_with('0'))
            });
            let text = |keys: &[&str]| {
                let found = keys.iter().find_map(|key| call.arguments.get(*key));
                found.map(plain).unwrap_or_default()
            };
            let tool = call.function_name.to_lowercase();
            let file = || path(&text(&["file_path", "path", "filename", "absolute_path", "notebook_path"]));
            let (verb, target, check) = if tool.contains("bash")
                || tool.contains("shell")
                || tool.contains("exec")
                || tool.contains("command")
            {
                let command = text(&["command", "cmd", "script"]);
                let (verb, target) = classify(&command);
                (verb, target, is_check(&command))
            } else if writes(&tool) {
                (Verb::Write, file(), false)
            } else if tool.contains("grep")
                || tool.contains("glob")
                || tool.contains("search")
                || tool == "ls"
                || tool.contains("list_dir")
            {
                (Verb::Search, text(&["pattern", "query", "path"]), false)
            } else if tool.contains("read") || tool.contains("view") {
                (Verb::Read, file(), false)
            } else {
                continue;
            };
            let content = if verb == Verb::Write {
                ["content", "new_string", "new_str", "file_text", "input", "command"]
                    .iter()
                    .find_map(|key| call.arguments.get(*key)?.as_str())
                    .unwrap_or_default()
                    .to_owned()
            } else {
                String::new()
            };
            let shell = text(&["command", "cmd", "script"]);
            let compound = shell.contains(['\n', ';', '|', '&']);
            let missing = missing(verb, failed, result);
            actions.push(Action {
                step: step.step_id,
                call: at,
                verb,
                target,
                failed,
                check,
                phase: Phase::Orientation,
                content,
                compound,
                missing,
            });
        }
    }
    phase(&mut actions);
    actions
}

/// Lines of a result that say that what was read or searched for does not exist.
fn missing(verb: Verb, failed: bool, result: Option<&ObservationResult>) -> Vec<String> {
    const ABSENT: [&str; 5] =
        ["no such file", "cannot access", "does not exist", "file not found", "no files found"];
    let text = result.and_then(|result| result.content.as_deref()).unwrap_or_default();
    let status = result
        .and_then(|result| ["exit", "exit_code"].iter().find_map(|key| result.extra.get(*key)?.as_i64()));
    // A program that is not installed has not searched.
    if !matches!(verb, Verb::Read | Verb::Search) || status == Some(127) || text.contains("command not found")
    {
        return Vec::new();
    }
    let says = |line: &&str| {
        let line = line.to_lowercase();
        ABSENT.iter().any(|words| line.contains(words))
    };
    let found: Vec<String> = text.lines().filter(says).take(20).map(str::to_owned).collect();
    let nothing = verb == Verb::Search && failed && text.lines().all(|line| line.trim().is_empty());
    if found.is_empty() && nothing { vec![String::new()] } else { found }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

fn phase(actions: &mut [Action]) {
    let mut phase = Phase::Orientation;
    for action in actions {
        phase = match (phase, action.verb) {
            _ if action.check && action.failed && phase != Phase::Orientation => Phase::Debugging,
            _ if action.check && phase != Phase::Orientation => Phase::Validation,
            // While a check fails, what is written mends it.
            (Phase::Debugging, _) => Phase::Debugging,
            (_, Verb::Write) => Phase::Implementation,
            (phase, _) => phase,
        };
        action.phase = phase;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trajectory(calls: &[(&str, Value, bool)]) -> Trajectory {
        let step = |(at, (tool, arguments, failed)): (usize, &(&str, Value, bool))| {
            json!({
                "step_id": at + 1, "source": "agent", "message": "",
                "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
                "observation": {"results": [{"source_call_id": "c", "content": "x", "extra": {"is_error": failed}}]},
            })
        };
        let steps: Vec<Value> = calls.iter().enumerate().map(step).collect();
        let agent = json!({"name": "t", "version": "1"});
        serde_json::from_value(json!({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps}))
            .unwrap()
    }

    #[test]
    fn phases_follow_outcomes() {
        let calls = [
            ("Read", json!({"file_path": "./a.py"}), false),
            ("Bash", json!({"command": "pytest"}), true),
            ("Edit", json!({"file_path": "a.py", "old_string": "x", "new_string": "y"}), false),
            ("Bash", json!({"command": "pytest"}), true),
            ("Write", json!({"file_path": "a.py", "content": "z"}), false),
            ("Bash", json!({"command": "pytest"}), false),
            ("Grep", json!({"pattern": "x"}), false),
            ("TodoWrite", json!({"todos": []}), false),
            ("Write", json!({"file_path": "b.py", "content": "z"}), false),
        ];
        let found: Vec<_> = actions(&trajectory(&calls))
            .into_iter()
            .map(|a| (a.step, a.verb, a.target, a.phase, a.content))
            .collect();
        let row = |step, verb, target: &str, phase, content: &str| {
            (step, verb, target.to_owned(), phase, content.to_owned())
        };
        assert_eq!(
            found,
            [
                row(1, Verb::Read, "a.py", Phase::Orientation, ""),
                // A check before anything was made looks around.
                row(2, Verb::Run, "pytest", Phase::Orientation, ""),
                row(3, Verb::Write, "a.py", Phase::Implementation, "y"),
                row(4, Verb::Run, "pytest", Phase::Debugging, ""),
                row(5, Verb::Write, "a.py", Phase::Debugging, "z"),
                row(6, Verb::Run, "pytest", Phase::Validation, ""),
                row(7, Verb::Search, "x", Phase::Validation, ""),
                row(9, Verb::Write, "b.py", Phase::Implementation, "z"),
            ]
        );
    }
}
