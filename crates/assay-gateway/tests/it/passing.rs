//! Requests that are forwarded to a server.

use std::io::Write as _;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_gateway::{Budget, Caps, Gateway, GatewayOptions, Listen, Protocol, SessionConfig};
use serde_json::{Value, json};

use crate::client::{connect, parse, post, post_with, request};
use crate::upstream::{KEY, Upstream, answer, begin, end, piece};
use crate::{open_proxy, requests, until};

/// A complete reply of each protocol, with cached tokens in its usage.
fn replies() -> [Value; 4] {
    [
        json!({
            "type": "message", "model": "real", "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}],
            "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7},
        }),
        json!({
            "object": "response", "model": "real", "output": [{"type": "function_call", "name": "exec_command"}],
            "usage": {"input_tokens": 110, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 5},
        }),
        json!({
            "model": "real",
            "choices": [{"message": {"tool_calls": [{"function": {"name": "bash"}}]}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 110, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}},
        }),
        json!({
            "modelVersion": "real",
            "candidates": [{"content": {"parts": [{"functionCall": {"name": "run_shell_command"}}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 110, "cachedContentTokenCount": 100, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
        }),
    ]
}

#[test]
fn replies_pass_unchanged_and_are_metered() {
    let upstream = Upstream::start(|head, _, _, out| {
        let order = ["/v1/messages", "/v1/responses", "/v1/chat", "/v1beta"];
        let reply = &replies()[order.iter().position(|path| head.contains(path)).unwrap()];
        answer(out, "200 OK", "set-cookie: a=b\r\nopenai-organization: org-secret\r\n", &reply.to_string());
    });
    let proxy = open_proxy(upstream.provider(), |_, _| {});
    for ((path, body), expected) in requests(false, 0).iter().zip(replies()) {
        let headers = [("cookie", "session=1"), ("anthropic-beta", "x-1"), ("user-agent", "agent/1")];
        let reply = post_with(&proxy, path, body, &headers);
        assert_eq!((reply.status, reply.json()), (200, expected), "{path}");
        let head = reply.head.to_ascii_lowercase();
        assert!(!head.contains("cookie") && !head.contains("organization"), "{head}");
    }
    for (head, _) in upstream.requests() {
        let head = head.to_ascii_lowercase();
        assert!(head.contains(KEY) && !head.contains(proxy.token()), "{head}");
        assert!(!head.contains("cookie") && !head.contains("agent/1"), "{head}");
        let key_header = match &head {
            head if head.contains("/v1/messages") => "x-api-key: ",
            head if head.contains("/v1beta") => "x-goog-api-key: ",
            _ => "authorization: bearer ",
        };
        assert!(head.contains(&format!("{key_header}{KEY}")), "{head}");
    }
    let ledger = proxy.close();
    for (exchange, protocol) in ledger.exchanges.iter().zip(Protocol::ALL) {
        let tokens = exchange.tokens.unwrap();
        let written = if protocol == Protocol::AnthropicMessages { 7 } else { 0 };
        let found = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write);
        assert_eq!(found, (10, 5, 100, written), "{exchange:?}");
        assert!(exchange.complete && !exchange.estimated && exchange.usage.is_object(), "{exchange:?}");
        assert_eq!((exchange.calls.len(), exchange.replied_model.as_deref()), (1, Some("real")));
    }
    assert!(!serde_json::to_string(&ledger).unwrap().contains(KEY));
}

#[test]
fn streams_are_forwarded_as_they_arrive() {
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let upstream = Upstream::start(move |_, _, _, out| {
        begin(out);
        piece(
            out,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
        );
        // The rest is sent only after the client has received the beginning.
        gate.lock().unwrap().recv().unwrap();
        piece(
            out,
            "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"mess",
        );
        gate.lock().unwrap().recv().unwrap();
        piece(out, "age_stop\"}\n\n");
        end(out);
    });
    let proxy = open_proxy(upstream.provider(), |_, _| {});
    let (path, body) = requests(true, 0).remove(0);
    let token = format!("x-api-key: {}\r\n", proxy.token());
    let mut stream = connect(&proxy);
    stream.write_all(&request("POST", &path, &token, body.to_string().as_bytes())).unwrap();
    let mut bytes = Vec::new();
    let mut read_until = |text: &str| {
        while !String::from_utf8_lossy(&bytes).contains(text) {
            let mut buffer = [0; 1024];
            let count = std::io::Read::read(&mut stream, &mut buffer).unwrap();
            assert!(count > 0, "ended before {text}");
            bytes.extend_from_slice(&buffer[..count]);
        }
    };
    read_until("message_start");
    go.send(()).unwrap();
    read_until("\"type\":\"mess");
    go.send(()).unwrap();
    read_until("\r\n0\r\n\r\n");
    assert!(parse(&bytes).whole);
    let exchange = &proxy.close().exchanges[0];
    let tokens = exchange.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output, exchange.complete), (3, 9, true), "{exchange:?}");
}

#[test]
fn unrequested_usage_is_metered_and_hidden() {
    let upstream = Upstream::start(|_, body, _, out| {
        assert!(body.contains("\"include_usage\":true"), "{body}");
        begin(out);
        piece(out, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n");
        piece(
            out,
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
        );
        end(out);
    });
    let proxy = open_proxy(upstream.provider(), |_, _| {});
    let (path, mut body) = requests(true, 0).remove(2);
    let asked = post(&proxy, &path, &body).text();
    body.as_object_mut().unwrap().remove("stream_options");
    let hidden = post(&proxy, &path, &body).text();
    assert!(asked.contains("prompt_tokens") && !hidden.contains("prompt_tokens"), "{asked}\n{hidden}");
    assert!(hidden.contains("\"hi\"") && hidden.ends_with("data: [DONE]\n\n"), "{hidden}");
    let ledger = proxy.close();
    assert_eq!(ledger.exchanges[0].tokens, ledger.exchanges[1].tokens);
}

#[test]
fn requests_are_constrained_to_the_session() {
    let upstream = Upstream::start(|_, _, _, out| answer(out, "200 OK", "", "{}"));
    let proxy = open_proxy(upstream.provider(), |session, _| {
        session.model = Some("pinned-1".to_owned());
        session.max_output_tokens = Some(50);
    });
    let sent = |path: &str, body: Value| {
        let reply = post(&proxy, path, &body);
        assert_eq!(reply.status, 200, "{path} {body}: {reply:?}");
        let (head, body) = upstream.requests().pop().unwrap();
        (head, serde_json::from_str::<Value>(&body).unwrap())
    };
    let remote = json!({"type": "web_search_20250305", "name": "web_search"});
    let own = json!({"name": "Bash", "input_schema": {}});
    let (_, body) = sent(
        "/v1/messages",
        json!({
            "model": "strongest", "max_tokens": 9000, "tools": [own, remote, {"type": "code_execution_20250825"}, {"type": "bash_20250124"}],
            "mcp_servers": [{"url": "https://x"}], "container": "c", "metadata": {"user_id": "account_1"}, "service_tier": "auto",
            "tool_choice": {"type": "auto"}, "messages": [], "unknown": {"kept": [1.5, null]},
            "thinking": {"type": "enabled", "budget_tokens": 4000},
        }),
    );
    assert_eq!(
        body,
        json!({
            "model": "pinned-1", "max_tokens": 50, "tools": [own, {"type": "bash_20250124"}], "tool_choice": {"type": "auto"},
            "messages": [], "unknown": {"kept": [1.5, null]},
        })
    );
    let (_, body) = sent(
        "/v1/responses",
        json!({
            "model": "strongest", "input": "hi", "store": true, "user": "u", "tool_choice": {"type": "web_search"},
            "tools": [{"type": "web_search"}, {"type": "mcp", "server_url": "https://x"}, {"type": "function", "name": "f", "parameters": {}}],
        }),
    );
    assert_eq!(
        body,
        json!({
            "model": "pinned-1", "input": "hi", "store": false, "max_output_tokens": 50,
            "tools": [{"type": "function", "name": "f", "parameters": {}}],
        })
    );
    let (_, body) = sent(
        "/v1/chat/completions",
        json!({
            "model": "strongest", "messages": [], "max_completion_tokens": 20, "web_search_options": {}, "store": true, "n": 4,
        }),
    );
    assert_eq!(body, json!({"model": "pinned-1", "messages": [], "max_completion_tokens": 20}));
    let (head, body) = sent(
        "/v1beta/models/strongest:generateContent",
        json!({
            "contents": [], "tools": [{"googleSearch": {}}, {"functionDeclarations": [], "codeExecution": {}}],
            "generationConfig": {"candidateCount": 3},
        }),
    );
    assert!(head.starts_with("POST /v1beta/models/pinned-1:generateContent "), "{head}");
    assert_eq!(
        body,
        json!({
            "contents": [], "tools": [{"functionDeclarations": []}], "generationConfig": {"maxOutputTokens": 50},
        })
    );
    // Duplicate keys: what is checked is what is sent.
    let twice = br#"{"model": "a", "tools": [], "tools": [{"type": "web_search_20250305"}], "messages": []}"#;
    let token = format!("x-api-key: {}\r\n", proxy.token());
    assert_eq!(crate::client::raw(&proxy, &request("POST", "/v1/messages", &token, twice)).status, 200);
    let (_, body) = upstream.requests().pop().unwrap();
    assert!(!body.contains("web_search"), "{body}");

    let ledger = proxy.close();
    assert!(ledger.exchanges[0].stripped.iter().any(|what| what == "tool web_search_20250305"), "{ledger:?}");
    assert_eq!(
        (ledger.exchanges[0].requested_model.as_str(), ledger.exchanges[0].model.as_str()),
        ("strongest", "pinned-1")
    );
}

/// The gateway adds no limit to a reply, not even the rest of a cap: providers refuse a limit above
/// their model's maximum, and a limit that the agent did not set would change what is measured.
#[test]
fn no_output_limit_is_added_by_default() {
    let places =
        ["/max_tokens", "/max_completion_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
    let limits = |body: &str| {
        let body: Value = serde_json::from_str(body).unwrap();
        places.map(|fixture| body.pointer(fixture).and_then(Value::as_u64))
    };
    let sent = |most: Option<u64>, own: Option<u64>, stream: bool| {
        let upstream = Upstream::start(|head, _, _, out| {
            let order = ["/v1/messages", "/v1/responses", "/v1/chat", "/v1beta"];
            let reply = &replies()[order.iter().position(|path| head.contains(path)).unwrap()];
            answer(out, "200 OK", "", &reply.to_string());
        });
        let proxy = open_proxy(upstream.provider(), |session, _| {
            session.max_output_tokens = most;
            // After the first reply little of one cap is left, and after the third little of the
            // other.
            session.caps.tokens = Some(500);
            session.budget = Budget::new(Caps { tokens: Some(400), ..Caps::default() });
        });
        for (path, mut body) in requests(stream, 0) {
            if let Some(own) = own {
                let (fixture, name) = match path.as_str() {
                    path if path.contains("/v1beta") => (&mut body["generationConfig"], "maxOutputTokens"),
                    path if path.contains("/responses") => (&mut body, "max_output_tokens"),
                    _ => (&mut body, "max_tokens"),
                };
                fixture[name] = json!(own);
            } else {
                body.as_object_mut().unwrap().remove("max_tokens");
            }
            assert_eq!(post(&proxy, &path, &body).status, 200, "{path}");
        }
        let stripped = proxy.close().exchanges.into_iter().map(|exchange| exchange.stripped.len()).sum();
        (upstream.requests().iter().map(|(_, body)| limits(body)).collect::<Vec<_>>(), stripped)
    };
    for stream in [false, true] {
        let (found, changes): (_, usize) = sent(None, None, stream);
        assert_eq!(found, [[None; 4]; 4]);
        // The Responses API is asked to store nothing; no other field changes.
        assert_eq!(changes, 1);
        let of = |n| {
            [
                [Some(n), None, None, None],
                [None, None, Some(n), None],
                [Some(n), None, None, None],
                [None, None, None, Some(n)],
            ]
        };
        assert_eq!(sent(None, Some(90_000), stream).0, of(90_000), "the agent's own stays");
        assert_eq!(sent(Some(7), Some(90_000), stream).0, of(7), "the user's limit applies");
        assert_eq!(sent(Some(7), Some(5), stream).0, of(5));
        assert_eq!(sent(Some(7), None, stream).0, of(7));
    }
}

#[test]
fn references_to_remote_content_are_refused() {
    let upstream = Upstream::start(|_, _, _, out| answer(out, "200 OK", "", "{}"));
    let proxy = open_proxy(upstream.provider(), |_, _| {});
    let asked = upstream.requests().len();
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://x/secret"}});
    let refused = [
        ("/v1/responses", json!({"input": "x", "previous_response_id": "resp_1"})),
        ("/v1/responses", json!({"input": "x", "conversation": "conv_1"})),
        ("/v1/responses", json!({"input": "x", "conversation": {"id": "conv_1"}})),
        ("/v1/responses", json!({"input": "x", "prompt": {"id": "pmpt_1"}})),
        ("/v1/responses", json!({"input": [{"type": "item_reference", "id": "msg_1"}]})),
        (
            "/v1/messages",
            json!({"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}]}),
        ),
        (
            "/v1/messages",
            json!({"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]}),
        ),
        ("/v1/responses", json!({"input": "x", "background": true})),
        (
            "/v1/responses",
            json!({"input": [{"content": [{"type": "input_image", "image_url": "https://x"}]}]}),
        ),
        ("/v1/responses", json!({"input": [{"content": [{"type": "input_file", "file_id": "f"}]}]})),
        ("/v1/messages", json!({"messages": [{"role": "user", "content": [image]}]})),
        (
            "/v1/messages",
            json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [image]}]}]}),
        ),
        (
            "/v1/chat/completions",
            json!({"messages": [{"content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]}),
        ),
        (
            "/v1beta/models/m:generateContent",
            json!({"contents": [{"parts": [{"fileData": {"fileUri": "https://x"}}]}]}),
        ),
        ("/v1beta/models/m:generateContent", json!({"contents": [], "cachedContent": "c"})),
    ];
    for (path, mut body) in refused {
        body.as_object_mut().unwrap().insert("model".to_owned(), json!("m"));
        let reply = post(&proxy, path, &body);
        assert!(reply.status == 400 && reply.text().contains("not supported"), "{path} {body}: {reply:?}");
    }
    assert_eq!(upstream.requests().len(), asked, "refused requests are not sent");
    // The arguments of a call are the agent's own.
    let call = json!({"type": "tool_use", "id": "1", "name": "x", "input": {"source": {"type": "url", "url": "https://x"}}});
    let body = json!({"model": "m", "messages": [{"role": "assistant", "content": [call]}]});
    assert_eq!(post(&proxy, "/v1/messages", &body).status, 200);
}

#[test]
fn transient_errors_are_retried_and_permanent_ones_are_forwarded() {
    let upstream = Upstream::start(|head, _, number, out| match number {
        0 => answer(
            out,
            "429 Too Many Requests",
            "retry-after-ms: 30\r\n",
            "{\"error\":{\"message\":\"slow\"}}",
        ),
        1 => answer(out, "529 Overloaded", "", "{}"),
        2 => answer(out, "200 OK", "", &replies()[0].to_string()),
        3 => answer(
            out,
            "401 Unauthorized",
            "",
            &format!("{{\"error\":\"bad key {KEY} of org-AbCdEf123456\"}}"),
        ),
        4 => answer(out, "302 Found", "location: https://elsewhere\r\n", ""),
        5 => answer(out, "429 Too Many Requests", "", "{\"error\":{\"code\":\"insufficient_quota\"}}"),
        _ => panic!("one request too many: {head}"),
    });
    let proxy = open_proxy(upstream.provider(), |_, options| options.limits.retries = 5);
    let (path, body) = requests(false, 0).remove(0);
    assert_eq!(post(&proxy, &path, &body).status, 200);
    let refused = post(&proxy, &path, &body);
    assert_eq!(refused.status, 401);
    let text = refused.text();
    assert!(!text.contains(KEY) && !text.contains("AbCdEf123456"), "{text}");
    let elsewhere = post(&proxy, &path, &body);
    assert!(elsewhere.status == 502 && !elsewhere.text().contains("https://elsewhere"), "{elsewhere:?}");
    assert_eq!(post(&proxy, &path, &body).status, 429, "an exhausted quota is not retried");
    let ledger = proxy.close();
    let statuses: Vec<Option<u16>> = ledger.exchanges[0].waits.iter().map(|wait| wait.status).collect();
    assert_eq!(statuses, [Some(429), Some(529)]);
    assert!(ledger.exchanges[1..].iter().all(|exchange| exchange.tokens.is_none()), "errors cost nothing");
    assert!(!serde_json::to_string(&ledger).unwrap().contains(KEY));
}

#[test]
fn broken_servers_end_in_errors() {
    let check = |expected: u16, handler: fn(&mut std::net::TcpStream)| {
        let upstream = Upstream::start(move |_, _, _, out| handler(out));
        let proxy = open_proxy(upstream.provider(), |_, options| {
            options.limits.provider_idle = Duration::from_millis(400);
            options.limits.reply_bytes = 100 << 10;
        });
        let (path, body) = requests(false, 0).remove(1);
        let reply = post(&proxy, &path, &body);
        assert_eq!(reply.status, expected, "{reply:?}");
        let exchange = proxy.close().exchanges.remove(0);
        assert!(exchange.error.is_some() && exchange.estimated, "{exchange:?}");
    };
    check(502, |out| {
        let _ = out.shutdown(std::net::Shutdown::Both);
    });
    // Silent: at first, and then after half a reply.
    check(502, |_| {});
    check(502, |out| {
        let _ = out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
    });
    check(502, |out| answer(out, "200 OK", "", &" ".repeat(200 << 10)));
    check(502, |out| answer(out, "200 OK", "content-encoding: gzip\r\n", "x"));
    check(200, |out| answer(out, "200 OK", "", "<html>"));
}

/// A provider that streams without end, and one that compresses its stream.
#[test]
fn endless_and_compressed_streams_end_in_errors() {
    let upstream = Upstream::start(|_, _, number, out| {
        if number > 0 {
            return answer(out, "200 OK", "content-encoding: gzip\r\n", "\u{1f}\u{8b}");
        }
        begin(out);
        let event = format!("data: {{\"type\":\"ping\",\"filler\":\"{}\"}}\n\n", "x".repeat(4 << 10));
        // Ends when the gateway closes the connection.
        while out.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).is_ok() {}
    });
    let proxy = open_proxy(upstream.provider(), |_, options| options.limits.reply_bytes = 100 << 10);
    let (path, body) = requests(true, 0).remove(0);
    let cut = post(&proxy, &path, &body);
    assert!(cut.status == 200 && !cut.whole && cut.text().len() <= 100 << 10, "{}", cut.text().len());
    assert_eq!(post(&proxy, &path, &body).status, 502);
    let ledger = proxy.close();
    let errors: Vec<&str> =
        ledger.exchanges.iter().filter_map(|exchange| exchange.error.as_deref()).collect();
    assert!(errors[0].contains("larger than") && errors[1].contains("compressed"), "{errors:?}");
    assert!(ledger.exchanges.iter().all(|exchange| exchange.estimated && !exchange.complete), "{ledger:?}");
}

#[test]
fn disconnected_agent_ends_its_request_at_the_provider() {
    let ended = Arc::new(Mutex::new(false));
    let tell = Arc::clone(&ended);
    let upstream = Upstream::start(move |_, _, _, out| {
        begin(out);
        piece(
            out,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
        );
        // Ends when the gateway closes the connection; nothing more is sent.
        let _ = std::io::Read::read(out, &mut [0; 1]);
        *tell.lock().unwrap() = true;
    });
    let proxy = open_proxy(upstream.provider(), |_, _| {});
    let (path, body) = requests(true, 0).remove(0);
    let token = format!("x-api-key: {}\r\n", proxy.token());
    let mut stream = connect(&proxy);
    stream.write_all(&request("POST", &path, &token, body.to_string().as_bytes())).unwrap();
    // It has read everything, so that only its disconnection can be noticed.
    let mut text = String::new();
    while !text.contains("message_start") {
        let mut buffer = [0; 1024];
        let count = std::io::Read::read(&mut stream, &mut buffer).unwrap();
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    drop(stream);
    until(|| *ended.lock().unwrap());
    let exchange = proxy.close().exchanges.remove(0);
    let tokens = exchange.tokens.unwrap();
    // What the model would still have written is unknown; what was received is counted.
    assert!(exchange.estimated && tokens.input == 3 && tokens.output == 1, "{exchange:?}");
}

#[test]
fn requests_beyond_the_concurrency_wait() {
    let (most, now) = (Arc::new(Mutex::new(0_usize)), Arc::new(Mutex::new(0_usize)));
    let counted = (Arc::clone(&most), Arc::clone(&now));
    let upstream = Upstream::start(move |_, _, _, out| {
        let busy = {
            let mut now = counted.1.lock().unwrap();
            *now += 1;
            *now
        };
        let mut most = counted.0.lock().unwrap();
        *most = busy.max(*most);
        drop(most);
        std::thread::sleep(Duration::from_millis(30));
        *counted.1.lock().unwrap() -= 1;
        answer(out, "200 OK", "", "{}");
    });
    let proxy = open_proxy(upstream.provider(), |session, _| session.concurrency = 2);
    let (path, body) = requests(false, 0).remove(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(post(&proxy, &path, &body).status, 200));
        }
    });
    assert!(*most.lock().unwrap() <= 2);
    assert_eq!(proxy.close().exchanges.len(), 8);
}

#[test]
fn rate_limit_applies_to_all_users_of_the_key() {
    let upstream = Upstream::start(|_, _, number, out| match number {
        0 => answer(out, "429 Too Many Requests", "retry-after: 1\r\n", "{\"error\":{\"message\":\"slow\"}}"),
        _ => answer(out, "200 OK", "", &replies()[0].to_string()),
    });
    let gateway = Gateway::new(GatewayOptions::default());
    let open = |trial: &str| {
        gateway.open(SessionConfig::new(trial, upstream.provider(), Listen::Loopback(0))).unwrap()
    };
    let (one, two) = (open("one"), open("two"));
    let (path, body) = requests(false, 0).remove(0);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(post(&one, &path, &body).status, 200));
        until(|| one.is_waiting());
        assert_eq!(post(&two, &path, &body).status, 200);
    });
    let (one, two) = (one.close(), two.close());
    assert_eq!(one.exchanges[0].waits[0].status, Some(429));
    let held = &two.exchanges[0].waits[0];
    assert!(
        held.message.starts_with("waiting for a rate limit that another request met")
            && held.message.contains("slow"),
        "{held:?}"
    );
    assert_eq!(upstream.requests().len(), 3, "no request was sent in between");
}

#[test]
fn disconnecting_agents_do_not_affect_other_connections() {
    let upstream = Upstream::start(|_, _, _, out| {
        begin(out);
        piece(
            out,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
        );
        std::thread::sleep(Duration::from_millis(5));
        piece(
            out,
            "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        );
        end(out);
    });
    let proxy = open_proxy(upstream.provider(), |session, _| session.concurrency = 8);
    let (path, body) = requests(true, 0).remove(0);
    let bytes =
        request("POST", &path, &format!("x-api-key: {}\r\n", proxy.token()), body.to_string().as_bytes());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (proxy, path, body, bytes) = (&proxy, &path, &body, &bytes);
            scope.spawn(move || {
                for round in 0..40 {
                    if (worker + round) % 3 == 0 {
                        // Disconnects before, during or after the reply.
                        let mut stream = connect(proxy);
                        stream.write_all(bytes).unwrap();
                        std::thread::sleep(Duration::from_millis(round % 8));
                    } else {
                        let reply = post(proxy, path, body);
                        assert!(reply.status == 200 && reply.whole, "{reply:?}");
                    }
                }
            });
        }
    });
    let ledger = proxy.close();
    assert_eq!(
        ledger.exchanges.iter().filter(|exchange| exchange.error.is_none() && !exchange.complete).count(),
        0
    );
    assert!(ledger.exchanges.iter().all(|exchange| exchange.waits.is_empty()), "{ledger:?}");
}

/// Single bytes that complete no event do not count as data: an agent cannot use them.
#[test]
fn incomplete_events_count_as_silence() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let upstream = Upstream::start(move |_, _, _, out| {
        begin(out);
        for byte in "data: {\"choices".chars() {
            piece(out, &byte.to_string());
        }
        let _ = held.lock().unwrap().recv();
    });
    let proxy = open_proxy(upstream.provider(), |_, _| {});
    let (path, body) = requests(true, 0).remove(2);
    let token = format!("authorization: Bearer {}\r\n", proxy.token());
    let mut stream = connect(&proxy);
    let bytes = request("POST", &path, &token, body.to_string().as_bytes());
    stream.write_all(&bytes).unwrap();
    let mut first = [0; 256];
    std::io::Read::read(&mut stream, &mut first).unwrap();
    let since = std::time::Instant::now();
    until(|| since.elapsed() > Duration::from_millis(200));
    let silent = Duration::try_from_secs_f64(proxy.close().silent_seconds).unwrap();
    assert!(silent >= Duration::from_millis(200), "{silent:?}");
    drop(release);
}

/// A conversation that is too long is distinguished from an invalid request, and is not sent again.
#[test]
fn exceeded_context_is_reported() {
    let check = |status: &'static str, said: &'static str, expected: bool, requests_sent: usize| {
        let upstream = Upstream::start(move |_, _, _, out| {
            answer(out, status, "", &format!("{{\"error\":{{\"message\":\"{said}\"}}}}"));
        });
        let proxy = open_proxy(upstream.provider(), |_, options| options.limits.retries = 1);
        let (path, body) = requests(false, 0).remove(2);
        post(&proxy, &path, &body);
        let exchange = proxy.close().exchanges.remove(0);
        assert_eq!(exchange.context_exceeded, expected, "{exchange:?}");
        assert_eq!(upstream.requests().len(), requests_sent, "{said}");
    };
    check("400 Bad Request", "prompt is too long: 9 tokens > 8 maximum", true, 1);
    check("500 Internal Server Error", "the request exceeds the available context size", true, 1);
    check("500 Internal Server Error", "oops", false, 2);
    check("400 Bad Request", "max_tokens is too large: 1000000", false, 1);
    check("429 Too Many Requests", "prompt is too long", false, 2);
}
