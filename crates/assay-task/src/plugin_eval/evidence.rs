//! What a run left, as graders read it.

use std::collections::{BTreeMap, BTreeSet};

use assay_trace::{Source, Step, ToolCall, Trajectory};
use serde_json::{Value, json};

use super::mocks::{MockReply, MockedServer};

/// What a run left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The agent's last message.
    pub last_message: String,
    /// Its messages as JSON, one an item.
    pub trace: Vec<String>,
    /// Its calls of tools, in order.
    pub calls: Vec<CallMade>,
    /// Files that it created, relative to the work folder: neither those that were there, nor those of a scaffold.
    pub created: BTreeSet<String>,
    /// Files of the work folder that graders name, by the path that they give.
    pub files: BTreeMap<String, FileState>,
    /// Calls of mocked tools as JSON, one an item; `None` if no tool is mocked.
    pub mock_calls: Option<Vec<String>>,
    /// Replies of judges, by the name of the grader.
    pub votes: BTreeMap<String, Vec<String>>,
    /// Why a mock's guard ended the run, if one did. Its score is 0.
    pub aborted: Option<String>,
    /// Whether the model's server refused a request and this ended the run. Then nothing is graded.
    pub request_failed: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct CallMade {
    /// The tool's name.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// A file that a grader names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Its text.
    Text(String),
    /// Why it cannot be read.
    Unreadable(String),
}

impl Evidence {
    /// Reads the messages of a run of the original client: the lines of its `trace.jsonl`. What is not in them (files,
    /// calls of mocks, votes) is left empty. Lines that are not JSON are part of the trace, and nothing else.
    pub fn of_client_trace(text: &str) -> Self {
        let mut evidence = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            evidence.trace.push(line.to_owned());
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            match message.get("type").and_then(Value::as_str) {
                Some("assistant") => evidence.add_assistant(&message),
                // The client's text of an error is no message of the agent.
                Some("result") => evidence.request_failed = is_request_error(&message),
                _ => {}
            }
        }
        evidence
    }

    /// Reads what an agent of assay did. Tools that agents call otherwise than Claude Code are listed under both names, and
    /// `opened` skills as calls of the tool `Skill`, where the agent has no such tool. What is not in a trajectory (files,
    /// votes) is left empty.
    pub fn of_trajectory(trajectory: &Trajectory, opened: &[OpenedSkill], mocked: &MockedCalls<'_>) -> Self {
        let mut evidence = Self::default();
        let mut mocked_rest = mocked.calls.iter();
        let is_own = |call: &&ToolCall| {
            own_name(&call.function_name) == Some("Skill") || call.function_name == "Skill"
        };
        let has_skill_tool =
            trajectory.steps.iter().flat_map(|step| &step.tool_calls).any(|call| is_own(&call));
        let mut has_begun = false;
        for step in &trajectory.steps {
            has_begun |= step.source == Source::Agent;
            if has_begun {
                evidence.add_step(step);
            }
            for call in &step.tool_calls {
                let times = by_command(call);
                evidence.calls.extend(mocked_rest.by_ref().take(times).map(MockedCall::made));
            }
            if !has_skill_tool {
                let now = opened.iter().filter(|skill| skill.step == step.step_id);
                evidence.calls.extend(now.map(|skill| CallMade {
                    tool: "Skill".to_owned(),
                    input: json!({ "skill": skill.name }),
                }));
            }
        }
        if evidence.calls.iter().all(|call| !call.tool.starts_with("mcp__")) {
            evidence.calls.extend(mocked_rest.map(MockedCall::made));
        }
        let last = json!({ "type": "result", "result": evidence.last_message });
        evidence.trace.push(last.to_string());
        evidence.add_mocked(mocked);
        evidence
    }

    fn add_step(&mut self, step: &Step) {
        if step.source == Source::Agent {
            let mut content = Vec::new();
            if !step.message.trim().is_empty() {
                self.last_message.clone_from(&step.message);
                content.push(json!({ "type": "text", "text": step.message }));
            }
            for call in &step.tool_calls {
                let ToolCall { tool_call_id, function_name, arguments, .. } = call;
                content.push(json!({
                    "type": "tool_use", "id": tool_call_id, "name": function_name, "input": arguments,
                }));
                self.calls.push(CallMade { tool: function_name.clone(), input: arguments.clone() });
                if let Some(own) = own_name(function_name) {
                    self.calls.push(CallMade { tool: own.to_owned(), input: arguments.clone() });
                }
            }
            if !content.is_empty() {
                let message = json!({ "role": "assistant", "content": content });
                self.trace.push(json!({ "type": "assistant", "message": message }).to_string());
            }
        } else if !step.message.trim().is_empty() {
            let content = json!([{ "type": "text", "text": step.message }]);
            let message = json!({ "role": "user", "content": content });
            self.trace.push(json!({ "type": "user", "message": message }).to_string());
        }
        for result in step.observation.iter().flat_map(|observation| &observation.results) {
            let content = json!([{
                "type": "tool_result", "tool_use_id": result.source_call_id, "content": result.content,
            }]);
            let message = json!({ "role": "user", "content": content });
            self.trace.push(json!({ "type": "user", "message": message }).to_string());
        }
    }

    /// The calls of mocked tools, as the original client lists them.
    fn add_mocked(&mut self, mocked: &MockedCalls<'_>) {
        if mocked.servers.is_empty() {
            return;
        }
        let mut lines = Vec::new();
        for call in mocked.calls {
            let CallMade { tool, input } = call.made();
            lines.push(match mocked.reply(call) {
                Some(MockReply::Text { text, error: false }) => {
                    json!({ "tool": tool, "input": input, "output": text, "verdict": "ok" }).to_string()
                }
                Some(MockReply::Text { text, error: true }) => json!({
                    "tool": tool, "input": input, "output": text, "isError": true, "verdict": "tool_error",
                })
                .to_string(),
                Some(MockReply::Abort(why)) => {
                    self.aborted.get_or_insert(format!("{tool}: {why}"));
                    json!({ "tool": tool, "input": input, "output": why, "verdict": "abort" }).to_string()
                }
                Some(MockReply::Unknown(why)) => json!({
                    "tool": tool, "input": input, "output": why, "isError": true, "verdict": "unknown",
                })
                .to_string(),
                None => json!({ "tool": tool, "input": input, "verdict": "unknown" }).to_string(),
            });
        }
        self.mock_calls = Some(lines);
    }

    fn add_assistant(&mut self, message: &Value) {
        let content = message.pointer("/message/content").and_then(Value::as_array);
        let mut said = Vec::new();
        for block in content.into_iter().flatten() {
            let text = |key: &str| block.get(key).and_then(Value::as_str);
            match text("type") {
                Some("text") => said.extend(text("text")),
                Some("tool_use") => self.calls.push(CallMade {
                    tool: text("name").unwrap_or_default().to_owned(),
                    input: block.get("input").cloned().unwrap_or(Value::Null),
                }),
                _ => {}
            }
        }
        if !said.is_empty() {
            self.last_message = said.join("\n");
        }
    }
}

/// Whether the client's last message says that a request to the model ended the run.
fn is_request_error(message: &Value) -> bool {
    message.get("is_error").and_then(Value::as_bool) == Some(true)
        && message.get("api_error_status").is_some_and(Value::is_number)
}

/// A skill that an agent opened, and in which step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedSkill {
    /// Its name.
    pub name: String,
    /// The number of the step, as in the trajectory.
    pub step: usize,
}

/// A call of a mocked tool, as the server got it.
#[derive(Debug, Clone, PartialEq)]
pub struct MockedCall {
    /// The server's name as agents see it.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The input.
    pub input: Value,
}

impl MockedCall {
    fn made(&self) -> CallMade {
        CallMade { tool: format!("mcp__{}__{}", self.server, self.tool), input: self.input.clone() }
    }
}

/// The mocks of a run, and their calls in order.
#[derive(Debug, Clone, Copy, Default)]
pub struct MockedCalls<'a> {
    /// The servers.
    pub servers: &'a [MockedServer],
    /// The calls.
    pub calls: &'a [MockedCall],
}

impl MockedCalls<'_> {
    fn reply(&self, call: &MockedCall) -> Option<MockReply> {
        let server = self.servers.iter().find(|server| server.public_name == call.server)?;
        let tool = server.tools.iter().find(|tool| tool.name == call.tool)?;
        Some(server.answer(tool, &call.input))
    }
}

/// How often a command calls a mocked tool by the program that agents without MCP have.
fn by_command(call: &ToolCall) -> usize {
    let program = format!("{} ", crate::Doubles::MCP_CALL);
    let strings = call.arguments.as_object().into_iter().flat_map(|fields| fields.values());
    strings.filter_map(Value::as_str).map(|text| text.matches(&program).count()).sum()
}

/// The name that Claude Code has for a tool of another agent.
fn own_name(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "bash" | "shell" | "local_shell" | "exec_command" | "shell_command" | "run_shell_command" => "Bash",
        "read" | "read_file" | "view" => "Read",
        "write" | "write_file" | "create_file" => "Write",
        "edit" | "edit_file" | "replace" | "str_replace" | "apply_patch" => "Edit",
        "glob" => "Glob",
        "grep" | "search_file_content" | "grep_search" => "Grep",
        "skill" | "activate_skill" | "use_skill" => "Skill",
        "webfetch" | "web_fetch" => "WebFetch",
        "websearch" | "web_search" | "google_web_search" => "WebSearch",
        "todowrite" | "write_todos" | "todo_write" | "update_plan" => "TodoWrite",
        "task" | "spawn_agent" => "Agent",
        _ => return None,
    })
}
