//! Scripts on all four protocols.

use std::time::Duration;

use assay_gateway::{Listen, Protocol};
use serde_json::{Value, json};

use std::io::Write as _;

use crate::client::post;
use crate::{open_proxy, requests, script, until};

const SCRIPT: &str = r#"
{"tools": false, "say": "A title"}
{"results": 0, "say": "I look around, and then I write.", "run": "echo hello > hello.txt"}
{"results": 1, "say": "Done."}
"#;

/// The text and the calls of a reply of this protocol.
fn read_reply(protocol: Protocol, reply: &Value) -> (String, Vec<(String, Value)>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parsed = |value: &Value| serde_json::from_str(value.as_str().unwrap()).unwrap();
    let mut calls = Vec::new();
    let mut said = String::new();
    match protocol {
        Protocol::AnthropicMessages => {
            for block in list(&reply["content"]) {
                if block["type"] == "tool_use" {
                    calls.push((text(&block["name"]), block["input"].clone()));
                }
                said.push_str(&text(&block["text"]));
            }
        }
        Protocol::OpenaiResponses => {
            for item in list(&reply["output"]) {
                if item["type"] == "function_call" {
                    calls.push((text(&item["name"]), parsed(&item["arguments"])));
                }
                said.push_str(&text(&item["content"][0]["text"]));
            }
        }
        Protocol::OpenaiCompletions => {
            let message = &reply["choices"][0]["message"];
            said = text(&message["content"]);
            for call in list(&message["tool_calls"]) {
                calls.push((text(&call["function"]["name"]), parsed(&call["function"]["arguments"])));
            }
        }
        Protocol::Gemini => {
            for part in list(&reply["candidates"][0]["content"]["parts"]) {
                if !part["functionCall"].is_null() {
                    calls.push((text(&part["functionCall"]["name"]), part["functionCall"]["args"].clone()));
                }
                said.push_str(&text(&part["text"]));
            }
        }
    }
    (said, calls)
}

/// The same from a stream.
fn streamed(protocol: Protocol, events: &[Value]) -> (String, Vec<(String, Value)>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut said, mut calls) = (String::new(), Vec::new());
    let mut name = String::new();
    for event in events {
        match protocol {
            Protocol::AnthropicMessages => {
                said.push_str(&text(&event["delta"]["text"]));
                if event["content_block"]["type"] == "tool_use" {
                    name = text(&event["content_block"]["name"]);
                }
                if let Some(input) = event["delta"]["partial_json"].as_str() {
                    calls.push((name.clone(), serde_json::from_str(input).unwrap()));
                }
            }
            Protocol::OpenaiResponses => {
                if event["type"] == "response.output_text.delta" {
                    said.push_str(&text(&event["delta"]));
                }
                if event["type"] == "response.output_item.done" && event["item"]["type"] == "function_call" {
                    let arguments = text(&event["item"]["arguments"]);
                    calls.push((text(&event["item"]["name"]), serde_json::from_str(&arguments).unwrap()));
                }
            }
            Protocol::OpenaiCompletions => {
                let delta = &event["choices"][0]["delta"];
                said.push_str(&text(&delta["content"]));
                if let Some(call) = delta["tool_calls"].get(0) {
                    let arguments = text(&call["function"]["arguments"]);
                    calls.push((text(&call["function"]["name"]), serde_json::from_str(&arguments).unwrap()));
                }
            }
            Protocol::Gemini => {
                let (text, more) = super::scripted::read_reply(protocol, event);
                said.push_str(&text);
                calls.extend(more);
            }
        }
    }
    (said, calls)
}

#[test]
fn turns_are_played_in_every_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = open_proxy(script(folder.path(), SCRIPT), |_, _| {});
    let tools = ["Bash", "exec_command", "bash", "run_shell_command"];
    let mut expected_requests = 0;
    for stream in [false, true] {
        for results in [0, 1] {
            let asked = requests(stream, results).into_iter().zip(Protocol::ALL).zip(tools);
            for (((path, body), protocol), tool) in asked {
                let reply = post(&proxy, &path, &body);
                assert_eq!((reply.status, reply.whole), (200, true), "{path}: {reply:?}");
                let (text, calls) = if stream {
                    streamed(protocol, &reply.events())
                } else {
                    read_reply(protocol, &reply.json())
                };
                let command = json!({"command": "echo hello > hello.txt"});
                let expected = match results {
                    0 => ("I look around, and then I write.", vec![(tool.to_owned(), command)]),
                    _ => ("Done.", vec![]),
                };
                assert_eq!((text.as_str(), calls), expected, "{path}, stream {stream}");
                if stream {
                    assert!(reply.pieces.len() >= 2, "not piece by piece: {reply:?}");
                }
                expected_requests += 1;
            }
        }
    }
    let ledger = proxy.close();
    assert_eq!(ledger.exchanges.len(), expected_requests);
    for exchange in &ledger.exchanges {
        let tokens = exchange.tokens.unwrap();
        assert!(
            exchange.complete && !exchange.estimated && tokens.input > 0 && tokens.output > 0,
            "{exchange:?}"
        );
        assert_eq!(exchange.tools, 1);
    }
    // A stream and a complete reply contain the same turn.
    let half = expected_requests / 2;
    for (whole, stream) in ledger.exchanges[..half].iter().zip(&ledger.exchanges[half..]) {
        assert_eq!((&whole.calls, whole.tokens), (&stream.calls, stream.tokens), "{whole:?}\n{stream:?}");
    }
    assert_eq!(ledger.totals.requests, expected_requests as u64);
}

#[test]
fn requests_without_tools_match_their_own_rule() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = open_proxy(script(folder.path(), SCRIPT), |_, _| {});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "title?"}]});
    let reply = post(&proxy, "/v1/chat/completions", &body).json();
    assert_eq!(reply["choices"][0]["message"]["content"], "A title");
    let count = post(&proxy, "/v1/messages/count_tokens", &body).json();
    assert!(count["input_tokens"].as_u64().unwrap() > 0, "{count}");
    let ledger = proxy.close();
    assert_eq!(ledger.exchanges[1].tokens, None, "counting tokens costs none");
}

#[test]
fn faults_reach_the_agent_without_retries() {
    let folder = tempfile::tempdir().unwrap();
    let check = |fault: &str, stream: bool, expected: &dyn Fn(&crate::client::Reply, Protocol)| {
        let proxy = open_proxy(script(folder.path(), fault), |_, options| {
            options.limits.provider_idle = Duration::from_millis(300);
        });
        for ((path, body), protocol) in requests(stream, 0).into_iter().zip(Protocol::ALL) {
            expected(&post(&proxy, &path, &body), protocol);
        }
    };
    check(r#"{"fault": "429", "retry_after": 7}"#, true, &|reply, protocol| {
        assert_eq!(reply.status, 429);
        assert!(reply.head.contains("retry-after: 7"), "{reply:?}");
        let kind = match protocol {
            Protocol::AnthropicMessages => reply.json()["error"]["type"].clone(),
            Protocol::Gemini => reply.json()["error"]["status"].clone(),
            _ => reply.json()["error"]["code"].clone(),
        };
        let named = ["rate_limit_error", "RESOURCE_EXHAUSTED", "rate_limit_exceeded"];
        assert!(named.iter().any(|name| kind == *name), "{kind}");
    });
    check(r#"{"fault": "401"}"#, false, &|reply, _| assert_eq!(reply.status, 401));
    check(r#"{"fault": "500"}"#, true, &|reply, _| assert_eq!(reply.status, 500));
    check(r#"{"fault": "break"}"#, false, &|reply, _| assert_eq!(reply.status, 502));
    check(r#"{"fault": "hang"}"#, true, &|reply, _| assert_eq!(reply.status, 502));
    check(r#"{"fault": "not-json"}"#, false, &|reply, _| {
        assert!(reply.status == 200 && reply.text().starts_with("<html>"), "{reply:?}");
    });
    // A script without a turn for a request is an error, not a panic.
    check(r#"{"turn": 9, "say": "x"}"#, true, &|reply, _| {
        assert!(reply.status == 400 && reply.text().contains("no turn for"), "{reply:?}");
    });
}

#[test]
fn interrupted_stream_is_interrupted_for_the_agent_and_counts_an_upper_bound() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"times\": 1, \"results\": 0, \"fault\": \"break\"}\n{\"say\": \"well again, as before\"}";
    for ((path, body), protocol) in requests(true, 0).into_iter().zip(Protocol::ALL) {
        let proxy = open_proxy(script(folder.path(), lines), |_, _| {});
        let reply = post(&proxy, &path, &body);
        assert!(!reply.whole && !reply.pieces.is_empty(), "{path}: {reply:?}");
        let reply = post(&proxy, &path, &body);
        assert!(reply.whole, "{path}: {reply:?}");
        assert_eq!(streamed(protocol, &reply.events()).0, "well again, as before");
        let ledger = proxy.close();
        let [broken, well] = ledger.exchanges.as_slice() else { panic!("{ledger:?}") };
        assert!(broken.estimated && !broken.complete && broken.error.is_some(), "{broken:?}");
        let (bound, real) = (broken.tokens.unwrap(), well.tokens.unwrap());
        assert!(bound.total() >= real.total(), "{path}: {bound:?} is no upper bound of {real:?}");
        assert_eq!(ledger.totals.estimated, 1);
    }
}

#[test]
fn rate_limits_are_waited_out_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"times\": 1, \"fault\": \"429\", \"retry_after\": 1}\n{\"say\": \"at last\"}";
    let proxy = open_proxy(script(folder.path(), lines), |_, options| options.limits.retries = 3);
    let (path, body) = requests(true, 0).remove(0);
    let reply = post(&proxy, &path, &body);
    assert_eq!(streamed(Protocol::AnthropicMessages, &reply.events()).0, "at last");
    assert!(proxy.waited() >= Duration::from_secs(1) && !proxy.is_waiting());
    let ledger = proxy.close();
    let exchange = &ledger.exchanges[0];
    assert_eq!((ledger.exchanges.len(), exchange.waits[0].status), (1, Some(429)));
    assert!(exchange.waited_seconds >= 1.0 && ledger.totals.waited_seconds >= 1.0, "{exchange:?}");
    assert!(exchange.complete && !exchange.estimated, "{exchange:?}");
}

#[test]
fn proxy_socket_is_private_and_removed_on_close() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let proxy = open_proxy(script(folder.path(), "{\"say\": \"hi\"}"), |session, _| {
        session.listen = Listen::Socket(path.clone());
    });
    let metadata = std::fs::metadata(&path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let (path_asked, body) = requests(false, 0).remove(2);
    assert_eq!(post(&proxy, &path_asked, &body).status, 200);
    assert_eq!(proxy.close().exchanges.len(), 1);
    assert!(!path.exists());
}

/// A socket address fits 107 bytes; a store's path may be longer.
#[test]
fn socket_path_may_have_any_depth() {
    for levels in [1, 3, 40] {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join(vec!["x".repeat(90); levels].join("/"));
        std::fs::create_dir_all(&deep).unwrap();
        let near = folder.path().join("near");
        std::os::unix::fs::symlink(&deep, &near).unwrap();
        let path = deep.join("socket");
        let proxy = open_proxy(script(folder.path(), "{\"say\": \"hi\"}"), |session, _| {
            session.listen = Listen::Socket(path.clone());
        });
        assert_eq!(proxy.socket(), Some(&*path));
        let (path_asked, body) = requests(false, 0).remove(2);
        let token = format!("x-api-key: {}\r\n", proxy.token());
        let mut stream = std::os::unix::net::UnixStream::connect(near.join("socket")).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let bytes = crate::client::request("POST", &path_asked, &token, body.to_string().as_bytes());
        stream.write_all(&bytes).unwrap();
        assert_eq!(crate::client::read(&mut stream).status, 200, "{levels}");
        assert_eq!(proxy.close().exchanges.len(), 1);
        assert!(!path.exists(), "the socket is removed");
    }
}

#[test]
fn closing_ends_pending_requests() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = open_proxy(script(folder.path(), "{\"fault\": \"hang\"}"), |_, _| {});
    let (path, body) = requests(true, 0).remove(1);
    let token = format!("authorization: Bearer {}\r\n", proxy.token());
    let mut stream = crate::client::connect(&proxy);
    stream.write_all(&crate::client::request("POST", &path, &token, body.to_string().as_bytes())).unwrap();
    until(|| !proxy.ledger().exchanges.is_empty());
    let ledger = proxy.close();
    let exchange = &ledger.exchanges[0];
    assert!(exchange.estimated && exchange.status == 0 && exchange.error.is_some(), "{exchange:?}");
    assert!(exchange.abandoned && ledger.silent_seconds > 0.0, "{ledger:?}");
}

/// A trial waits for its provider no longer than its own patience.
#[test]
fn patience_is_per_trial() {
    let folder = tempfile::tempdir().unwrap();
    let check = |patience: Option<Duration>, status: u16, waits: usize| {
        let limited = "{\"fault\": \"429\", \"retry_after\": 1, \"times\": 1}\n{\"say\": \"at last\"}";
        let proxy = open_proxy(script(folder.path(), limited), |session, options| {
            session.patience = patience;
            options.limits.retries = 3;
        });
        let (path, body) = requests(false, 0).remove(2);
        assert_eq!(post(&proxy, &path, &body).status, status, "{patience:?}");
        let ledger = proxy.close();
        assert_eq!(ledger.exchanges[0].waits.len(), waits, "{ledger:?}");
        // Waiting for a provider's limits is not silence.
        assert!(ledger.silent_seconds < ledger.paused_seconds.max(1.0), "{ledger:?}");
    };
    check(Some(Duration::from_millis(500)), 429, 0);
    check(Some(Duration::from_mins(1)), 200, 1);
    check(None, 200, 1);
}
