//! OpenAI's chat completions API, which many servers support (Ollama, vLLM, llama.cpp, gateways).
//!
//! A model's own message is sent back with its content, its calls as received (some gateways keep
//! signatures in them), and, if it has calls, the reasoning fields that some servers require
//! (`reasoning_content`, `reasoning`, `reasoning_details`). Its other fields occur in replies only.
//! Arguments that were not a JSON object are sent back inside one, because servers that parse the
//! conversation reject anything else.

use serde_json::{Map, Value, json};

use crate::endpoint::Service;
use crate::provider::{Dialect, Ids, as_object, count, insert_some, missing};
use crate::tokens::plausible_usage;
use crate::{ChatReply, ChatRequest, Message, ModelError, Stop, ToolCall, Usage};

/// The provider itself.
pub const SERVICE: Service =
    Service { home: "https://api.openai.com/v1", base_env: "OPENAI_BASE_URL", key_env: &["OPENAI_API_KEY"] };

/// Fields of a message that contain reasoning.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// The chat completions dialect.
#[derive(Debug)]
pub(crate) struct OpenAi {
    pub(crate) model: String,
    /// OpenAI's own models no longer accept `max_tokens`; other servers accept no other name.
    pub(crate) is_home: bool,
}

impl Dialect for OpenAi {
    fn request(&self, request: &ChatRequest) -> Value {
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        messages.extend(request.messages.iter().map(|message| match message {
            Message::User { text } => json!({"role": "user", "content": text}),
            Message::Assistant { text, tool_calls, raw } => assistant(text, tool_calls, raw),
            Message::Tool { call_id, text, .. } => {
                json!({"role": "tool", "tool_call_id": call_id, "content": text})
            }
        }));
        let mut body = json!({"model": self.model, "messages": messages});
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                }})
            })
            .collect();
        insert_some(&mut body, "tools", (!tools.is_empty()).then_some(tools));
        let limit = if self.is_home { "max_completion_tokens" } else { "max_tokens" };
        insert_some(&mut body, limit, request.max_output_tokens);
        insert_some(&mut body, "temperature", request.temperature);
        body
    }

    fn reply(&self, body: &Value, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let choice = body.pointer("/choices/0").ok_or_else(|| missing("choices", body))?;
        let message = choice.get("message").filter(|message| message.is_object());
        let message = message.ok_or_else(|| missing("message", body))?;

        let mut ids = Ids::new(&request.messages);
        let mut tool_calls = Vec::new();
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let name = call.pointer("/function/name").and_then(Value::as_str);
            let name = name.ok_or_else(|| missing("name of a called function", body))?.to_owned();
            let arguments = match call.pointer("/function/arguments") {
                Some(Value::String(text)) => {
                    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
                }
                // Some servers send the object itself.
                Some(other) => other.clone(),
                None => Value::Null,
            };
            let id = ids.unique_id(call.get("id").and_then(Value::as_str));
            tool_calls.push(ToolCall { id, name, arguments });
        }

        let refusal = message.get("refusal").and_then(Value::as_str);
        let mut text = words(message.get("content"));
        if text.is_empty() {
            refusal.unwrap_or_default().clone_into(&mut text);
        }
        let reason = choice.get("finish_reason").and_then(Value::as_str);
        let stop = match reason {
            _ if refusal.is_some() => Stop::Refusal,
            Some("length") => Stop::Length,
            Some("content_filter") => Stop::Refusal,
            // Some servers send `stop` with calls.
            Some("stop" | "tool_calls" | "function_call") | None if !tool_calls.is_empty() => Stop::Tools,
            Some("stop") | None => Stop::End,
            Some(other) => Stop::Other(other.to_owned()),
        };
        let reasoning = ["reasoning_content", "reasoning"]
            .iter()
            .map(|field| words(message.get(*field)))
            .find(|reasoning| !reasoning.is_empty());
        let raw_usage = body.get("usage").cloned().unwrap_or_default();
        Ok(ChatReply {
            text,
            tool_calls,
            reasoning,
            stop,
            usage: usage(&raw_usage),
            raw_usage,
            raw: message.clone(),
            model: body.get("model").and_then(Value::as_str).map(str::to_owned),
            retries: Vec::new(),
        })
    }
}

/// A model's message as it is sent back.
fn assistant(text: &str, tool_calls: &[ToolCall], raw: &Value) -> Value {
    let came = raw.as_object().filter(|raw| raw.get("role").is_some_and(|role| role == "assistant"));
    let sent = came.and_then(|raw| raw.get("tool_calls")).and_then(Value::as_array);
    let calls: Vec<Value> = tool_calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let mut value = sent.and_then(|sent| sent.get(index)).cloned().unwrap_or_default();
            if !value.is_object() {
                value = json!({});
            }
            let arguments = as_object(&call.arguments);
            insert_some(&mut value, "id", Some(call.id.as_str()));
            insert_some(&mut value, "type", Some("function"));
            // As received if it is an object: a provider's cache depends on every byte.
            let as_sent = value.pointer("/function/arguments").and_then(Value::as_str).map(str::to_owned);
            let written = as_sent.filter(|_| call.arguments.is_object());
            let written = written.unwrap_or_else(|| arguments.to_string());
            insert_some(&mut value, "function", Some(json!({"name": call.name, "arguments": written})));
            value
        })
        .collect();

    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let content = came.and_then(|raw| raw.get("content")).filter(|content| !content.is_null());
    let content = content.cloned().unwrap_or_else(|| json!(text));
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        for field in REASONING {
            if let Some(value) = came.and_then(|raw| raw.get(field)).filter(|value| !value.is_null()) {
                message.insert(field.to_owned(), value.clone());
            }
        }
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(message)
}

/// The text of a content: a string, a list of parts with text, or nothing.
fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part.get("text").and_then(Value::as_str)))
            .collect(),
        _ => String::new(),
    }
}

/// The four fields of a Responses object's `usage`: `input_tokens` includes cached tokens,
/// `output_tokens` includes reasoning.
pub fn responses_usage(raw: &Value) -> Option<Usage> {
    let (input, output) = (count(raw, "/input_tokens"), count(raw, "/output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let input = input.unwrap_or(0);
    let cached = count(raw, "/input_tokens_details/cached_tokens").unwrap_or(0).min(input);
    plausible_usage(Usage {
        input: input - cached,
        output: output.unwrap_or(0),
        cache_read: cached,
        cache_write: 0,
        ..Usage::default()
    })
}

/// The four fields. `prompt_tokens` includes cached tokens (`cached_tokens`; DeepSeek's
/// `prompt_cache_hit_tokens`). `completion_tokens` includes reasoning; if a server leaves it out
/// (xAI; Google's compatible endpoint), its total is larger than the sum, and the difference counts
/// as output.
pub fn usage(raw: &Value) -> Option<Usage> {
    let (prompt, completion) = (count(raw, "/prompt_tokens"), count(raw, "/completion_tokens"));
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let cached = count(raw, "/prompt_tokens_details/cached_tokens")
        .or_else(|| count(raw, "/prompt_cache_hit_tokens"))
        .unwrap_or(0)
        .min(prompt);
    let written = count(raw, "/total_tokens").unwrap_or(0).saturating_sub(prompt);
    plausible_usage(Usage {
        input: prompt - cached,
        output: completion.max(written),
        cache_read: cached,
        cache_write: 0,
        ..Usage::default()
    })
}
