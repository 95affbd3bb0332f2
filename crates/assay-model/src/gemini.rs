//! Google's `generateContent` API for Gemini.
//!
//! A model's content is sent back part by part as received: each part carries its own thought
//! signature.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::endpoint::Service;
use crate::provider::{Dialect, Ids, as_object, count, insert_some, missing};
use crate::tokens::plausible_usage;
use crate::{ChatReply, ChatRequest, Message, ModelError, Stop, ToolCall, Usage};

/// The provider itself.
pub const SERVICE: Service = Service {
    home: "https://generativelanguage.googleapis.com",
    base_env: "GOOGLE_GEMINI_BASE_URL",
    key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
};

/// The `generateContent` dialect.
#[derive(Debug)]
pub(crate) struct Gemini;

/// The path of a model: `models/NAME`, unless the name contains its folder (`tunedModels/NAME`).
pub(crate) fn path(model: &str) -> String {
    let folder = if model.contains('/') { "" } else { "models/" };
    format!("/v1beta/{folder}{model}:generateContent")
}

impl Dialect for Gemini {
    fn request(&self, request: &ChatRequest) -> Value {
        let mut body = json!({"contents": contents(&request.messages)});
        if !request.system.is_empty() {
            insert_some(&mut body, "systemInstruction", Some(json!({"parts": [{"text": request.system}]})));
        }
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                // `parameters` accepts only a subset of OpenAPI's schemas.
                json!({
                    "name": tool.name, "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        insert_some(
            &mut body,
            "tools",
            (!tools.is_empty()).then(|| json!([{"functionDeclarations": tools}])),
        );
        let mut config = json!({});
        insert_some(&mut config, "maxOutputTokens", request.max_output_tokens);
        insert_some(&mut config, "temperature", request.temperature);
        insert_some(&mut body, "generationConfig", (config != json!({})).then_some(config));
        body
    }

    fn reply(&self, body: &Value, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let raw_usage = body.get("usageMetadata").cloned().unwrap_or_default();
        let model = body.get("modelVersion").and_then(Value::as_str).map(str::to_owned);
        let mut reply = ChatReply {
            text: String::new(),
            tool_calls: Vec::new(),
            reasoning: None,
            stop: Stop::Refusal,
            usage: usage(&raw_usage),
            raw_usage,
            raw: Value::Null,
            model,
            retries: Vec::new(),
        };
        let Some(candidate) = body.pointer("/candidates/0") else {
            // A blocked prompt has no candidates.
            let is_blocked = body.pointer("/promptFeedback/blockReason").is_some();
            return if is_blocked { Ok(reply) } else { Err(missing("candidates", body)) };
        };

        let mut ids = Ids::new(&request.messages);
        let mut reasoning = String::new();
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
                if is_thought { &mut reasoning } else { &mut reply.text }.push_str(text);
            }
            if let Some(call) = part.get("functionCall") {
                let name = call.get("name").and_then(Value::as_str);
                let name = name.ok_or_else(|| missing("name of a called function", body))?.to_owned();
                let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
                let id = ids.unique_id(call.get("id").and_then(Value::as_str));
                reply.tool_calls.push(ToolCall { id, name, arguments });
            }
        }
        reply.reasoning = (!reasoning.is_empty()).then_some(reasoning);
        reply.raw = candidate.get("content").cloned().unwrap_or_default();
        reply.stop = match candidate.get("finishReason").and_then(Value::as_str) {
            Some("MAX_TOKENS") => Stop::Length,
            Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE") => {
                Stop::Refusal
            }
            Some("STOP") | None if !reply.tool_calls.is_empty() => Stop::Tools,
            Some("STOP") | None => Stop::End,
            Some(other) => Stop::Other(other.to_owned()),
        };
        Ok(reply)
    }
}

/// Converts the contents. The results of one turn's calls are in one content.
fn contents(messages: &[Message]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut given: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        if !matches!(message, Message::Tool { .. }) {
            flush(&mut out, &mut results);
        }
        match message {
            Message::User { text } => out.push(json!({"role": "user", "parts": [{"text": text}]})),
            Message::Assistant { text, tool_calls, raw } => {
                names.extend(tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
                let came = raw.get("parts").and_then(Value::as_array);
                let calls = came.into_iter().flatten().filter_map(|part| part.get("functionCall"));
                given.extend(calls.filter_map(|call| call.get("id")?.as_str()));
                let parts = came.cloned().unwrap_or_else(|| parts(text, tool_calls));
                // A content without parts cannot be sent.
                if !parts.is_empty() {
                    out.push(json!({"role": "model", "parts": parts}));
                }
            }
            Message::Tool { call_id, text, is_error } => {
                // Google's names for the result of a function.
                let field = if *is_error { "error" } else { "output" };
                let mut response = json!({});
                // Google accepts only ids that it assigned itself.
                insert_some(
                    &mut response,
                    "id",
                    given.contains(call_id.as_str()).then_some(call_id.as_str()),
                );
                let name = names.get(call_id.as_str()).copied().unwrap_or(call_id.as_str());
                insert_some(&mut response, "name", Some(name));
                insert_some(&mut response, "response", Some(json!({field: text})));
                results.push(json!({"functionResponse": response}));
            }
        }
    }
    flush(&mut out, &mut results);
    out
}

/// Ends a content of results.
fn flush(out: &mut Vec<Value>, results: &mut Vec<Value>) {
    if !results.is_empty() {
        out.push(json!({"role": "user", "parts": std::mem::take(results)}));
    }
}

/// The parts of a model's message that is not from Google.
fn parts(text: &str, tool_calls: &[ToolCall]) -> Vec<Value> {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({"text": text}));
    }
    parts.extend(tool_calls.iter().map(|call| {
        let args = as_object(&call.arguments);
        json!({"functionCall": {"name": call.name, "args": args}})
    }));
    parts
}

/// The four fields. `promptTokenCount` includes cached tokens but not results of Google's own
/// tools; `candidatesTokenCount` does not include thoughts.
pub fn usage(raw: &Value) -> Option<Usage> {
    let prompt = count(raw, "/promptTokenCount");
    let candidates = count(raw, "/candidatesTokenCount");
    if prompt.is_none() && candidates.is_none() {
        return None;
    }
    let prompt = prompt.unwrap_or(0);
    let cached = count(raw, "/cachedContentTokenCount").unwrap_or(0).min(prompt);
    let tools = count(raw, "/toolUsePromptTokenCount").unwrap_or(0);
    let thoughts = count(raw, "/thoughtsTokenCount").unwrap_or(0);
    plausible_usage(Usage {
        input: (prompt - cached).saturating_add(tools),
        output: candidates.unwrap_or(0).saturating_add(thoughts),
        cache_read: cached,
        cache_write: 0,
        ..Usage::default()
    })
}
