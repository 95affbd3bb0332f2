//! Anthropic's Messages API.
//!
//! Two `cache_control` breakpoints are set, on the system text (which covers the tools before it)
//! and on the last message: the next turn then reads the whole conversation so far from the cache
//! at a tenth of the price, and writing it costs a quarter more once. Texts shorter than a model's
//! minimum for caching are not cached.
//!
//! A model's message is sent back block by block as received, so that signed thinking stays valid.

use serde_json::{Value, json};

use crate::endpoint::Service;
use crate::provider::{Dialect, Ids, as_object, count, insert_some, missing};
use crate::tokens::plausible_usage;
use crate::{ChatReply, ChatRequest, Message, ModelError, Stop, ToolCall, Usage};

/// The provider itself.
pub const SERVICE: Service = Service {
    home: "https://api.anthropic.com",
    base_env: "ANTHROPIC_BASE_URL",
    key_env: &["ANTHROPIC_API_KEY"],
};

/// The version of the API, sent with every request.
pub const VERSION: &str = "2023-06-01";

/// The default of `max_tokens`, which is required: the most that every model since Claude 3.5
/// allows.
const MAX_TOKENS: u32 = 8_192;

/// The Messages dialect.
#[derive(Debug)]
pub(crate) struct Anthropic {
    pub(crate) model: String,
}

impl Dialect for Anthropic {
    fn request(&self, request: &ChatRequest) -> Value {
        let breakpoint = || json!({"type": "ephemeral"});
        let mut messages = conversation(&request.messages);
        if let Some(last) =
            messages.last_mut().filter(|last| last.get("role").is_some_and(|role| role == "user"))
            && let Some(block) =
                last.get_mut("content").and_then(Value::as_array_mut).and_then(|c| c.last_mut())
        {
            insert_some(block, "cache_control", Some(breakpoint()));
        }
        let mut body = json!({
            "model": self.model,
            "max_tokens": request.max_output_tokens.unwrap_or(MAX_TOKENS),
            "messages": messages,
        });
        if !request.system.is_empty() {
            let block = json!({"type": "text", "text": request.system, "cache_control": breakpoint()});
            insert_some(&mut body, "system", Some(json!([block])));
        }
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
            })
            .collect();
        insert_some(&mut body, "tools", (!tools.is_empty()).then_some(tools));
        insert_some(&mut body, "temperature", request.temperature);
        body
    }

    fn reply(&self, body: &Value, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let blocks = body.get("content").and_then(Value::as_array).ok_or_else(|| missing("content", body))?;
        let mut ids = Ids::new(&request.messages);
        let mut text = String::new();
        let mut reasoning = String::new();
        let mut tool_calls = Vec::new();
        let mut raw = blocks.clone();
        for block in &mut raw {
            let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
            match field("type") {
                "text" => text.push_str(field("text")),
                "thinking" => reasoning.push_str(field("thinking")),
                "tool_use" => {
                    let name = field("name").to_owned();
                    if name.is_empty() {
                        return Err(missing("name of a called tool", body));
                    }
                    let arguments = block.get("input").cloned().unwrap_or_else(|| json!({}));
                    let id = ids.unique_id(block.get("id").and_then(Value::as_str));
                    insert_some(block, "id", Some(id.as_str()));
                    tool_calls.push(ToolCall { id, name, arguments });
                }
                _ => {}
            }
        }
        let stop = match body.get("stop_reason").and_then(Value::as_str) {
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal") => Stop::Refusal,
            Some("end_turn" | "stop_sequence" | "tool_use") | None if !tool_calls.is_empty() => Stop::Tools,
            Some("end_turn" | "stop_sequence") | None => Stop::End,
            Some(other) => Stop::Other(other.to_owned()),
        };
        let raw_usage = body.get("usage").cloned().unwrap_or_default();
        Ok(ChatReply {
            text,
            tool_calls,
            reasoning: (!reasoning.is_empty()).then_some(reasoning),
            stop,
            usage: usage(&raw_usage),
            raw_usage,
            raw: Value::Array(raw),
            model: body.get("model").and_then(Value::as_str).map(str::to_owned),
            retries: Vec::new(),
        })
    }
}

/// Converts the messages. Everything between two turns of the model becomes one user message,
/// results first, as the API requires.
fn conversation(messages: &[Message]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    let mut texts: Vec<Value> = Vec::new();
    for message in messages {
        match message {
            Message::User { text } => texts.push(json!({"type": "text", "text": non_blank(text)})),
            Message::Tool { call_id, text, is_error } => {
                let mut block = json!({"type": "tool_result", "tool_use_id": call_id});
                let content = json!([{"type": "text", "text": text}]);
                insert_some(&mut block, "content", (!text.trim().is_empty()).then_some(content));
                insert_some(&mut block, "is_error", is_error.then_some(true));
                results.push(block);
            }
            Message::Assistant { text, tool_calls, raw } => {
                let blocks = assistant(text, tool_calls, raw);
                // A turn without content cannot be sent; the messages around it become one.
                if !blocks.is_empty() {
                    flush(&mut out, &mut results, &mut texts);
                    out.push(json!({"role": "assistant", "content": blocks}));
                }
            }
        }
    }
    flush(&mut out, &mut results, &mut texts);
    out
}

/// Ends a user message.
fn flush(out: &mut Vec<Value>, results: &mut Vec<Value>, texts: &mut Vec<Value>) {
    let mut blocks = std::mem::take(results);
    blocks.append(texts);
    if !blocks.is_empty() {
        out.push(json!({"role": "user", "content": blocks}));
    }
}

/// The blocks of a model's message: as received, without empty texts, which the API rejects.
fn assistant(text: &str, tool_calls: &[ToolCall], raw: &Value) -> Vec<Value> {
    if let Some(blocks) = raw.as_array() {
        let is_empty = |block: &Value| {
            block.get("type").is_some_and(|kind| kind == "text")
                && block.get("text").and_then(Value::as_str).unwrap_or_default().trim().is_empty()
        };
        return blocks.iter().filter(|block| !is_empty(block)).cloned().collect();
    }
    let mut blocks = Vec::new();
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks.extend(tool_calls.iter().map(|call| {
        let input = as_object(&call.arguments);
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    }));
    blocks
}

/// Replaces a text of whitespace alone, which the API rejects.
fn non_blank(text: &str) -> &str {
    if text.trim().is_empty() { "(nothing)" } else { text }
}

/// The four fields. `input_tokens` excludes tokens read from or written to a cache.
pub fn usage(raw: &Value) -> Option<Usage> {
    let (input, output) = (count(raw, "/input_tokens"), count(raw, "/output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    plausible_usage(Usage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        cache_read: count(raw, "/cache_read_input_tokens").unwrap_or(0),
        cache_write: count(raw, "/cache_creation_input_tokens").unwrap_or(0),
        cache_write_1h: count(raw, "/cache_creation/ephemeral_1h_input_tokens").unwrap_or(0),
        ..Usage::default()
    })
}
