//! Messages.

use assay_model::{ChatRequest, Message, Stop, ToolCall, Usage};
use serde_json::{Value, json};

use crate::server::{KEY, Server, bash, call, canned, model, options, said, tool, turn, user};

fn message(content: &Value, stop: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1-2026", "content": content,
        "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 70,
                  "cache_creation_input_tokens": 11, "service_tier": "standard"},
    })
}

#[test]
fn request_has_the_documented_form() {
    let server =
        Server::start(vec![canned(200, message(&json!([{"type": "text", "text": "hello"}]), "end_turn"))]);
    let calls = |ids: &[&str]| -> Vec<ToolCall> {
        ids.iter()
            .map(|id| ToolCall {
                id: (*id).to_owned(),
                name: "bash".to_owned(),
                arguments: json!({"command": "ls"}),
            })
            .collect()
    };
    let turn_of = |text: &str, ids: &[&str]| Message::Assistant {
        text: text.to_owned(),
        tool_calls: calls(ids),
        raw: Value::Null,
    };
    let request = ChatRequest {
        system: "be brief".to_owned(),
        messages: vec![
            user("list"),
            turn_of("", &["c1", "c2"]),
            tool("c1", "a.txt", false),
            tool("c2", "no", true),
            user("go on"),
            turn_of("", &[]),
            user(" "),
        ],
        tools: vec![bash()],
        max_output_tokens: None,
        temperature: Some(1.0),
    };
    let reply = turn("anthropic", &server.url, &request).unwrap();
    assert_eq!((reply.text.as_str(), &reply.stop), ("hello", &Stop::End));
    let usage = Usage { input: 3, output: 5, cache_read: 70, cache_write: 11, ..Usage::default() };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(reply.raw_usage["service_tier"], "standard");

    let asked = server.only();
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    let input = json!({"command": "ls"});
    assert_eq!(
        asked.body,
        json!({
            "model": "m-1", "max_tokens": 8192,
            "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "list"}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": input},
                    {"type": "tool_use", "id": "c2", "name": "bash", "input": input}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a.txt"}]},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "no"}],
                     "is_error": true},
                    {"type": "text", "text": "go on"},
                    {"type": "text", "text": "(nothing)", "cache_control": {"type": "ephemeral"}}]},
            ],
            "tools": [{"name": "bash", "description": "Runs a command.", "input_schema": bash().parameters}],
            "temperature": 1.0,
        })
    );
}

#[test]
fn signed_thinking_goes_back_unchanged() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "SIG=="},
        {"type": "redacted_thinking", "data": "DATA"},
        {"type": "text", "text": ""},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
    ]);
    let server = Server::start(vec![
        canned(200, message(&content, "tool_use")),
        canned(200, message(&json!([]), "end_turn")),
    ]);
    let model = model("anthropic:m-1", &options(&server.url));
    let mut request =
        ChatRequest { messages: vec![user("go")], tools: vec![bash()], ..ChatRequest::default() };
    let reply = model.chat(&request, &call()).unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.as_deref()), ("I look.", Some("hm")));
    assert_eq!(reply.stop, Stop::Tools);
    assert_eq!(reply.tool_calls[0].id, "toolu_1");
    // As stored on disk and read again.
    let kept = serde_json::to_string(&said(&reply)).unwrap();
    request.messages.push(serde_json::from_str(&kept).unwrap());
    request.messages.push(tool("toolu_1", "", false));
    let reply = model.chat(&request, &call()).unwrap();
    assert_eq!((reply.text.as_str(), &reply.stop), ("", &Stop::End));

    let sent = server.requests().pop().unwrap().body;
    let mut expected = content.as_array().unwrap().clone();
    expected.remove(2);
    assert_eq!(sent["messages"][1], json!({"role": "assistant", "content": expected}));
    let result =
        json!({"type": "tool_result", "tool_use_id": "toolu_1", "cache_control": {"type": "ephemeral"}});
    assert_eq!(sent["messages"][2], json!({"role": "user", "content": [result]}));
}

#[test]
fn stop_reasons_are_distinguished() {
    let check = |reason: &str, expected: Stop| {
        let server = Server::start(vec![canned(200, message(&json!([]), reason))]);
        let reply = turn("anthropic", &server.url, &ChatRequest::default()).unwrap();
        assert_eq!(reply.stop, expected, "{reason}");
    };
    check("end_turn", Stop::End);
    check("stop_sequence", Stop::End);
    check("max_tokens", Stop::Length);
    check("model_context_window_exceeded", Stop::Length);
    check("refusal", Stop::Refusal);
    check("pause_turn", Stop::Other("pause_turn".to_owned()));
}
