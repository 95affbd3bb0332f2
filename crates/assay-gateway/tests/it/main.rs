//! The gateway over real sockets, with scripts and servers on loopback as providers.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod agents;
mod caps;
mod cassettes;
mod client;
mod egress;
mod exposure;
mod hostile;
mod passing;
mod scripted;
mod tls;
mod upstream;

use std::path::Path;
use std::time::{Duration, Instant};

use assay_gateway::{
    Gateway, GatewayOptions, Limits, Listen, Provider, ProviderOptions, Proxy, SessionConfig,
};
use serde_json::{Value, json};

/// A provider that plays a script.
fn script(folder: &Path, lines: &str) -> Provider {
    std::fs::write(folder.join("script.jsonl"), lines).unwrap();
    let options = ProviderOptions { directory: folder.to_path_buf(), ..ProviderOptions::default() };
    Provider::open("scripted:script.jsonl", &options, &|_| None).unwrap()
}

/// A proxy on loopback, with a test's changes to its configuration.
fn open_proxy(provider: Provider, change: impl FnOnce(&mut SessionConfig, &mut GatewayOptions)) -> Proxy {
    let mut session = SessionConfig::new("trial-1", provider, Listen::Loopback(0));
    let mut options = GatewayOptions { limits: quick(), ..GatewayOptions::default() };
    change(&mut session, &mut options);
    Gateway::new(options).open(session).unwrap()
}

/// Limits for tests: no test waits for minutes.
fn quick() -> Limits {
    Limits { retries: 0, ..Limits::default() }
}

/// Polls until a condition is true.
#[track_caller]
fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !done() {
        assert!(Instant::now() < end, "timed out");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The paths of the four protocols, with a request for each: a task, a shell, and the given number
/// of results.
fn requests(stream: bool, results: usize) -> Vec<(String, Value)> {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    let task = "write hello.txt";
    let mut messages = vec![json!({"role": "user", "content": task})];
    let mut chat = messages.clone();
    let mut input = vec![json!({"role": "user", "content": [{"type": "input_text", "text": task}]})];
    let mut contents = vec![json!({"role": "user", "parts": [{"text": task}]})];
    for n in 0..results {
        let (id, arguments) = (format!("c{n}"), json!({"command": "ls"}));
        let used = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": arguments}]);
        messages.push(json!({"role": "assistant", "content": used}));
        let result = json!([{"type": "tool_result", "tool_use_id": id, "content": "done"}]);
        messages.push(json!({"role": "user", "content": result}));
        let function = json!({"name": "bash", "arguments": arguments.to_string()});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        chat.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        chat.push(json!({"role": "tool", "tool_call_id": id, "content": "done"}));
        let call = json!({
            "type": "function_call", "call_id": id, "name": "exec_command", "arguments": arguments.to_string(),
        });
        input.push(call);
        input.push(json!({"type": "function_call_output", "call_id": id, "output": "done"}));
        let call = json!({"functionCall": {"name": "run_shell_command", "args": arguments}});
        contents.push(json!({"role": "model", "parts": [call]}));
        let response =
            json!({"functionResponse": {"name": "run_shell_command", "response": {"output": "done"}}});
        contents.push(json!({"role": "user", "parts": [response]}));
    }
    let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    vec![
        (
            "/v1/messages?beta=true".to_owned(),
            json!({
                "model": "m", "max_tokens": 100, "stream": stream, "messages": messages,
                "tools": [{"name": "Bash", "description": "runs", "input_schema": schema}],
            }),
        ),
        (
            "/v1/responses".to_owned(),
            json!({
                "model": "m", "stream": stream, "input": input,
                "tools": [{"type": "function", "name": "exec_command", "description": "runs", "parameters": schema}],
            }),
        ),
        (
            "/v1/chat/completions".to_owned(),
            json!({
                "model": "m", "stream": stream, "messages": chat,
                "stream_options": {"include_usage": true},
                "tools": [{"type": "function", "function": {"name": "bash", "parameters": schema}}],
            }),
        ),
        (
            format!("/v1beta/models/m:{verb}"),
            json!({
                "contents": contents,
                "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": schema}]}],
            }),
        ),
    ]
}
