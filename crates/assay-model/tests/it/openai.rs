//! Chat completions.

use assay_model::{ChatRequest, Message, Stop, ToolCall, Usage};
use serde_json::{Value, json};

use crate::server::{KEY, Server, bash, call, canned, model, options, said, tool, turn, user};

fn completion(message: &Value, finish: &str, usage: &Value) -> Value {
    json!({
        "id": "c-1", "object": "chat.completion", "model": "m-1-2026",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": usage,
    })
}

#[test]
fn request_has_the_documented_form() {
    let answer = completion(&json!({"role": "assistant", "content": "hello"}), "stop", &Value::Null);
    let server = Server::start(vec![canned(200, answer)]);
    let request = ChatRequest {
        system: "be brief".to_owned(),
        messages: vec![
            user("list"),
            Message::Assistant {
                text: "looking".to_owned(),
                tool_calls: vec![ToolCall {
                    id: "c1".to_owned(),
                    name: "bash".to_owned(),
                    arguments: json!({"command": "ls"}),
                }],
                raw: Value::Null,
            },
            tool("c1", "a.txt", false),
        ],
        tools: vec![bash()],
        max_output_tokens: Some(100),
        temperature: Some(0.5),
    };
    let reply = turn("openai", &server.url, &request).unwrap();
    assert_eq!((reply.text.as_str(), &reply.stop, reply.usage), ("hello", &Stop::End, None));
    assert_eq!(reply.model.as_deref(), Some("m-1-2026"));

    let asked = server.only();
    assert_eq!(asked.path, "/chat/completions");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(
        asked.body,
        json!({
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "list"},
                {"role": "assistant", "content": "looking", "tool_calls": [
                    {"id": "c1", "type": "function",
                     "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "bash", "description": "Runs a command.", "parameters": bash().parameters}}],
            "max_tokens": 100,
            "temperature": 0.5,
        })
    );
}

#[test]
fn request_without_key_sends_none_and_options_apply() {
    let answer = completion(&json!({"content": "x"}), "stop", &Value::Null);
    let server = Server::start(vec![canned(200, answer)]);
    let options = assay_model::ModelOptions {
        max_output_tokens: Some(7),
        temperature: Some(0.0),
        ..options(&server.url)
    };
    let model = assay_model::open("openai:qwen3:8b", &options, &|_| None).unwrap();
    let request = ChatRequest { messages: vec![user("x")], ..ChatRequest::default() };
    model.chat(&request, &call()).unwrap();
    let asked = server.only();
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(
        asked.body,
        json!({
            "model": "qwen3:8b", "messages": [{"role": "user", "content": "x"}], "max_tokens": 7, "temperature": 0.0,
        })
    );
}

#[test]
fn usage_is_split_into_disjoint_fields() {
    let check = |usage: Value, expected: Option<Usage>| {
        let answer = completion(&json!({"content": ""}), "stop", &usage);
        let server = Server::start(vec![canned(200, answer)]);
        let reply = turn("openai", &server.url, &ChatRequest::default()).unwrap();
        assert_eq!(reply.usage, expected, "{usage}");
        assert_eq!(reply.raw_usage, usage);
    };
    let usage = |input, output, cache_read| {
        Some(Usage { input, output, cache_read, cache_write: 0, ..Usage::default() })
    };
    check(Value::Null, None);
    check(json!({}), None);
    check(json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}), usage(10, 4, 0));
    check(
        json!({
            "prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130,
            "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 20},
        }),
        usage(20, 30, 80),
    );
    check(
        json!({"prompt_tokens": 100, "completion_tokens": 1, "prompt_cache_hit_tokens": 64}),
        usage(36, 1, 64),
    );
    // Reasoning not in the completion tokens, but in the total.
    check(json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 34}), usage(10, 24, 0));
    // Invalid values are tolerated.
    check(
        json!({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": u64::MAX}, "total_tokens": -3}),
        usage(0, 0, 5),
    );
}

#[test]
fn replies_are_parsed_leniently() {
    let check = |message: Value, finish: &str, text: &str, calls: &[(&str, Value)], stop: Stop| {
        let server = Server::start(vec![canned(200, completion(&message, finish, &Value::Null))]);
        let reply = turn("openai", &server.url, &ChatRequest::default()).unwrap();
        let found: Vec<(&str, Value)> =
            reply.tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.clone())).collect();
        assert_eq!((reply.text.as_str(), found.as_slice(), &reply.stop), (text, calls, &stop), "{message}");
    };
    let function = |arguments: Value| json!({"name": "bash", "arguments": arguments});
    check(json!({"content": null}), "stop", "", &[], Stop::End);
    check(json!({}), "length", "", &[], Stop::Length);
    let parts = json!([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]);
    check(json!({"content": parts}), "stop", "ab", &[], Stop::End);
    check(json!({"content": null, "refusal": "no"}), "stop", "no", &[], Stop::Refusal);
    check(json!({"content": "x"}), "content_filter", "x", &[], Stop::Refusal);
    check(json!({"content": "x"}), "eos", "x", &[], Stop::Other("eos".to_owned()));
    check(
        json!({"content": "", "tool_calls": [
            {"id": "a", "function": function(json!("{\"command\":\"ls\"}"))},
            {"function": function(json!("{\"command\":"))},
            {"id": "a", "function": function(json!({"command": "pwd"}))},
        ]}),
        "stop",
        "",
        &[
            ("a", json!({"command": "ls"})),
            ("call-0-0", json!("{\"command\":")),
            ("call-0-1", json!({"command": "pwd"})),
        ],
        Stop::Tools,
    );
}

#[test]
fn model_messages_are_sent_back_unchanged() {
    let first = completion(
        &json!({
            "role": "assistant", "content": null, "refusal": null, "annotations": [], "audio": null,
            "reasoning_content": "hm",
            "tool_calls": [
                {"index": 0, "id": "a", "type": "function", "extra_content": {"google": {"thought_signature": "S"}},
                 "function": {"name": "bash", "arguments": "{ \"command\": \"ls\" }"}},
                {"index": 1, "id": "", "type": "function", "function": {"name": "bash", "arguments": "{\"comm"}},
            ],
        }),
        "tool_calls",
        &Value::Null,
    );
    let last =
        completion(&json!({"role": "assistant", "content": "done", "reasoning": "so"}), "stop", &Value::Null);
    let server = Server::start(vec![canned(200, first), canned(200, last)]);
    let model = model("openai:m-1", &options(&server.url));
    let mut request =
        ChatRequest { messages: vec![user("go")], tools: vec![bash()], ..ChatRequest::default() };
    for _ in 0..3 {
        let reply = model.chat(&request, &call()).unwrap();
        assert!(reply.reasoning.is_some());
        request.messages.push(said(&reply));
        let results: Vec<Message> =
            reply.tool_calls.iter().map(|call| tool(&call.id, "out", false)).collect();
        request.messages.extend(results);
    }
    let sent = server.requests().pop().unwrap().body;
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                {"index": 0, "id": "a", "type": "function", "extra_content": {"google": {"thought_signature": "S"}},
                 "function": {"name": "bash", "arguments": "{ \"command\": \"ls\" }"}},
                {"index": 1, "id": "call-0-0", "type": "function",
                 "function": {"name": "bash", "arguments": "{\"invalid_arguments\":\"{\\\"comm\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "out"},
            {"role": "tool", "tool_call_id": "call-0-0", "content": "out"},
            {"role": "assistant", "content": "done"},
        ])
    );
}
