//! OpenAI's Responses.

use assay_model::{ChatRequest, Message, Tool, ToolCall, wire};
use assay_trace::Usage;
use serde_json::{Map, Value, json};

use super::dialect::{
    Changes, Dialect, NotPassed, Pins, ScriptedReply, Seen, assistant, flat, is_remote, items, keep_tools,
    lower, named_event, parsed, pin_model, refers, result_text, set_temperature, text_at,
};

pub(super) struct Responses;

/// Fields of an item that contain what a model wrote.
const WRITTEN: [&str; 6] = ["content", "summary", "name", "arguments", "input", "action"];

/// Tools that the agent runs.
const OWN: [&str; 6] = ["function", "custom", "local_shell", "apply_patch", "namespace", "tool_search"];

impl Dialect for Responses {
    fn conversation(&self, body: &Value) -> ChatRequest {
        let mut messages = Vec::new();
        if let Some(text) = body.get("input").and_then(Value::as_str) {
            messages.push(Message::User { text: text.to_owned() });
        }
        for item in items(body, "input") {
            let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
            match kind {
                "message" => {
                    let text = item.get("content").map(flat).unwrap_or_default();
                    if item.get("role").is_some_and(|role| role == "assistant") {
                        assistant(&mut messages, &text, None);
                    } else {
                        messages.push(Message::User { text });
                    }
                }
                "function_call" | "custom_tool_call" | "local_shell_call" => {
                    let given = ["arguments", "input", "action"].iter().find_map(|key| item.get(*key));
                    let call = ToolCall {
                        id: text_at(item, "call_id"),
                        name: text_at(item, "name"),
                        arguments: given.map(parsed).unwrap_or_default(),
                    };
                    assistant(&mut messages, "", Some(call));
                }
                "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                    messages.push(Message::Tool {
                        call_id: text_at(item, "call_id"),
                        text: result_text(item.get("output").unwrap_or(&Value::Null)),
                        is_error: false,
                    });
                }
                _ => {}
            }
        }
        let mut tools = Vec::new();
        for tool in items(body, "tools") {
            let nested = items(tool, "tools").filter(|tool| tool.get("name").is_some());
            for tool in std::iter::once(tool).filter(|tool| tool.get("parameters").is_some()).chain(nested) {
                tools.push(Tool {
                    name: text_at(tool, "name"),
                    description: text_at(tool, "description"),
                    parameters: tool.get("parameters").cloned().unwrap_or_default(),
                });
            }
        }
        ChatRequest { system: text_at(body, "instructions"), messages, tools, ..ChatRequest::default() }
    }

    fn constrain(&self, body: &mut Value, pins: &Pins<'_>, changes: &mut Changes) -> Result<(), NotPassed> {
        for (name, what) in [
            ("previous_response_id", " an earlier reply"),
            ("conversation", " a conversation"),
            ("prompt", " a prompt"),
        ] {
            if body.get(name).is_some_and(|value| !value.is_null()) {
                return Err(NotPassed::Stored { name, what });
            }
        }
        if body.get("background").is_some_and(|value| value != false && !value.is_null()) {
            return Err(NotPassed::Background);
        }
        pin_model(body, pins);
        changes.strip(body, &["service_tier", "metadata", "client_metadata", "user", "safety_identifier"]);
        if body.get("store") != Some(&json!(false))
            && let Some(object) = body.as_object_mut()
        {
            object.insert("store".to_owned(), json!(false));
            changes.note("store".to_owned());
        }
        keep_tools(body, &|kind| OWN.contains(&kind), pins, changes);
        let tools = body.get_mut("tools").and_then(Value::as_array_mut);
        for space in tools.into_iter().flatten().filter(|tool| tool.get("tools").is_some()) {
            keep_tools(space, &|kind| OWN.contains(&kind), pins, changes);
        }
        set_temperature(body, pins, changes);
        if let Some(most) = pins.max_output_tokens {
            lower(body, "max_output_tokens", most, changes);
        }
        let remote = |object: &Map<String, Value>| match object.get("type").and_then(Value::as_str) {
            Some("item_reference") => Some("an item stored at the provider"),
            Some("input_image" | "input_file") if object.get("file_id").is_some_and(|id| !id.is_null()) => {
                Some("a file stored at the provider")
            }
            Some("input_image") if is_remote(object.get("image_url")) => Some("an image given by URL"),
            Some("input_file") if is_remote(object.get("file_url")) => Some("a file given by URL"),
            _ => None,
        };
        match body.get("input").and_then(|input| refers(input, &remote)) {
            Some(what) => Err(NotPassed::Fetched(what)),
            None => Ok(()),
        }
    }

    fn observe(&self, event: &Value, seen: &mut Seen) {
        let mut whole = |reply: &Value| {
            seen.add_model(reply.get("model"));
            seen.add_usage(reply.get("usage"));
        };
        match event.get("type").and_then(Value::as_str) {
            Some("response.created") => whole(event.get("response").unwrap_or(&Value::Null)),
            Some("response.output_item.done") => {
                let item = event.get("item").unwrap_or(&Value::Null);
                seen.add_whole(item, &WRITTEN);
                seen.add_call(Some(item).filter(|item| is_call(item)).and_then(|item| item.get("name")));
            }
            // Texts, arguments and reasoning each have an event type of their own.
            Some(kind) if kind.strip_suffix(".delta").is_some() => seen.add_piece(event, &["delta"]),
            Some("response.completed" | "response.incomplete") => {
                whole(event.get("response").unwrap_or(&Value::Null));
                seen.finished = true;
            }
            Some("response.failed" | "error") => {
                whole(event.get("response").unwrap_or(&Value::Null));
                let error = event.pointer("/response/error").unwrap_or(event);
                seen.error = Some(wire::excerpt(error.to_string().as_bytes()));
            }
            None if event.get("object").is_some_and(|object| object == "response") => {
                whole(event);
                items(event, "output")
                    .filter(|item| is_call(item))
                    .for_each(|item| seen.add_call(item.get("name")));
                items(event, "output").for_each(|item| seen.add_whole(item, &WRITTEN));
                seen.finished = true;
            }
            _ => {}
        }
    }

    fn usage(&self, raw: &Value) -> Option<Usage> {
        wire::responses_usage(raw)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        super::completions::error(status, message)
    }

    fn reply(&self, said: &ScriptedReply<'_>) -> Value {
        let output: Vec<Value> = output(said).into_iter().map(|(item, _)| item).collect();
        response(said, "completed", &json!(output), true)
    }

    fn events(&self, said: &ScriptedReply<'_>) -> Vec<String> {
        let (mut events, mut number) = (Vec::new(), 0);
        let mut send = |name: &str, mut data: Value| {
            if let Some(object) = data.as_object_mut() {
                object.insert("type".to_owned(), json!(name));
                object.insert("sequence_number".to_owned(), json!(number));
            }
            number += 1;
            events.push(named_event(name, &data));
        };
        let begun = response(said, "in_progress", &json!([]), false);
        send("response.created", json!({"response": begun}));
        send("response.in_progress", json!({"response": begun}));
        let output = output(said);
        for (index, (item, begun)) in output.iter().enumerate() {
            let id = text_at(item, "id");
            send("response.output_item.added", json!({"output_index": index, "item": begun}));
            if item.get("type").is_some_and(|kind| kind == "message") {
                let at = |mut data: Value| {
                    if let Some(object) = data.as_object_mut() {
                        object.insert("item_id".to_owned(), json!(id));
                        object.insert("output_index".to_owned(), json!(index));
                        object.insert("content_index".to_owned(), json!(0));
                    }
                    data
                };
                let empty = json!({"type": "output_text", "text": "", "annotations": []});
                send("response.content_part.added", at(json!({"part": empty})));
                for piece in said.pieces() {
                    send("response.output_text.delta", at(json!({"delta": piece})));
                }
                send("response.output_text.done", at(json!({"text": said.turn.say})));
                let part = json!({"type": "output_text", "text": said.turn.say, "annotations": []});
                send("response.content_part.done", at(json!({"part": part})));
            } else {
                let arguments = text_at(item, "arguments");
                let delta = json!({"item_id": id, "output_index": index, "delta": arguments});
                send("response.function_call_arguments.delta", delta);
                let done = json!({"item_id": id, "output_index": index, "arguments": arguments});
                send("response.function_call_arguments.done", done);
            }
            send("response.output_item.done", json!({"output_index": index, "item": item}));
        }
        let items: Vec<Value> = output.into_iter().map(|(item, _)| item).collect();
        send("response.completed", json!({"response": response(said, "completed", &json!(items), true)}));
        events
    }
}

fn is_call(item: &Value) -> bool {
    matches!(item.get("type").and_then(Value::as_str), Some("function_call" | "custom_tool_call"))
}

/// The namespace in which a request offers a tool, such as that of an MCP server.
fn namespace_of<'a>(request: &'a Value, name: &str) -> Option<&'a str> {
    let is_named = |tool: &Value| tool.get("name").and_then(Value::as_str) == Some(name);
    let namespace = items(request, "tools").find(|tool| items(tool, "tools").any(is_named))?;
    namespace.get("name").and_then(Value::as_str)
}

/// Output items, each in its final and in its initial form.
fn output(said: &ScriptedReply<'_>) -> Vec<(Value, Value)> {
    let mut items = Vec::new();
    if !said.turn.say.is_empty() {
        let id = format!("msg_scripted_{}", said.ordinal);
        let item = |status: &str, content: Value| json!({"type": "message", "id": id, "status": status, "role": "assistant", "content": content});
        let content = json!([{"type": "output_text", "text": said.turn.say, "annotations": []}]);
        items.push((item("completed", content), item("in_progress", json!([]))));
    }
    items.extend(said.calls().map(|(id, call)| {
        let namespace = namespace_of(said.request, &call.name);
        let item = |status: &str, arguments: String| {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": call.name,
                "arguments": arguments, "status": status,
            });
            if let Some(namespace) = namespace {
                item["namespace"] = json!(namespace);
            }
            item
        };
        (item("completed", call.arguments.to_string()), item("in_progress", String::new()))
    }));
    items
}

fn response(said: &ScriptedReply<'_>, status: &str, output: &Value, is_done: bool) -> Value {
    let assay_model::Usage { input, output: written, .. } = said.turn.usage;
    let usage = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input.saturating_add(written),
    });
    json!({
        "id": format!("resp_scripted_{}", said.ordinal), "object": "response", "created_at": 0, "status": status,
        "model": said.model, "output": output, "error": null, "incomplete_details": null,
        "usage": if is_done { usage } else { Value::Null },
    })
}
