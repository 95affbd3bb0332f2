//! Gemini's `generateContent` and `streamGenerateContent`.

use assay_model::{ChatRequest, Message, Tool, ToolCall, wire};
use assay_trace::Usage;
use serde_json::{Map, Value, json};

use super::dialect::{
    Changes, Dialect, NotPassed, Pins, ScriptedReply, Seen, assistant, event, flat, items, lower, refers,
    result_text, set_temperature, text_at,
};

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn conversation(&self, body: &Value) -> ChatRequest {
        let mut messages = Vec::new();
        for content in items(body, "contents") {
            let is_model = content.get("role").is_some_and(|role| role == "model");
            for part in items(content, "parts") {
                let text = text_at(part, "text");
                if let Some(call) = part.get("functionCall") {
                    let call = ToolCall {
                        id: text_at(call, "id"),
                        name: text_at(call, "name"),
                        arguments: call.get("args").cloned().unwrap_or_default(),
                    };
                    assistant(&mut messages, "", Some(call));
                } else if let Some(response) = part.get("functionResponse") {
                    messages.push(Message::Tool {
                        call_id: text_at(response, "id"),
                        text: result_text(response.get("response").unwrap_or(&Value::Null)),
                        is_error: false,
                    });
                } else if is_model {
                    let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or_default();
                    assistant(&mut messages, if is_thought { "" } else { &text }, None);
                } else {
                    messages.push(Message::User { text });
                }
            }
        }
        let tools = items(body, "tools").flat_map(|tool| items(tool, "functionDeclarations"));
        let tools = tools.map(|function| Tool {
            name: text_at(function, "name"),
            description: text_at(function, "description"),
            parameters: ["parametersJsonSchema", "parameters"]
                .iter()
                .find_map(|key| function.get(*key))
                .cloned()
                .unwrap_or_default(),
        });
        let tools = tools.collect();
        let system = ["systemInstruction", "system_instruction"].iter().find_map(|key| body.get(*key));
        let system = system.map(flat).unwrap_or_default();
        ChatRequest { system, messages, tools, ..ChatRequest::default() }
    }

    fn constrain(&self, body: &mut Value, pins: &Pins<'_>, changes: &mut Changes) -> Result<(), NotPassed> {
        if ["cachedContent", "cached_content"].iter().any(|key| body.get(*key).is_some()) {
            return Err(NotPassed::Stored { name: "cachedContent", what: "" });
        }
        // A `countTokens` request can contain a whole other request.
        changes.strip(body, &["model", "labels", "generateContentRequest"]);
        let is_own = |name: &str| {
            matches!(name, "functionDeclarations" | "function_declarations")
                || pins.provider_tools.iter().any(|allowed| allowed == name)
        };
        if let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) {
            for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
                let others: Vec<String> = tool.keys().filter(|name| !is_own(name)).cloned().collect();
                for name in others {
                    tool.shift_remove(&name);
                    changes.note(format!("tool {}", wire::excerpt(name.as_bytes())));
                }
            }
            tools.retain(|tool| tool.as_object().is_some_and(|tool| !tool.is_empty()));
            if tools.is_empty() {
                changes.strip(body, &["tools", "toolConfig"]);
            }
        }
        if let Some(object) = body.as_object_mut()
            && let Some(old) = object.shift_remove("generation_config")
        {
            object.insert("generationConfig".to_owned(), old);
        }
        if let Some(config) = body.get_mut("generationConfig") {
            changes.strip(config, &["candidateCount", "candidate_count"]);
            if let Some(config) = config.as_object_mut()
                && let Some(old) = config.shift_remove("max_output_tokens")
            {
                config.insert("maxOutputTokens".to_owned(), old);
            }
        }
        if pins.temperature.is_some()
            && let Some(object) = body.as_object_mut()
        {
            set_temperature(object.entry("generationConfig").or_insert_with(|| json!({})), pins, changes);
        }
        if let Some(most) = pins.max_output_tokens
            && let Some(object) = body.as_object_mut()
        {
            lower(
                object.entry("generationConfig").or_insert_with(|| json!({})),
                "maxOutputTokens",
                most,
                changes,
            );
        }
        let remote = |object: &Map<String, Value>| {
            ["fileData", "file_data"]
                .iter()
                .any(|key| object.contains_key(*key))
                .then_some("a file given by URL")
        };
        let shown = ["contents", "systemInstruction", "system_instruction"];
        match shown.iter().filter_map(|key| body.get(*key)).find_map(|part| refers(part, &remote)) {
            Some(what) => Err(NotPassed::Fetched(what)),
            None => Ok(()),
        }
    }

    fn observe(&self, event: &Value, seen: &mut Seen) {
        seen.add_model(event.get("modelVersion"));
        seen.add_usage(event.get("usageMetadata"));
        if let Some(error) = event.get("error") {
            seen.error = Some(wire::excerpt(error.to_string().as_bytes()));
        }
        for candidate in items(event, "candidates") {
            for part in candidate.get("content").into_iter().flat_map(|content| items(content, "parts")) {
                seen.add_call(part.pointer("/functionCall/name"));
                seen.add_piece(part, &["text", "functionCall", "executableCode"]);
            }
            seen.finished |= candidate.get("finishReason").is_some_and(Value::is_string);
        }
        seen.finished |= event.pointer("/promptFeedback/blockReason").is_some();
    }

    fn usage(&self, raw: &Value) -> Option<Usage> {
        wire::gemini_usage(raw)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        // https://cloud.google.com/apis/design/errors
        let name = match status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            400..=499 => "INVALID_ARGUMENT",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({"error": {"code": status, "message": message, "status": name}})
    }

    fn reply(&self, said: &ScriptedReply<'_>) -> Value {
        let mut parts = Vec::new();
        if !said.turn.say.is_empty() {
            parts.push(json!({"text": said.turn.say}));
        }
        parts.extend(calls(said));
        chunk(said, &parts, true)
    }

    fn events(&self, said: &ScriptedReply<'_>) -> Vec<String> {
        let mut parts: Vec<Value> = said.pieces().into_iter().map(|text| json!({"text": text})).collect();
        parts.extend(calls(said));
        let mut events: Vec<String> =
            parts.iter().map(|part| event(&chunk(said, std::slice::from_ref(part), false))).collect();
        events.push(event(&chunk(said, &[json!({"text": ""})], true)));
        events
    }
}

fn calls(said: &ScriptedReply<'_>) -> Vec<Value> {
    let call = |(id, call): (String, &ToolCall)| json!({"functionCall": {"id": id, "name": call.name, "args": call.arguments}});
    said.calls().map(call).collect()
}

fn chunk(said: &ScriptedReply<'_>, parts: &[Value], is_last: bool) -> Value {
    let assay_model::Usage { input, output, .. } = said.turn.usage;
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if is_last && let Some(object) = candidate.as_object_mut() {
        object.insert("finishReason".to_owned(), json!("STOP"));
    }
    let mut body = json!({
        "candidates": [candidate], "modelVersion": said.model,
        "responseId": format!("scripted-{}", said.ordinal),
    });
    if is_last && let Some(object) = body.as_object_mut() {
        let usage = json!({
            "promptTokenCount": input, "candidatesTokenCount": output,
            "totalTokenCount": input.saturating_add(output),
        });
        object.insert("usageMetadata".to_owned(), usage);
    }
    body
}
