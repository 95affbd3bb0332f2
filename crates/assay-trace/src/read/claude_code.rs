//! Claude Code: the session log that it keeps on disk, and the output of `--output-format
//! stream-json`, which Qwen Code prints too.
//!
//! A message of the model is spread over records, one for each of its blocks, each with the
//! message's usage. Results are records of the user. Bodies of skills are further blocks of the
//! user after a result that only says "Launching skill". Sub-agents are in the same log, marked
//! `isSidechain` or with the call that started them, or in files beside it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::builder::{Builder, Hidden};
use super::marks::{Mark, Need};
use super::reader::{Decoder, Reader};
use super::text::{join, mark_error, object, part_text, text_of};
use crate::Usage;
use crate::usage::{KnownUsage, RAW_CACHE_WRITE_1H};
use crate::{ObservationResult, Source, ToolCall};

/// The agent's name.
const NAME: &str = "claude-code";

/// The other agent that prints this stream.
const QWEN: &str = "qwen-code";

/// The log on disk.
pub(crate) struct Session;

/// Standard output.
pub(crate) struct Stream;

/// Records that contain neither messages nor actions.
const BOOKKEEPING: [&str; 23] = [
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "rate_limit_event",
    "speculation-accept",
    "stream_event",
    "summary",
    "tag",
    "tools-used",
    "worktree-state",
];

impl Reader for Session {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[
                Need::Has("/sessionId"),
                Need::Has("/isSidechain"),
                Need::Has("/message"),
                Need::Lacks("/message/parts"),
            ],
            &[Need::Has("/sessionId"), Need::Has("/isSidechain"), Need::Has("/attachment")],
            &[Need::Has("/sessionId"), Need::Word("/type", &["queue-operation"])],
            &[
                Need::Has("/sessionId"),
                Need::Word("/type", &["user", "assistant"]),
                Need::Has("/message/content"),
                Need::Lacks("/projectHash"),
            ],
        ]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Log { name: NAME, ..Log::default() })
    }
}

impl Reader for Stream {
    fn name(&self) -> &'static str {
        "claude-code-stream"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[
                Need::Has("/session_id"),
                Need::Word("/type", &["system", "assistant", "user", "result"]),
                Need::Has("/uuid"),
                Need::Lacks("/sessionId"),
            ],
            &[
                Need::Has("/session_id"),
                Need::Word("/type", &["system", "assistant", "user", "result"]),
                Need::Word("/subtype", &["init"]),
            ],
        ]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Log { name: NAME, is_stream: true, ..Log::default() })
    }
}

#[derive(Default)]
struct Log {
    name: &'static str,
    is_stream: bool,
    is_known: bool,
    shown: Shown,
    runs: Runs,
}

/// What the log has of the harness's text to the model.
#[derive(Default)]
struct Shown {
    prompt: bool,
    /// A listing of skills, or the prompt.
    listing: bool,
}

/// Usage of the runs of a stream. Each ends in a record with its sums; one that was killed has
/// none.
#[derive(Default)]
struct Runs {
    /// Messages of the current run, by name: their model and their reported usage.
    open: BTreeMap<String, (Option<String>, KnownUsage)>,
    was_interrupted: bool,
    /// The sum of results and of messages of interrupted runs, as far as it is known.
    sum: KnownUsage,
    /// The known usage of each run with something unknown.
    gaps: Vec<KnownUsage>,
    raw: Option<Value>,
    count: usize,
    /// The last result of the process that printed last.
    process: Process,
    /// Usage by model and cost of interrupted runs and of processes that ended.
    closed: Process,
    lacks_cost: bool,
    lacks_models: bool,
    /// Tokens that a cache keeps for an hour, by model: the sums by model do not tell them apart.
    hourly: BTreeMap<String, u64>,
}

/// A process's reported usage since it began.
#[derive(Default)]
struct Process {
    models: BTreeMap<String, Usage>,
    cost: Option<f64>,
}

impl Process {
    /// Adds another's sums.
    fn add(&mut self, other: Self) {
        for (model, usage) in other.models {
            *self.models.entry(model).or_default() += usage;
        }
        if let Some(cost) = other.cost {
            *self.cost.get_or_insert_default() += cost;
        }
    }

    /// Usage by model since an earlier result of the same process; `None` if that cannot be an
    /// earlier result.
    fn since(&self, before: &Self) -> Option<BTreeMap<String, Usage>> {
        let is_cheaper = self.cost.zip(before.cost).is_some_and(|(now, then)| now < then);
        if is_cheaper || before.models.is_empty() {
            return None;
        }
        let mut added = self.models.clone();
        for (model, then) in &before.models {
            let now = added.get_mut(model)?;
            *now = now.minus(then)?;
        }
        Some(added)
    }
}

/// What models used together.
fn together(models: &BTreeMap<String, Usage>) -> Usage {
    let mut sum = Usage::default();
    for one in models.values() {
        sum += *one;
    }
    sum
}

impl Runs {
    /// Counts the messages of a run that ended without sums.
    fn interrupt_run(&mut self) {
        for (model, known) in std::mem::take(&mut self.open).into_values() {
            self.was_interrupted = true;
            self.add_run(known);
            *self.closed.models.entry(model.unwrap_or_default()).or_default() += known.at_least();
        }
    }

    /// Adds the usage of a run, as far as it is known.
    fn add_run(&mut self, known: KnownUsage) {
        self.sum = self.sum.plus_known(&known);
        if !known.is_complete() {
            self.gaps.push(known);
        }
    }

    /// Records the sums with which a run ends.
    fn record_result(&mut self, record: &Record, is_qwen: bool) {
        let by_model = |raw: &Value| -> BTreeMap<String, Usage> {
            let all = raw.as_object().into_iter().flatten();
            all.map(|(model, raw)| (model.clone(), model_usage(raw, is_qwen))).collect()
        };
        let open: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        let own = usage(&record.usage, is_qwen);
        let now = Process { models: by_model(&record.model_usage), cost: record.cost.as_f64() };
        self.count += 1;
        self.lacks_models |= now.models.is_empty();
        self.lacks_cost |= now.cost.is_none();
        // A process with several prompts prints sums for each of them, and its models' sums and
        // cost up to then. Those of a new process do not include what came before. Newer versions
        // say which it is.
        let added = if record.since_last.is_object() {
            (record.since_last != record.model_usage).then(|| by_model(&record.since_last))
        } else {
            now.since(&self.process).filter(|added| {
                let holds_messages = added.iter().all(|(model, added)| {
                    let mut said = Usage::default();
                    let of_model = open.iter().filter(|(name, _)| name.as_deref() == Some(model));
                    for (_, known) in of_model {
                        said += known.at_least();
                    }
                    added.covers(&said)
                });
                holds_messages && together(added).covers(&own.at_least())
            })
        };
        let continues = added.is_some() && self.count > 1;
        // The result's own sums leave sub-agents out; its models' include them.
        let mut used = own;
        let added = added.unwrap_or_else(|| now.models.clone());
        if !added.is_empty() {
            used = used.at_least().largest(&together(&added)).into();
        }
        let mut said = Usage::default();
        for (model, known) in &open {
            said += known.at_least();
            *self.hourly.entry(model.clone().unwrap_or_default()).or_default() += known.cache_write_1h;
        }
        if added.is_empty() && !own.at_least().covers(&said) {
            // Older versions do not give the output of sub-agents.
            self.gaps.push(KnownUsage { output: None, ..KnownUsage::from(said) });
        }
        used = used.or_more(&said);
        self.raw = Some(record.usage.clone()).filter(|_| used == own);
        self.add_run(used);
        let before = std::mem::take(&mut self.process);
        if continues {
            // Fields missing in a result are taken from the one before it.
            self.process = Process {
                models: if now.models.is_empty() { before.models } else { now.models },
                cost: now.cost.or(before.cost),
            };
        } else {
            self.closed.add(before);
            self.process = now;
        }
    }

    /// The usage of the session, after its last record.
    fn finish(mut self, out: &mut Builder) {
        self.interrupt_run();
        if self.count == 0 {
            return;
        }
        self.closed.add(self.process);
        let raw = self.raw.filter(|_| self.count == 1 && !self.was_interrupted);
        out.total(self.sum, self.closed.cost, raw.as_ref());
        out.written(&self.sum);
        for gap in &self.gaps {
            out.mark_gap(gap);
        }
        out.head.is_partial = self.was_interrupted || (self.closed.cost.is_some() && self.lacks_cost);
        for (model, usage) in &mut self.closed.models {
            let hour = self.hourly.get(model).copied().unwrap_or_default();
            usage.cache_write_1h = usage.cache_write_1h.saturating_add(hour).min(usage.cache_write);
        }
        if !self.lacks_models {
            out.head.models = Some(self.closed.models);
        }
    }
}

/// Tokens of a model in a result's own words.
fn model_usage(raw: &Value, is_qwen: bool) -> Usage {
    let field = |key: &str| raw.get(key).and_then(Value::as_u64).unwrap_or_default();
    let cache_read = field("cacheReadInputTokens");
    Usage {
        input: field("inputTokens").saturating_sub(if is_qwen { cache_read } else { 0 }),
        output: field("outputTokens"),
        cache_read,
        cache_write: field("cacheCreationInputTokens"),
        ..Usage::default()
    }
}

/// The parts of a record that are read. Members are values, so that one of an unexpected type does
/// not invalidate the others.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct Record {
    r#type: Value,
    subtype: Value,
    uuid: Value,
    timestamp: Value,
    message: Value,
    attachment: Value,
    rendered: Value,
    rendered_role: Value,
    content: Value,
    is_sidechain: Value,
    agent_id: Value,
    is_meta: Value,
    is_compact_summary: Value,
    is_api_error_message: Value,
    is_synthetic: Value,
    #[serde(rename = "parent_tool_use_id")]
    parent_call: Value,
    session_id: Value,
    #[serde(rename = "session_id")]
    stream_session_id: Value,
    version: Value,
    #[serde(rename = "claude_code_version")]
    stream_version: Value,
    #[serde(rename = "qwen_code_version")]
    qwen_version: Value,
    cwd: Value,
    git_branch: Value,
    model: Value,
    is_error: Value,
    num_turns: Value,
    terminal_reason: Value,
    stop_reason: Value,
    #[serde(rename = "total_cost_usd")]
    cost: Value,
    usage: Value,
    #[serde(rename = "permission_denials")]
    denials: Value,
    model_usage: Value,
    #[serde(rename = "model_usage_since_last_result")]
    since_last: Value,
    parent_uuid: Value,
    #[serde(rename = "logicalParentUuid")]
    logical_parent: Value,
}

impl Decoder for Log {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Record = serde_json::from_slice(json)?;
        let kind = record.r#type.as_str().unwrap_or_default();
        if BOOKKEEPING.contains(&kind) {
            return Ok(());
        }
        if let Some(session) = record.session_id.as_str().or(record.stream_session_id.as_str()) {
            // A resumed log can contain earlier records under its old name; the chain of records
            // continues. After the conversation is compacted, the chain continues under another
            // key.
            let mut parents =
                [&record.parent_uuid, &record.logical_parent].into_iter().filter_map(Value::as_str);
            let continues = parents.any(|parent| out.has_read(parent));
            if out.is_elsewhere(session, continues) {
                return Ok(());
            }
        }
        if let Some(uuid) = record.uuid.as_str()
            && out.is_repeated(uuid)
        {
            return Ok(());
        }
        self.record_session(&record, out);
        if self.is_stream {
            self.run(&record, out);
        }
        let time = out.time(record.timestamp.as_str());
        let lane = lane(&record);
        match kind {
            "assistant" => assistant(record, lane.as_deref(), time, self.is_stream, out),
            "user" => user(record, lane.as_deref(), time, out),
            "attachment" => self.attachment(&record, lane.as_deref(), time, out),
            "system" => system(&record, lane.as_deref(), time, out),
            "result" => self.result(&record, out),
            "" => out.note("unknown-record", "a record without a type; skipped"),
            kind => out.unknown(kind),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        // Qwen Code prints what a person is shown of a skill, not what the model got.
        let is_qwen = out.head.agent.name != self.name;
        out.head.hidden =
            Hidden { listing: !self.shown.listing, results: self.is_stream && is_qwen, failures: false };
        if self.is_stream {
            std::mem::take(&mut self.runs).finish(out);
        }
    }
}

/// The sub-agent that a record belongs to.
fn lane(record: &Record) -> Option<String> {
    if let Some(call) = record.parent_call.as_str() {
        return Some(call.to_owned());
    }
    if record.is_sidechain.as_bool() != Some(true) {
        return None;
    }
    Some(record.agent_id.as_str().unwrap_or("sidechain").to_owned())
}

impl Log {
    /// Data about the current run in records of a stream.
    fn run(&mut self, record: &Record, out: &mut Builder) {
        out.await_total();
        if record.r#type == "system" && record.subtype == "init" {
            self.runs.interrupt_run();
        }
        let Some(raw) = record.message.get("usage").filter(|_| record.r#type == "assistant") else { return };
        let text = |key: &str| record.message.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = text("id").unwrap_or_else(|| format!("message-{}", self.runs.open.len()));
        let model = text("model").filter(|model| model != SYNTHETIC);
        let mut used = usage(raw, out.head.agent.name == QWEN);
        if out.head.agent.name == NAME && record.message.get("stop_reason").is_none_or(Value::is_null) {
            used.output = None;
        }
        self.runs.open.insert(id, (model, used));
    }

    /// The last record of a run. Only its sums give the true output.
    fn result(&mut self, record: &Record, out: &mut Builder) {
        let is_qwen = out.head.agent.name == QWEN;
        let mut kept = Map::new();
        for (key, value) in [
            ("subtype", &record.subtype),
            ("is_error", &record.is_error),
            ("num_turns", &record.num_turns),
            ("stop_reason", &record.stop_reason),
            ("terminal_reason", &record.terminal_reason),
            ("permission_denials", &record.denials),
        ] {
            if !value.is_null() {
                kept.insert(key.to_owned(), value.clone());
            }
        }
        out.head.extra.insert("result".to_owned(), kept.into());
        if record.usage.is_object() {
            self.runs.record_result(record, is_qwen);
        }
    }

    /// Data about the session in records.
    fn record_session(&mut self, record: &Record, out: &mut Builder) {
        if self.is_known {
            return;
        }
        let head = &mut out.head;
        self.name.clone_into(&mut head.agent.name);
        let session = record.session_id.as_str().or(record.stream_session_id.as_str());
        if head.session_id.is_none() {
            head.session_id = session.map(str::to_owned);
        }
        let version = record.version.as_str().or(record.stream_version.as_str());
        let qwen = record.qwen_version.as_str();
        if qwen.is_some() {
            QWEN.clone_into(&mut head.agent.name);
        }
        if let Some(version) = version.or(qwen)
            && head.agent.version.is_empty()
        {
            version.clone_into(&mut head.agent.version);
        }
        for (key, value) in [("cwd", &record.cwd), ("git_branch", &record.git_branch)] {
            if value.is_string() && !head.extra.contains_key(key) {
                head.extra.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(model) = record.model.as_str().or_else(|| record.message.get("model")?.as_str())
            && model != SYNTHETIC
            && head.agent.model_name.is_none()
        {
            head.agent.model_name = Some(model.to_owned());
        }
        self.is_known = head.agent.model_name.is_some() && !head.agent.version.is_empty();
    }

    /// A text that the harness added to the conversation.
    fn attachment(&mut self, record: &Record, lane: Option<&str>, time: Option<String>, out: &mut Builder) {
        let kind = record.attachment.get("type").and_then(Value::as_str).unwrap_or("attachment");
        let member = |key| record.attachment.get(key);
        self.shown.listing |= matches!(kind, "prompt_snapshot" | "skill_listing");
        let text = match (&record.rendered, kind) {
            (Value::Array(parts), _) => {
                parts.iter().filter_map(|part| text_of(part.get("content")?)).collect::<Vec<_>>().join("\n")
            }
            (_, "prompt_snapshot") if !self.shown.prompt => {
                self.shown.prompt = true;
                member("systemPrompt").and_then(text_of).unwrap_or_default()
            }
            (_, "skill_listing") => member("content").and_then(text_of).unwrap_or_default(),
            (_, "edited_text_file") => member("snippet").and_then(text_of).unwrap_or_default(),
            (_, "queued_command") => member("prompt").and_then(text_of).unwrap_or_default(),
            (_, "mcp_instructions_delta") => member("addedBlocks").and_then(text_of).unwrap_or_default(),
            (_, "nested_memory" | "file") => member("content")
                .and_then(|file| text_of(file.get("content").unwrap_or(file)))
                .unwrap_or_default(),
            _ => String::new(),
        };
        if text.trim().is_empty() {
            return;
        }
        let source = if kind == "queued_command" || record.rendered_role == "user" {
            Source::User
        } else {
            Source::System
        };
        let step = out.add_message(lane, source, text, time);
        step.extra.insert("attachment".to_owned(), kind.into());
        if kind != "queued_command" {
            step.extra.insert("injected".to_owned(), true.into());
        }
    }
}

/// The model's name in messages that the program wrote itself.
const SYNTHETIC: &str = "<synthetic>";

fn assistant(record: Record, lane: Option<&str>, time: Option<String>, is_stream: bool, out: &mut Builder) {
    let Value::Object(mut message) = record.message else {
        out.note("unexpected-shape", "unexpected record structure; skipped");
        return;
    };
    let model = message.get("model").and_then(Value::as_str).map(str::to_owned);
    if model.as_deref() == Some(SYNTHETIC) || record.is_api_error_message == true {
        let text = message.get("content").and_then(text_of).unwrap_or_default();
        let step = out.add_message(lane, Source::System, text, time);
        step.extra.insert("synthetic".to_owned(), true.into());
        return;
    }
    let id = message.get("id").and_then(Value::as_str).map(str::to_owned);
    let key = id.as_deref();
    let usual = out.head.agent.model_name.clone();
    let step = out.message(lane, key, time.clone());
    if model != usual {
        step.model_name = model;
    }
    if let Some(reason) = message.get("stop_reason").filter(|reason| reason.is_string()) {
        step.extra.insert("stop_reason".to_owned(), reason.clone());
    }
    let mut calls = Vec::new();
    let mut results = Vec::new();
    match message.remove("content") {
        Some(Value::String(text)) => join(&mut step.message, &text),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                let Value::Object(mut block) = block else { continue };
                let kind = block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                match kind.as_str() {
                    "text" => {
                        let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
                        join(&mut step.message, text);
                    }
                    "thinking" => {
                        let text = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
                        if !text.is_empty() {
                            join(step.reasoning_content.get_or_insert_default(), text);
                        }
                    }
                    "tool_use" | "server_tool_use" | "mcp_tool_use" => calls.push(call(&mut block)),
                    kind if kind.ends_with("tool_result") => results.push(block),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    for call in calls {
        out.call(lane, key, call);
    }
    for block in results {
        answer(&block, lane, time.clone(), out);
    }
    if let Some(raw) = message.get("usage").filter(|raw| raw.is_object()) {
        out.usage(lane, key, usage(raw, out.head.agent.name == QWEN), Some(raw));
        // Claude Code's stream shows a message at its beginning, with an output of 1.
        let began =
            is_stream && out.head.agent.name == NAME && message.get("stop_reason").is_none_or(Value::is_null);
        if let Some(metrics) = &mut out.message(lane, key, None).metrics
            && began
        {
            metrics.completion_tokens = None;
        }
    }
}

fn call(block: &mut Map<String, Value>) -> ToolCall {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (tool_call_id, function_name) = (text("id"), text("name"));
    ToolCall {
        tool_call_id,
        function_name,
        arguments: object(block.remove("input").unwrap_or_default()),
        ..ToolCall::default()
    }
}

/// Tokens in Anthropic's four separate fields. Qwen Code's input includes cached tokens.
pub(super) fn usage(raw: &Value, is_qwen: bool) -> KnownUsage {
    let field = |key: &str| raw.get(key).and_then(Value::as_u64);
    let known = KnownUsage {
        input: field("input_tokens"),
        output: field("output_tokens"),
        cache_read: field("cache_read_input_tokens"),
        cache_write: field("cache_creation_input_tokens"),
        cache_write_1h: raw.pointer(RAW_CACHE_WRITE_1H).and_then(Value::as_u64).unwrap_or_default(),
    };
    let cached = if is_qwen { known.at_least().cache_read } else { 0 };
    KnownUsage { input: known.input.map(|input| input.saturating_sub(cached)), ..known }.without_cache()
}

fn user(record: Record, lane: Option<&str>, time: Option<String>, out: &mut Builder) {
    let injected = record.is_meta == true || record.is_synthetic == true || record.is_compact_summary == true;
    let content = match record.message {
        Value::Object(mut message) => message.remove("content").unwrap_or_default(),
        _ => Value::Null,
    };
    let mut said = String::new();
    match content {
        Value::String(text) => said = text,
        Value::Array(blocks) => {
            for block in blocks {
                match block {
                    Value::Object(block) if block.get("type").is_some_and(|kind| kind == "tool_result") => {
                        answer(&block, lane, time.clone(), out);
                    }
                    other => join(&mut said, &part_text(&other)),
                }
            }
        }
        _ => out.note("unexpected-shape", "unexpected record structure; skipped"),
    }
    if !said.is_empty() {
        let step = out.add_message(lane, Source::User, said, time);
        if injected {
            step.extra.insert("injected".to_owned(), true.into());
        }
    }
}

fn answer(block: &Map<String, Value>, lane: Option<&str>, time: Option<String>, out: &mut Builder) {
    let call = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
    let mut result = ObservationResult::new(block.get("content").and_then(text_of));
    mark_error(&mut result, block.get("is_error"));
    out.result(lane, call, result, time);
}

fn system(record: &Record, lane: Option<&str>, time: Option<String>, out: &mut Builder) {
    match record.subtype.as_str() {
        Some("compact_boundary") => {
            let step =
                out.add_message(lane, Source::System, text_of(&record.content).unwrap_or_default(), time);
            step.extra.insert("compacted".to_owned(), true.into());
        }
        Some("api_retry" | "api_error") => {
            let count = out.head.extra.get("api_retries").and_then(Value::as_u64).unwrap_or_default();
            out.head.extra.insert("api_retries".to_owned(), count.saturating_add(1).into());
        }
        // Other records are shown to the person at the terminal only.
        _ => {}
    }
}
