//! `generateContent`.

use assay_model::{ChatRequest, Message, Stop, ToolCall, Usage};
use serde_json::{Value, json};

use crate::server::{KEY, Server, bash, call, canned, model, options, said, tool, turn, user};

fn answer(content: &Value, finish: &str) -> Value {
    json!({
        "candidates": [{"content": content, "finishReason": finish, "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 30,
                          "cachedContentTokenCount": 64, "totalTokenCount": 150},
        "modelVersion": "m-1-2026",
    })
}

#[test]
fn request_has_the_documented_form() {
    let content = json!({"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "hello"}]});
    let server = Server::start(vec![canned(200, answer(&content, "STOP"))]);
    let request = ChatRequest {
        system: "be brief".to_owned(),
        messages: vec![
            user("list"),
            Message::Assistant {
                text: "looking".to_owned(),
                tool_calls: vec![
                    ToolCall {
                        id: "c1".to_owned(),
                        name: "bash".to_owned(),
                        arguments: json!({"command": "ls"}),
                    },
                    ToolCall { id: "c2".to_owned(), name: "bash".to_owned(), arguments: json!("{\"com") },
                ],
                raw: Value::Null,
            },
            tool("c1", "a.txt", false),
            tool("c2", "no", true),
            user("go on"),
        ],
        tools: vec![bash()],
        max_output_tokens: Some(100),
        temperature: Some(0.5),
    };
    let reply = turn("gemini", &server.url, &request).unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.as_deref()), ("hello", Some("hm")));
    assert_eq!((&reply.stop, reply.model.as_deref()), (&Stop::End, Some("m-1-2026")));
    assert_eq!(
        reply.usage,
        Some(Usage { input: 36, output: 50, cache_read: 64, cache_write: 0, ..Usage::default() })
    );
    assert_eq!(reply.raw, content);

    let asked = server.only();
    assert_eq!(asked.path, "/v1beta/models/m-1:generateContent");
    assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
    assert_eq!(
        asked.body,
        json!({
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "list"}]},
                {"role": "model", "parts": [
                    {"text": "looking"},
                    {"functionCall": {"name": "bash", "args": {"command": "ls"}}},
                    {"functionCall": {"name": "bash", "args": {"invalid_arguments": "{\"com"}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "bash", "response": {"output": "a.txt"}}},
                    {"functionResponse": {"name": "bash", "response": {"error": "no"}}}]},
                {"role": "user", "parts": [{"text": "go on"}]},
            ],
            "tools": [{"functionDeclarations": [{
                "name": "bash", "description": "Runs a command.", "parametersJsonSchema": bash().parameters}]}],
            "generationConfig": {"maxOutputTokens": 100, "temperature": 0.5},
        })
    );
}

#[test]
fn thought_signatures_are_sent_back_in_their_parts() {
    let content = json!({"role": "model", "parts": [
        {"text": "hm", "thought": true, "thoughtSignature": "A"},
        {"functionCall": {"name": "bash", "args": {"command": "ls"}}, "thoughtSignature": "B"},
        {"functionCall": {"id": "g7", "name": "bash", "args": {"command": "pwd"}}},
    ]});
    let server = Server::start(vec![
        canned(200, answer(&content, "STOP")),
        canned(200, answer(&json!({"role": "model"}), "STOP")),
    ]);
    let model = model("gemini:m-1", &options(&server.url));
    let mut request =
        ChatRequest { messages: vec![user("go")], tools: vec![bash()], ..ChatRequest::default() };
    for _ in 0..3 {
        let reply = model.chat(&request, &call()).unwrap();
        request.messages.push(said(&reply));
        let results: Vec<Message> =
            reply.tool_calls.iter().map(|call| tool(&call.id, "out", false)).collect();
        assert_eq!(reply.stop, if results.is_empty() { Stop::End } else { Stop::Tools });
        request.messages.extend(results);
    }
    let sent = server.requests().pop().unwrap().body;
    assert_eq!(
        sent["contents"],
        json!([
            {"role": "user", "parts": [{"text": "go"}]},
            content,
            {"role": "user", "parts": [
                {"functionResponse": {"name": "bash", "response": {"output": "out"}}},
                {"functionResponse": {"id": "g7", "name": "bash", "response": {"output": "out"}}}]},
        ])
    );
}

#[test]
fn stop_reasons_are_distinguished() {
    let check = |body: Value, expected: Stop| {
        let server = Server::start(vec![canned(200, &body)]);
        let reply = turn("gemini", &server.url, &ChatRequest::default()).unwrap();
        assert_eq!(reply.stop, expected, "{body}");
    };
    let finish = |reason: &str| answer(&json!({"parts": [{"text": "x"}]}), reason);
    check(finish("STOP"), Stop::End);
    check(finish("MAX_TOKENS"), Stop::Length);
    check(finish("SAFETY"), Stop::Refusal);
    check(finish("MALFORMED_FUNCTION_CALL"), Stop::Other("MALFORMED_FUNCTION_CALL".to_owned()));
    check(json!({"promptFeedback": {"blockReason": "OTHER"}}), Stop::Refusal);
}
