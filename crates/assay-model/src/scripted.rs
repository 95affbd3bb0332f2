//! A model that plays turns from a file.
//!
//! It stands in for a model where none may be asked: in quickstarts and tests. It measures nothing, and says so
//! ([`ChatModel::measures_a_model`]).
//!
//! # The file
//!
//! JSON Lines. Blank lines and lines that begin with `#` are left out. Every other line is a rule. **The first rule that
//! applies answers.** A rule applies if everything holds that it asks for; all of it is optional:
//!
//! | key | holds if |
//! |---|---|
//! | `task`, `condition` | the name is one of these; `*` stands for anything |
//! | `repetition` | it is one of these (from 1) |
//! | `turn` | the model has had so many turns (from 0) |
//! | `results` | it has been given so many results of calls |
//! | `tools` | whether it is offered any tool: agents make side calls without |
//! | `seen` | each text stands somewhere in the system text, in a message or in a tool's result |
//! | `unseen` | none does |
//! | `chance` | a number drawn from [0, 1) is below it |
//!
//! Each takes one value or a list. What a call's arguments say is not seen: else a script could not tell what a command
//! asked for from what came back. The number for `chance` is drawn from the trial's seed and the rule's `draw`, or its
//! line where it has none: rules of one `draw` see the same number throughout a trial, so a trial succeeds or fails as a
//! whole.
//!
//! What it answers: the text `say`; a call that opens the skill `skill`; a call of the shell tool for each command in
//! `run`, then for each file in `run_files` with the file's contents as the command. Without a call the turn is the last;
//! an agent that was told to end by a command of its own (mini-swe-agent) gets that one.
//! `run_files` start at the script's own folder and stay in it. Which tool is called is read from those that are offered,
//! because agents name them as they please: the one with the name of a shell, else the first; the one with the name of a
//! loader of skills, else the shell.
//!
//! Through a gateway, a rule can also go wrong: `fault` is `break`, `hang`, `not-json` or a status (with `retry_after` in
//! seconds), and `times` says how often a rule applies at most in one trial.
//!
//! ```text
//! # The skill makes the difference in four of five trials.
//! {"task": "ledger-*", "turn": 0, "seen": "ledger-export", "run": ["cat /skills/ledger-export/SKILL.md"]}
//! {"task": "ledger-*", "turn": 1, "seen": "minor units", "chance": 0.8, "draw": "solve", "run_files": ["moves/ledger.sh"]}
//! {"say": "Done."}
//! ```

mod fault;
mod files;
mod hand;
mod rule;
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

/// A script, read and checked.
#[derive(Debug)]
pub struct Script {
    /// As errors name it.
    file: String,
    rules: Vec<Rule>,
    digest: String,
}

/// What a script answers in one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The line of the rule, from 1.
    pub line: usize,
    /// What is said.
    pub say: String,
    /// What is called.
    pub calls: Vec<ToolCall>,
    /// What goes wrong instead.
    pub fault: Option<Fault>,
    /// Tokens, counted by proxy.
    pub usage: Usage,
}

impl Script {
    /// Reads `file` and all it runs. `directory` is where a relative path starts.
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

    /// Whether a rule asks for the condition's name.
    pub fn reads_condition(&self) -> bool {
        self.rules.iter().any(|rule| rule.condition.is_some())
    }

    /// The answer to a request. `played` says how often the rule of a line has answered in this trial.
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
            calls.push(hand::open_skill(request, skill).ok_or_else(lacks_tool)?);
        }
        for command in &rule.commands {
            calls.push(hand::run_command(&request.tools, command).ok_or_else(lacks_tool)?);
        }
        if calls.is_empty() {
            calls.extend(hand::submit(request));
        }
        let named =
            |(index, (name, arguments))| ToolCall { id: format!("call-{turn}-{index}"), name, arguments };
        let calls: Vec<ToolCall> = calls.into_iter().enumerate().map(named).collect();
        let usage = Usage {
            input: prompt_tokens(request),
            output: reply_tokens(&rule.say, &calls),
            cache_read: 0,
            cache_write: 0,
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
    /// Faults and rules that wear out need somebody who counts, and who speaks HTTP.
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

/// Tokens of what was sent: a proxy, for no provider counted them. Texts, names, arguments and schemas; no framing.
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

/// Tokens of what was answered: the same proxy.
fn reply_tokens(say: &str, tool_calls: &[ToolCall]) -> u64 {
    (tokens(say) + calls(tool_calls)) as u64
}

fn calls(tool_calls: &[ToolCall]) -> usize {
    tool_calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments.to_string())).sum()
}

/// The digest of a script and of the files it runs, each with its length before it, so that no two scripts run together
/// to the same bytes.
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
