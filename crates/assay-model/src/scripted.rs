//! A model that plays turns from a file.
//!
//! It replaces a model in quickstarts and tests. It measures nothing, and reports that
//! ([`ChatModel::measures_a_model`]).
//!
//! # The file
//!
//! JSON Lines. Blank lines and lines that begin with `#` are ignored. Every other line is a rule.
//! **The first rule that applies answers.** A rule applies if all its conditions are true; all are
//! optional:
//!
//! | key | is true if |
//! |---|---|
//! | `task`, `condition` | the name is one of these; `*` matches anything |
//! | `repetition` | it is one of these (from 1) |
//! | `turn` | the model has had this number of turns (from 0) |
//! | `results` | it has received this number of call results |
//! | `tools` | a tool is offered (`true`), or none (`false`): agents make side calls without tools |
//! | `seen` | each text occurs in the system text, a message or a tool's result |
//! | `unseen` | none of them occurs |
//! | `chance` | a number drawn from [0, 1) is below it |
//!
//! Each accepts one value or a list. The arguments of calls are not searched: otherwise a script
//! could not distinguish a command from its output. The number for `chance` is drawn from the
//! trial's seed and the rule's `draw`, or its line by default: rules with the same `draw` use the
//! same number throughout a trial, so that a trial succeeds or fails as a whole.
//!
//! The reply has the text `say`; a call that opens the skill `skill`; a call of the shell tool for
//! each command in `run`, then for each file in `run_files` with the file's contents as the
//! command; and the call in `call`, `{"tool": NAME, "arguments": {…}}`, of a tool whose name may have
//! a prefix, such as `mcp__SERVER__`. A turn without a call is the last; an agent whose prompt asks for a final command
//! (mini-swe-agent) gets that one. `run_files` are relative to the script's folder and stay in it.
//! The tools to call are chosen by name among those offered, because agents name them differently:
//! the one with the name of a shell, else the first; the one with the name of a skill loader, else
//! the shell.
//!
//! Through a gateway, a rule can also produce a fault: `fault` is `break`, `hang`, `not-json` or a
//! status (with `retry_after` in seconds), and `times` limits how often a rule applies in one
//! trial.
//!
//! ```text
//! # The skill makes the difference in four of five trials.
//! {"task": "ledger-*", "turn": 0, "seen": "ledger-export", "run": ["cat
//! /skills/ledger-export/SKILL.md"]} {"task": "ledger-*", "turn": 1, "seen": "minor units",
//! "chance": 0.8, "draw": "solve", "run_files": ["moves/ledger.sh"]} {"say": "Done."}
//! ```

mod fault;
mod files;
mod rule;
mod tool_call;
mod wildcard;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::{Value, json};

use crate::provider::turns;
use crate::text::escape;
use crate::tokens::tokens;
use crate::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ScriptContext, Stop, ToolCall, Usage,
};
pub use fault::Fault;
use files::{inside, read};
use rule::Rule;

/// A parsed and checked script.
#[derive(Debug)]
pub struct Script {
    /// Its name in errors.
    file: String,
    rules: Vec<Rule>,
    digest: String,
}

/// The reply of a script in one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The line of the rule, from 1.
    pub line: usize,
    /// The text.
    pub say: String,
    /// The tool calls.
    pub calls: Vec<ToolCall>,
    /// The fault that replaces the reply.
    pub fault: Option<Fault>,
    /// Tokens, counted by a proxy.
    pub usage: Usage,
}

impl Script {
    /// Reads `file` and all files it runs. Relative paths start from `directory`.
    pub fn open(file: &str, directory: &Path) -> Result<Self, ModelError> {
        let shown = escape(file);
        let path = directory.join(file);
        let text = read(&path).map_err(|what| ModelError::Script(format!("{shown}: {what}")))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut rules = Vec::new();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let number = index + 1;
            let at = |column: Option<usize>, what: &str| {
                let column = column.map(|column| format!(":{column}")).unwrap_or_default();
                ModelError::Script(format!("{shown}:{number}{column}: {what}"))
            };
            let mut rule = Rule::parse(line, number).map_err(|wrong| at(wrong.column, &wrong.message))?;
            for name in &rule.run_files {
                let contents = inside(&folder, name)
                    .and_then(|path| read(&path))
                    .map_err(|what| at(None, &format!("run_files: {}: {what}", escape(name))))?;
                rule.commands.push(contents);
            }
            rules.push(rule);
        }
        if rules.is_empty() {
            return Err(ModelError::Script(format!(
                "{shown}: no rules: a rule such as {{\"say\": \"Done.\"}} answers always"
            )));
        }
        let digest = digest(&text, &rules);
        Ok(Self { file: shown, rules, digest })
    }

    /// The digest of the script and of the files it runs.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether a rule has a `condition`.
    pub fn reads_condition(&self) -> bool {
        self.rules.iter().any(|rule| rule.condition.is_some())
    }

    /// The reply to a request. `played` returns how often the rule on a line has answered in this
    /// trial.
    pub fn next_turn(
        &self,
        script_context: &ScriptContext,
        request: &ChatRequest,
        played: &dyn Fn(usize) -> u32,
    ) -> Result<Turn, ModelError> {
        let turn = turns(&request.messages);
        let applies = |rule: &&Rule| {
            rule.applies(script_context, turn, request)
                && rule.times.is_none_or(|times| played(rule.line) < times)
        };
        let rule = self.rules.iter().find(applies).ok_or_else(|| {
            let ScriptContext { task, condition, repetition, .. } = script_context;
            ModelError::Script(format!(
                "{}: no turn for task {}, condition {}, repetition {repetition}, turn {turn}",
                self.file,
                escape(task),
                escape(condition),
            ))
        })?;
        let mut calls: Vec<(String, Value)> = Vec::new();
        let lacks_tool = || {
            ModelError::Script(format!(
                "{}:{}: the rule runs a command, but no tool is offered",
                self.file, rule.line
            ))
        };
        if let Some(skill) = &rule.skill {
            calls.push(tool_call::open_skill(request, skill).ok_or_else(lacks_tool)?);
        }
        for command in &rule.commands {
            calls.push(tool_call::run_command(&request.tools, command).ok_or_else(lacks_tool)?);
        }
        if let Some(call) = &rule.call {
            let made = tool_call::call_tool(&request.tools, call).ok_or_else(|| {
                let offered: Vec<String> = request.tools.iter().map(|tool| escape(&tool.name)).collect();
                ModelError::Script(format!(
                    "{}:{}: no tool called {} is offered (offered: {})",
                    self.file,
                    rule.line,
                    escape(&call.tool),
                    offered.join(", ")
                ))
            })?;
            calls.push(made);
        }
        if calls.is_empty() {
            calls.extend(tool_call::submit(request));
        }
        let named =
            |(index, (name, arguments))| ToolCall { id: format!("call-{turn}-{index}"), name, arguments };
        let calls: Vec<ToolCall> = calls.into_iter().enumerate().map(named).collect();
        let usage = Usage {
            input: prompt_tokens(request),
            output: reply_tokens(&rule.say, &calls),
            cache_read: 0,
            cache_write: 0,
            ..Usage::default()
        };
        Ok(Turn { line: rule.line, say: rule.say.clone(), calls, fault: rule.fault, usage })
    }
}

/// A script as a model.
#[derive(Debug)]
pub(crate) struct Scripted {
    id: String,
    script: Script,
}

impl Scripted {
    /// Faults and `times` need a gateway, which counts replies and sends HTTP.
    pub(crate) fn open(file: &str, directory: &Path) -> Result<Self, ModelError> {
        let script = Script::open(file, directory)?;
        if let Some(rule) = script.rules.iter().find(|rule| rule.fault.is_some() || rule.times.is_some()) {
            return Err(ModelError::Script(format!(
                "{}:{}: `fault` and `times` need a gateway",
                script.file, rule.line
            )));
        }
        Ok(Self { id: format!("scripted:{file}"), script })
    }
}

impl ChatModel for Scripted {
    fn id(&self) -> &str {
        &self.id
    }

    fn chat(&self, request: &ChatRequest, call: &Call<'_>) -> Result<ChatReply, ModelError> {
        if call.cancel.load(Ordering::Relaxed) {
            return Err(ModelError::Cancelled);
        }
        if call.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(ModelError::Deadline);
        }
        let Turn { line, say, calls, usage, .. } =
            self.script.next_turn(call.script_context, request, &|_| 0)?;
        Ok(ChatReply {
            text: say,
            stop: if calls.is_empty() { Stop::End } else { Stop::Tools },
            tool_calls: calls,
            reasoning: None,
            usage: Some(usage),
            raw_usage: json!({
                "proxy": "cl100k_base", "input": usage.input, "output": usage.output, "line": line,
            }),
            raw: Value::Null,
            model: None,
            retries: Vec::new(),
        })
    }

    fn measures_a_model(&self) -> bool {
        false
    }

    fn identity(&self) -> Value {
        json!({"script": self.script.digest})
    }

    fn reads_condition(&self) -> bool {
        self.script.reads_condition()
    }
}

/// Tokens of the request, by a proxy, because no provider counted them: texts, names, arguments and
/// schemas, without framing.
fn prompt_tokens(request: &ChatRequest) -> u64 {
    let tools = request
        .tools
        .iter()
        .map(|tool| tokens(&tool.name) + tokens(&tool.description) + tokens(&tool.parameters.to_string()));
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text } | Message::Tool { text, .. } => tokens(text),
        Message::Assistant { text, tool_calls, .. } => tokens(text) + calls(tool_calls),
    });
    (tokens(&request.system) + tools.sum::<usize>() + messages.sum::<usize>()) as u64
}

/// Tokens of the reply, by the same proxy.
fn reply_tokens(say: &str, tool_calls: &[ToolCall]) -> u64 {
    (tokens(say) + calls(tool_calls)) as u64
}

fn calls(tool_calls: &[ToolCall]) -> usize {
    tool_calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments.to_string())).sum()
}

/// The digest of a script and of the files it runs, each prefixed with its length, so that
/// different scripts never give the same bytes.
fn digest(text: &str, rules: &[Rule]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"assay script 1\0");
    let files = rules.iter().flat_map(|rule| {
        let contents = rule.commands.iter().skip(rule.commands.len() - rule.run_files.len());
        rule.run_files.iter().chain(contents)
    });
    for part in std::iter::once(text).chain(files.map(String::as_str)) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    format!("blake3:{}", hasher.finalize().to_hex())
}
