//! OpenAI's chat completions, which many other servers support.

use assay_model::{ChatRequest, Message, Tool, ToolCall, wire};
use assay_trace::Usage;
use serde_json::{Map, Value, json};

use super::dialect::{
    Changes, Dialect, NotPassed, Pins, ScriptedReply, Seen, assistant, event, flat, is_remote, items,
    keep_tools, lower, parsed, pin_model, refers, result_text, set_temperature, text_at,
};

pub(super) struct Completions;

impl Dialect for Completions {
    fn conversation(&self, body: &Value) -> ChatRequest {
        let (mut system, mut messages) = (Vec::new(), Vec::new());
        for message in items(body, "messages") {
            let text = message.get("content").map(flat).unwrap_or_default();
            match message.get("role").and_then(Value::as_str) {
                Some("system" | "developer") if messages.is_empty() => system.push(text),
                Some("assistant") => {
                    assistant(&mut messages, &text, None);
                    for call in items(message, "tool_calls") {
                        let function = call.get("function").unwrap_or(&Value::Null);
                        let call = ToolCall {
                            id: text_at(call, "id"),
                            name: text_at(function, "name"),
                            arguments: function.get("arguments").map(parsed).unwrap_or_default(),
                        };
                        assistant(&mut messages, "", Some(call));
                    }
                }
                Some("tool" | "function") => messages.push(Message::Tool {
                    call_id: text_at(message, "tool_call_id"),
                    text: result_text(&json!(text)),
                    is_error: false,
                }),
                _ => messages.push(Message::User { text }),
            }
        }
        let tools = items(body, "tools").filter_map(|tool| tool.get("function")).map(|function| Tool {
            name: text_at(function, "name"),
            description: text_at(function, "description"),
            parameters: function.get("parameters").cloned().unwrap_or_default(),
        });
        let tools = tools.collect();
        ChatRequest { system: system.join("\n"), messages, tools, ..ChatRequest::default() }
    }

    fn constrain(&self, body: &mut Value, pins: &Pins<'_>, changes: &mut Changes) -> Result<(), NotPassed> {
        pin_model(body, pins);
        let fields =
            ["store", "web_search_options", "metadata", "user", "safety_identifier", "service_tier", "n"];
        changes.strip(body, &fields);
        keep_tools(body, &|kind| matches!(kind, "function" | "custom"), pins, changes);
        set_temperature(body, pins, changes);
        if let Some(most) = pins.max_output_tokens {
            let has = |name: &str| body.get(name).is_some();
            let (new, old) = ("max_completion_tokens", "max_tokens");
            let (has_new, has_old) = (has(new), has(old));
            // OpenAI's newer models accept one name, most other servers the other.
            let names =
                [(new, has_new || (!has_old && pins.is_home)), (old, has_old || (!has_new && !pins.is_home))];
            for (name, _) in names.into_iter().filter(|(_, is_sent)| *is_sent) {
                lower(body, name, most, changes);
            }
        }
        if body.get("stream").is_some_and(|stream| stream == true)
            && body.pointer("/stream_options/include_usage") != Some(&json!(true))
            && let Some(object) = body.as_object_mut()
        {
            let options = object.entry("stream_options").or_insert_with(|| json!({}));
            if !options.is_object() {
                *options = json!({});
            }
            if let Some(options) = options.as_object_mut() {
                options.insert("include_usage".to_owned(), json!(true));
            }
            changes.hides_usage = true;
        }
        let remote = |object: &Map<String, Value>| match object.get("type").and_then(Value::as_str) {
            Some("image_url") => {
                let url = object.get("image_url").map(|image| image.get("url").unwrap_or(image));
                is_remote(url).then_some("an image given by URL")
            }
            Some("file") => {
                let file = object.get("file")?;
                (file.get("file_id").is_some() || is_remote(file.get("file_url")))
                    .then_some("a file given by URL")
            }
            _ => None,
        };
        match body.get("messages").and_then(|messages| refers(messages, &remote)) {
            Some(what) => Err(NotPassed::Fetched(what)),
            None => Ok(()),
        }
    }

    fn observe(&self, event: &Value, seen: &mut Seen) {
        seen.add_model(event.get("model"));
        seen.add_usage(event.get("usage"));
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            seen.error = Some(wire::excerpt(error.to_string().as_bytes()));
        }
        for choice in items(event, "choices") {
            for part in ["delta", "message"].iter().filter_map(|key| choice.get(*key)) {
                seen.add_piece(part, &["content", "reasoning_content", "reasoning", "refusal"]);
                for call in items(part, "tool_calls") {
                    seen.add_call(call.pointer("/function/name"));
                    seen.add_piece(call.get("function").unwrap_or(&Value::Null), &["name", "arguments"]);
                }
            }
            seen.finished |= choice.get("finish_reason").is_some_and(Value::is_string);
        }
    }

    fn usage(&self, raw: &Value) -> Option<Usage> {
        wire::completions_usage(raw)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        error(status, message)
    }

    fn reply(&self, said: &ScriptedReply<'_>) -> Value {
        let calls: Vec<Value> = said.calls().map(|(id, call)| function(&id, call)).collect();
        let mut message = json!({"role": "assistant", "content": said.turn.say});
        if !calls.is_empty()
            && let Some(object) = message.as_object_mut()
        {
            object.insert("tool_calls".to_owned(), json!(calls));
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": reason(said)});
        with_usage(chunk(said, "chat.completion", &json!([choice])), said)
    }

    fn events(&self, said: &ScriptedReply<'_>) -> Vec<String> {
        let delta = |delta: Value, reason: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            event(&chunk(said, "chat.completion.chunk", &json!([choice])))
        };
        let mut events = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
        events.extend(said.pieces().into_iter().map(|text| delta(json!({"content": text}), Value::Null)));
        for (index, (id, call)) in said.calls().enumerate() {
            let mut call = function(&id, call);
            if let Some(object) = call.as_object_mut() {
                object.insert("index".to_owned(), json!(index));
            }
            events.push(delta(json!({"tool_calls": [call]}), Value::Null));
        }
        events.push(delta(json!({}), json!(reason(said))));
        events.push(event(&with_usage(chunk(said, "chat.completion.chunk", &json!([])), said)));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }
}

/// An error in OpenAI's format.
pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", json!("invalid_api_key")),
        429 => ("rate_limit_error", json!("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", Value::Null),
        _ => ("server_error", Value::Null),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn reason(said: &ScriptedReply<'_>) -> &'static str {
    if said.turn.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn function(id: &str, call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    json!({"id": id, "type": "function", "function": function})
}

fn chunk(said: &ScriptedReply<'_>, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-scripted-{}", said.ordinal), "object": object, "created": 0,
        "model": said.model, "choices": choices,
    })
}

fn with_usage(mut body: Value, said: &ScriptedReply<'_>) -> Value {
    let assay_model::Usage { input, output, .. } = said.turn.usage;
    let usage = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": {"cached_tokens": 0},
    });
    if let Some(object) = body.as_object_mut() {
        object.insert("usage".to_owned(), usage);
    }
    body
}
