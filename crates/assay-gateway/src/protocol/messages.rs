//! Anthropic's Messages.

use assay_model::{ChatRequest, Message, Tool, ToolCall, wire};
use assay_trace::Usage;
use serde_json::{Map, Value, json};

use super::dialect::{
    Changes, Dialect, NotPassed, Pins, ScriptedReply, Seen, assistant, flat, items, keep_tools, lower,
    named_event, pin_model, refers, result_text, set_temperature, text_at,
};

pub(super) struct Messages;

/// Tools of the protocol that the agent runs itself; a version follows each name. Searching among
/// tools that are in the request reaches nothing outside it.
const OWN: [&str; 5] = ["bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"];

/// Fields of a block, or of a delta, that contain what a model wrote.
const WRITTEN: [&str; 5] = ["text", "thinking", "partial_json", "name", "input"];

impl Dialect for Messages {
    fn conversation(&self, body: &Value) -> ChatRequest {
        let mut messages = Vec::new();
        for message in items(body, "messages") {
            let content = message.get("content").unwrap_or(&Value::Null);
            let is_model = message.get("role").is_some_and(|role| role == "assistant");
            let whole = [json!({"type": "text", "text": content})];
            let blocks =
                content.as_array().map_or(if content.is_string() { &whole[..] } else { &[] }, Vec::as_slice);
            for block in blocks {
                match block.get("type").and_then(Value::as_str) {
                    Some("text") if is_model => assistant(&mut messages, &text_at(block, "text"), None),
                    Some("text") => messages.push(Message::User { text: text_at(block, "text") }),
                    Some("tool_use") => {
                        let call = ToolCall {
                            id: text_at(block, "id"),
                            name: text_at(block, "name"),
                            arguments: block.get("input").cloned().unwrap_or_default(),
                        };
                        assistant(&mut messages, "", Some(call));
                    }
                    Some("tool_result") => messages.push(Message::Tool {
                        call_id: text_at(block, "tool_use_id"),
                        text: result_text(block.get("content").unwrap_or(&Value::Null)),
                        is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
                    }),
                    _ => {}
                }
            }
        }
        let tools = items(body, "tools").map(|tool| Tool {
            name: text_at(tool, "name"),
            description: text_at(tool, "description"),
            parameters: tool.get("input_schema").cloned().unwrap_or_default(),
        });
        let system = body.get("system").map(flat).unwrap_or_default();
        ChatRequest { system, messages, tools: tools.collect(), ..ChatRequest::default() }
    }

    fn constrain(&self, body: &mut Value, pins: &Pins<'_>, changes: &mut Changes) -> Result<(), NotPassed> {
        pin_model(body, pins);
        changes
            .strip(body, &["mcp_servers", "container", "service_tier", "speed", "inference_geo", "metadata"]);
        let own = |kind: &str| kind == "custom" || OWN.iter().any(|name| kind.starts_with(name));
        keep_tools(body, &own, pins, changes);
        set_temperature(body, pins, changes);
        if let Some(most) = pins.max_output_tokens {
            lower(body, "max_tokens", most, changes);
            // Thinking uses the same budget, and must be smaller.
            let budget = body.pointer("/thinking/budget_tokens").and_then(Value::as_u64);
            let allowed = body.get("max_tokens").and_then(Value::as_u64).unwrap_or(most);
            if budget.is_some_and(|budget| budget >= allowed) {
                changes.strip(body, &["thinking"]);
            }
        }
        let remote = |object: &Map<String, Value>| match object.get("type").and_then(Value::as_str) {
            Some("url") if object.contains_key("url") => Some("a source given by URL"),
            Some("file") if object.contains_key("file_id") => Some("a file stored at the provider"),
            Some("container_upload") => Some("a file stored in a container at the provider"),
            _ => None,
        };
        let shown = [body.get("system"), body.get("messages")];
        match shown.into_iter().flatten().find_map(|part| refers(part, &remote)) {
            Some(what) => Err(NotPassed::Fetched(what)),
            None => Ok(()),
        }
    }

    fn observe(&self, event: &Value, seen: &mut Seen) {
        match event.get("type").and_then(Value::as_str) {
            Some("message") => {
                seen.add_model(event.get("model"));
                seen.add_usage(event.get("usage"));
                let called = |block: &&Value| block.get("type").is_some_and(|kind| kind == "tool_use");
                items(event, "content").filter(called).for_each(|block| seen.add_call(block.get("name")));
                items(event, "content").for_each(|block| seen.add_whole(block, &WRITTEN));
                seen.finished = true;
            }
            Some("message_start") => {
                seen.add_model(event.pointer("/message/model"));
                seen.add_usage(event.pointer("/message/usage"));
            }
            Some("content_block_start") => {
                let block = event
                    .get("content_block")
                    .filter(|block| block.get("type").is_some_and(|kind| kind == "tool_use"));
                seen.add_call(block.and_then(|block| block.get("name")));
                seen.add_piece(event.get("content_block").unwrap_or(&Value::Null), &WRITTEN);
            }
            Some("content_block_delta") => {
                seen.add_piece(event.get("delta").unwrap_or(&Value::Null), &WRITTEN);
            }
            Some("message_delta") => seen.add_usage(event.get("usage")),
            Some("message_stop") => seen.finished = true,
            Some("error") => seen.error = Some(wire::excerpt(event.to_string().as_bytes())),
            _ => {}
        }
    }

    fn usage(&self, raw: &Value) -> Option<Usage> {
        wire::messages_usage(raw)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        // https://docs.claude.com/en/api/errors
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}})
    }

    fn reply(&self, said: &ScriptedReply<'_>) -> Value {
        let mut content = Vec::new();
        if !said.turn.say.is_empty() {
            content.push(json!({"type": "text", "text": said.turn.say}));
        }
        content.extend(said.calls().map(
            |(id, call)| json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}),
        ));
        let mut message = begun(said);
        if let Some(object) = message.as_object_mut() {
            object.insert("content".to_owned(), json!(content));
            object.insert("stop_reason".to_owned(), json!(reason(said)));
            object.insert("usage".to_owned(), usage(said, said.turn.usage.output));
        }
        message
    }

    fn events(&self, said: &ScriptedReply<'_>) -> Vec<String> {
        let mut events =
            vec![named_event("message_start", &json!({"type": "message_start", "message": begun(said)}))];
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            let start = json!({"type": "content_block_start", "index": index, "content_block": start});
            events.push(named_event("content_block_start", &start));
            for delta in deltas {
                let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
                events.push(named_event("content_block_delta", &delta));
            }
            let stop = json!({"type": "content_block_stop", "index": index});
            events.push(named_event("content_block_stop", &stop));
            index += 1;
        };
        if !said.turn.say.is_empty() {
            let deltas = said.pieces().into_iter().map(|text| json!({"type": "text_delta", "text": text}));
            block(json!({"type": "text", "text": ""}), deltas.collect());
        }
        for (id, call) in said.calls() {
            let delta = json!({"type": "input_json_delta", "partial_json": call.arguments.to_string()});
            block(json!({"type": "tool_use", "id": id, "name": call.name, "input": {}}), vec![delta]);
        }
        let delta = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason(said), "stop_sequence": null},
            "usage": {"output_tokens": said.turn.usage.output},
        });
        events.push(named_event("message_delta", &delta));
        events.push(named_event("message_stop", &json!({"type": "message_stop"})));
        events
    }
}

fn reason(said: &ScriptedReply<'_>) -> &'static str {
    if said.turn.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn usage(said: &ScriptedReply<'_>, output: u64) -> Value {
    json!({
        "input_tokens": said.turn.usage.input, "output_tokens": output,
        "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
    })
}

/// The message before its first content.
fn begun(said: &ScriptedReply<'_>) -> Value {
    json!({
        "id": format!("msg_scripted_{}", said.ordinal), "type": "message", "role": "assistant",
        "model": said.model, "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(said, 1),
    })
}
