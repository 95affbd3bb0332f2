//! Codex: the rollout that it keeps on disk, and the output of `codex exec --json`.
//!
//! A rollout has the items of the conversation one by one and does not mark which of them are one
//! reply of the model; a reply ends where its usage is recorded, or before a result. The printed
//! events have commands and texts, no model, and usage only in sum.

mod replay;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use self::replay::{RecordOwner, ReplayGate, thread_of};
use super::builder::{Builder, InheritedPrefix};
use super::marks::{Mark, Need};
use super::reader::{Decoder, Reader};
use super::text::{count, join, parsed, text_of, word};
use crate::Usage;
use crate::{ObservationResult, Source, ToolCall};

/// The rollout on disk.
pub(crate) struct Rollout;

/// Standard output.
pub(crate) struct Exec;

impl Reader for Rollout {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[
            Need::Has("/payload"),
            Need::Word("/type", &["session_meta", "response_item", "turn_context", "event_msg"]),
        ]]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(RolloutLog::default())
    }
}

impl Reader for Exec {
    fn name(&self) -> &'static str {
        "codex-exec"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[Need::Word("/type", &["thread.started"]), Need::Has("/thread_id")],
            &[Need::Word("/type", &["item.started", "item.completed"]), Need::Has("/item")],
        ]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ExecLog)
    }
}

/// Exit statuses that wait for their results; more than these are forgotten.
const EXITS: usize = 1000;

#[derive(Default)]
struct RolloutLog {
    reply: usize,
    /// A result came after the last item of the model: the next item begins another reply.
    answered: bool,
    has_usage_records: bool,
    last_total: Value,
    /// The model of the turn.
    model: Option<String>,
    /// When the session began.
    begun: Option<Timestamp>,
    /// Its first record, until the model has replied.
    meta: Option<Value>,
    /// While the records of its origin are repeated.
    gate: Option<ReplayGate>,
    exits: BTreeMap<String, i64>,
    /// Ids of calls that the model made.
    calls: BTreeSet<String>,
}

impl Decoder for RolloutLog {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        let Some(gate) = &mut self.gate else {
            self.read_record(&record, out);
            return Ok(());
        };
        let payload = record.get("payload").unwrap_or(&Value::Null);
        let time = word(&record, "timestamp").and_then(|text| text.parse().ok());
        match gate.admit(&record, time) {
            RecordOwner::Copied => self.pass_over(payload),
            RecordOwner::Undecided => {}
            RecordOwner::Own(before) => {
                self.close_gate(before, out);
                self.read_record(&record, out);
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        if let Some(rest) = self.gate.as_mut().map(ReplayGate::take_rest) {
            self.close_gate(rest, out);
        }
        // A session that names no model of its own goes on with that of its origin.
        if let Some(model) = &self.model {
            out.head.agent.model_name.get_or_insert_with(|| model.clone());
        }
    }
}

impl RolloutLog {
    /// Keeps of a copied record what the session goes on with.
    fn pass_over(&mut self, payload: &Value) {
        if let Some(model) = word(payload, "model") {
            self.model = Some(model.to_owned());
        }
        if let Some(total) = payload.pointer("/info/total_token_usage") {
            self.last_total = total.clone();
        }
    }

    /// Ends the copy of the origin's records, and reads those before its end that were undecided.
    fn close_gate(&mut self, before: Vec<Value>, out: &mut Builder) {
        let Some(gate) = self.gate.take() else { return };
        if gate.copies > 0 {
            out.mark_inherited(InheritedPrefix { session_id: gate.origin, records: gate.copies });
        }
        for record in before {
            self.read_record(&record, out);
        }
    }

    /// Reads the record that names a session.
    fn session(&mut self, payload: &Value, time: Option<String>, out: &mut Builder) {
        if let Some(session) = thread_of(payload) {
            // The log of a fork contains that of its origin, which began earlier.
            let begun = word(payload, "timestamp").and_then(|text| text.parse().ok());
            let is_origin = self.begun.zip(begun).is_none_or(|(own, other): (Timestamp, _)| other <= own);
            let is_first = out.session.is_none();
            if out.is_elsewhere(session, is_origin) {
                return;
            }
            let recorded = time.as_deref().and_then(|text| text.parse().ok());
            if is_first {
                self.begun = begun;
                self.gate = ReplayGate::of_meta(payload, recorded);
                self.meta = Some(payload.clone());
            } else if let Some(meta) = self.meta.take().filter(|meta| thread_of(meta) != Some(session)) {
                self.gate = ReplayGate::of_origin(&meta, session, recorded);
                return;
            }
        }
        meta(payload, time, out);
    }

    fn read_record(&mut self, record: &Value, out: &mut Builder) {
        let time = out.time(word(record, "timestamp"));
        let payload = record.get("payload").unwrap_or(&Value::Null);
        match word(record, "type").unwrap_or_default() {
            "session_meta" => self.session(payload, time, out),
            "turn_context" => {
                if let Some(model) = word(payload, "model") {
                    out.head.agent.model_name.get_or_insert_with(|| model.to_owned());
                    self.model = Some(model.to_owned());
                }
            }
            "response_item" => self.item(payload, time, out),
            "token_usage_record" => {
                self.has_usage_records = true;
                let raw = payload.get("usage").unwrap_or(&Value::Null);
                self.count(raw, out);
                self.answered = true;
            }
            "event_msg" => self.event(payload, time, out),
            "compacted" => {
                let text = word(payload, "message").unwrap_or_default();
                let step = out.add_message(None, Source::System, text, time);
                step.extra.insert("compacted".to_owned(), true.into());
            }
            "world_state" => {}
            kind => out.unknown(kind),
        }
    }
}

fn meta(payload: &Value, time: Option<String>, out: &mut Builder) {
    "codex".clone_into(&mut out.head.agent.name);
    if let Some(version) = word(payload, "cli_version") {
        version.clone_into(&mut out.head.agent.version);
    }
    if let Some(session) = thread_of(payload) {
        out.head.session_id.get_or_insert_with(|| session.to_owned());
    }
    if let Some(folder) = payload.get("cwd").filter(|folder| folder.is_string()) {
        out.head.extra.insert("cwd".to_owned(), folder.clone());
    }
    let instructions = payload.get("base_instructions").or(payload.get("instructions"));
    let text = instructions.and_then(|text| text.as_str().or(word(text, "text")));
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        out.add_message(None, Source::System, text, time);
    }
}

/// OpenAI's fields: the input includes tokens read from and written to a cache.
fn usage(raw: &Value) -> Usage {
    let (read, written) = (count(raw, "cached_input_tokens"), count(raw, "cache_write_input_tokens"));
    Usage {
        input: count(raw, "input_tokens").saturating_sub(read).saturating_sub(written),
        output: count(raw, "output_tokens"),
        cache_read: read,
        cache_write: written,
        ..Usage::default()
    }
}

impl RolloutLog {
    /// The name of the reply that an item of the model belongs to.
    fn reply(&mut self) -> String {
        self.meta = None;
        if std::mem::take(&mut self.answered) {
            self.reply += 1;
        }
        self.current()
    }

    fn current(&self) -> String {
        format!("reply-{}", self.reply)
    }

    fn item(&mut self, item: &Value, time: Option<String>, out: &mut Builder) {
        let kind = word(item, "type").unwrap_or_default();
        let id = word(item, "call_id").or(word(item, "id")).unwrap_or_default().to_owned();
        match kind {
            "message" => {
                let text = item.get("content").and_then(text_of).unwrap_or_default();
                match word(item, "role") {
                    Some("assistant") => {
                        join(&mut out.message(None, Some(&self.reply()), time).message, &text);
                    }
                    Some("user") => {
                        let injected = is_injected(item, &text);
                        self.answered = true;
                        let step = out.add_message(None, Source::User, text, time);
                        if injected {
                            step.extra.insert("injected".to_owned(), true.into());
                        }
                    }
                    _ => {
                        out.add_message(None, Source::System, text, time);
                    }
                }
            }
            "reasoning" => {
                let parts = [item.get("summary"), item.get("content")];
                let text: Vec<String> = parts.into_iter().flatten().filter_map(text_of).collect();
                let text = text.join("\n");
                if !text.trim().is_empty() {
                    let step = out.message(None, Some(&self.reply()), time);
                    join(step.reasoning_content.get_or_insert_default(), text.trim());
                }
            }
            "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call"
            | "tool_search_call" => {
                let arguments = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key));
                let call = ToolCall::new(
                    &id,
                    word(item, "name").unwrap_or(kind),
                    parsed(arguments.unwrap_or(&Value::Null)),
                );
                let key = self.reply();
                if self.calls.len() < EXITS {
                    self.calls.insert(id);
                }
                out.message(None, Some(&key), time);
                out.call(None, Some(&key), call);
            }
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                let mut result = output(item.get("output").unwrap_or(&Value::Null));
                if let Some(status) = self.exits.remove(&id) {
                    result.extra.insert("exit_code".to_owned(), status.into());
                }
                out.result(None, &id, result, time);
                self.answered = true;
            }
            "" | "ghost_snapshot" | "compaction" | "other" => {}
            kind => out.unknown(kind),
        }
    }

    fn event(&mut self, event: &Value, time: Option<String>, out: &mut Builder) {
        match word(event, "type") {
            Some("token_count") if !self.has_usage_records => {
                let total = event.pointer("/info/total_token_usage").unwrap_or(&Value::Null);
                // The event is sent again without a new reply, with the same sum.
                if total.is_null() || *total == self.last_total {
                    return;
                }
                let before = std::mem::replace(&mut self.last_total, total.clone());
                match event.pointer("/info/last_token_usage").filter(|last| last.is_object()) {
                    Some(last) => self.count(last, out),
                    None => self.count(&difference(total, &before), out),
                }
            }
            Some("exec_command_end") => self.exit(event, "call_id"),
            Some("item_completed") => {
                let item = event.get("item").unwrap_or(&Value::Null);
                match word(item, "id") {
                    Some(id) if is_act(item) && !self.calls.contains(id) => self.act(id, item, time, out),
                    _ => self.exit(item, "id"),
                }
            }
            _ => {}
        }
    }

    /// A command or a change of files that a program of the model made: newer versions record the
    /// program as one call, and what it did as items.
    fn act(&mut self, id: &str, item: &Value, time: Option<String>, out: &mut Builder) {
        let (name, arguments) = if item.get("command").is_some() {
            ("exec_command", json!({ "cmd": command_of(item) }))
        } else {
            ("apply_patch", json!({ "changes": item.get("changes") }))
        };
        let mut call = ToolCall::new(id, name, arguments);
        call.extra.insert("by_script".to_owned(), true.into());
        let mut result = ObservationResult::new(word(item, "aggregated_output").map(str::to_owned));
        if let Some(status) = item.get("exit_code").filter(|status| status.is_i64()) {
            result.extra.insert("exit_code".to_owned(), status.clone());
        }
        let key = self.current();
        out.message(None, Some(&key), time.clone());
        out.call(None, Some(&key), call);
        out.result(None, id, result, time);
    }

    fn exit(&mut self, event: &Value, name: &str) {
        if let (Some(id), Some(status)) = (word(event, name), event.get("exit_code").and_then(Value::as_i64))
            && self.exits.len() < EXITS
        {
            self.exits.insert(id.to_owned(), status);
        }
    }

    fn count(&mut self, raw: &Value, out: &mut Builder) {
        self.meta = None;
        let key = self.current();
        let usual = out.head.agent.model_name.clone();
        let step = out.message(None, Some(&key), None);
        step.model_name = self.model.clone().filter(|model| usual.as_ref() != Some(model));
        out.usage(None, Some(&key), usage(raw), Some(raw));
    }
}

/// What a sum grew by.
fn difference(total: &Value, before: &Value) -> Value {
    let fields = total.as_object().into_iter().flatten();
    fields
        .map(|(key, value)| {
            let grown = value.as_u64().unwrap_or_default().saturating_sub(count(before, key));
            (key.clone(), Value::from(grown))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Whether an item is a command or a change of files.
fn is_act(item: &Value) -> bool {
    matches!(word(item, "type"), Some("CommandExecution" | "FileChange"))
}

/// A command as one line: of `["bash", "-lc", LINE]` the line.
fn command_of(item: &Value) -> String {
    let words: Vec<&str> = match item.get("command") {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(line)) => vec![line],
        _ => Vec::new(),
    };
    match words[..] {
        [shell, option, line]
            if option.starts_with('-') && option.ends_with('c') && shell.ends_with("sh") =>
        {
            line.to_owned()
        }
        _ => words.join(" "),
    }
}

/// The exit code that a call's output begins with: `Exit code: 1` and `Process exited with code 1`,
/// among the first lines, before the output of the command itself.
fn written_status(text: &str) -> Option<i64> {
    let mut head = text.lines().take(STATUS_LINES).take_while(|line| line.trim() != "Output:");
    head.find_map(|line| {
        let rest =
            line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))?;
        rest.trim().parse().ok()
    })
}

/// Lines at the beginning of an output that the harness writes.
const STATUS_LINES: usize = 6;

/// Whether the harness wrote a message of the user.
fn is_injected(item: &Value, text: &str) -> bool {
    let kinds = item.pointer("/internal_chat_message_metadata_passthrough/content_item_kinds");
    let said = kinds
        .and_then(Value::as_array)
        .map(|kinds| !kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("user."))));
    said.unwrap_or_else(|| {
        text.starts_with("<environment_context>") || text.starts_with("<user_instructions>")
    })
}

/// A call's result: a text, parts, or an object with them. Older versions wrote JSON into the text.
fn output(output: &Value) -> ObservationResult {
    let mut result = ObservationResult::new(text_of(output));
    let inner = output.as_str().filter(|text| text.starts_with('{')).and_then(|text| {
        serde_json::from_str::<Value>(text).ok().filter(|inner| inner.get("metadata").is_some())
    });
    let inner = inner.as_ref().unwrap_or(output);
    if let Some(text) = inner.get("output").or(inner.get("content")).and_then(text_of) {
        result.content = Some(text);
    }
    if let Some(status) = inner.pointer("/metadata/exit_code").filter(|status| status.is_i64()) {
        result.extra.insert("exit_code".to_owned(), status.clone());
    }
    if !result.extra.contains_key("exit_code")
        && let Some(status) = result.content.as_deref().and_then(written_status)
    {
        result.extra.insert("exit_code".to_owned(), status.into());
    }
    if let Some(done) = output.get("success").and_then(Value::as_bool) {
        result.extra.insert("is_error".to_owned(), (!done).into());
    }
    result
}

struct ExecLog;

impl Decoder for ExecLog {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        "codex".clone_into(&mut out.head.agent.name);
        let time = out.time(word(&record, "timestamp"));
        match word(&record, "type").unwrap_or_default() {
            "thread.started" => {
                if word(&record, "thread_id").is_some_and(|thread| out.is_elsewhere(thread, false)) {
                    return Ok(());
                }
                out.await_total();
                out.head.session_id = word(&record, "thread_id").map(str::to_owned);
            }
            "item.completed" => read_completed_item(record.get("item").unwrap_or(&Value::Null), time, out),
            "turn.completed" => {
                if let Some(raw) = record.get("usage") {
                    out.total(usage(raw), None, Some(raw));
                }
            }
            "turn.failed" | "error" => {
                let error = record.get("error").unwrap_or(&record);
                let text = word(error, "message").unwrap_or("the turn failed");
                out.add_message(None, Source::System, text, time)
                    .extra
                    .insert("is_error".to_owned(), true.into());
            }
            // The item that ends it contains the same and more.
            "turn.started" | "item.started" | "item.updated" => {}
            kind => out.unknown(kind),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        out.head.hidden.listing = true;
    }
}

fn read_completed_item(item: &Value, time: Option<String>, out: &mut Builder) {
    let key = word(item, "id").unwrap_or_default();
    let kind = word(item, "type").unwrap_or_default();
    let text = || word(item, "text").unwrap_or_default();
    let (arguments, mut result) = match kind {
        "agent_message" => return out.message(None, Some(key), time).message.push_str(text()),
        "reasoning" => {
            out.message(None, Some(key), time).reasoning_content = Some(text().to_owned());
            return;
        }
        "error" => {
            let text = word(item, "message").unwrap_or_default();
            out.add_message(None, Source::System, text, time)
                .extra
                .insert("is_error".to_owned(), true.into());
            return;
        }
        "command_execution" => {
            let content = word(item, "aggregated_output").map(str::to_owned);
            let mut result = ObservationResult::new(content);
            if let Some(status) = item.get("exit_code").filter(|status| status.is_i64()) {
                result.extra.insert("exit_code".to_owned(), status.clone());
            }
            (json!({ "command": item.get("command") }), result)
        }
        "file_change" => (json!({ "changes": item.get("changes") }), ObservationResult::default()),
        "mcp_tool_call" => {
            let given = item.pointer("/result/content").or(item.get("result"));
            let result = ObservationResult::new(given.and_then(text_of));
            (parsed(item.get("arguments").unwrap_or(&Value::Null)), result)
        }
        "web_search" | "todo_list" | "collab_tool_call" => {
            let mut arguments = item.clone();
            if let Some(map) = arguments.as_object_mut() {
                map.retain(|key, _| !matches!(key.as_str(), "id" | "type" | "status"));
            }
            (arguments, ObservationResult::default())
        }
        kind => return out.unknown(kind),
    };
    if word(item, "status") == Some("failed") {
        result.extra.insert("is_error".to_owned(), true.into());
    }
    let name = word(item, "tool").unwrap_or(kind).to_owned();
    let call = ToolCall::new(key, &name, arguments);
    out.message(None, Some(key), time.clone());
    out.call(None, Some(key), call);
    out.result(None, key, result, time);
}
