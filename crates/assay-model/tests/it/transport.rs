//! Retries, rate limits, deadlines, cancellation, and broken servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{Call, ChatRequest, ModelError, ModelOptions};
use serde_json::json;

use crate::server::Trick::{Close, Flood, Hang, Rude, Serve};
use crate::server::{KEY, Server, Trick, broken, call, canned, model, options, turn, within};

const OK: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
const WHOLE: &str = concat!(
    "HTTP/1.1 200 OK\r\ncontent-length: 65\r\n\r\n",
    r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#
);

fn request() -> ChatRequest {
    ChatRequest::default()
}

fn quick(url: &str, max_retries: u32) -> ModelOptions {
    ModelOptions { max_retries, ..options(url) }
}

#[test]
fn transient_errors_are_retried_and_recorded() {
    for provider in ["openai", "anthropic", "gemini"] {
        let body = match provider {
            "openai" => OK.to_owned(),
            "anthropic" => json!({"content": []}).to_string(),
            _ => json!({"candidates": [{}]}).to_string(),
        };
        let mut answers: Vec<_> = [408, 409, 425, 429, 500, 502, 503, 504, 529]
            .iter()
            .map(|status| canned(*status, format!("no {status}")).with("retry-after-ms", 5))
            .collect();
        answers.push(canned(200, body));
        let server = Server::start(answers);
        let model = model(&format!("{provider}:m"), &quick(&server.url, 9));
        let reply = model.chat(&request(), &call()).unwrap();
        let statuses: Vec<_> = reply.retries.iter().map(|retry| retry.status.unwrap()).collect();
        assert_eq!(statuses, [408, 409, 425, 429, 500, 502, 503, 504, 529]);
        assert_eq!(reply.retries[4].message, "no 500");
        assert!(reply.retries.iter().all(|retry| retry.waited >= Duration::from_millis(5)));
        assert_eq!(server.requests().len(), 10);
    }
}

#[test]
fn requested_wait_is_respected() {
    let server = Server::start(vec![canned(429, "slow").with("retry-after", 1), canned(200, OK)]);
    let reply = turn("openai", &server.url, &request()).unwrap();
    let asked = server.requests();
    let gap = asked[1].at - asked[0].at;
    assert!(gap >= Duration::from_secs(1) && gap < Duration::from_secs(2), "{gap:?}");
    assert_eq!(reply.retries.len(), 1);
    assert!(reply.retries[0].waited >= Duration::from_secs(1), "{:?}", reply.retries);
}

#[test]
fn rate_limit_applies_to_all_users_of_the_key() {
    let server = Server::start(vec![canned(429, "slow").with("retry-after-ms", 600), canned(200, OK)]);
    // Two models of one provider.
    let (one, two) = (model("openai:a", &options(&server.url)), model("openai:b", &options(&server.url)));
    thread::scope(|scope| {
        let first = scope.spawn(|| one.chat(&request(), &call()).unwrap());
        while server.requests().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(100));
        let second = two.chat(&request(), &call()).unwrap();
        assert_eq!(second.retries.len(), 1, "{:?}", second.retries);
        assert_eq!(second.retries[0].status, Some(429));
        assert!(
            second.retries[0].message.starts_with("waiting for a rate limit that another call met"),
            "{:?}",
            second.retries
        );
        assert!(second.retries[0].waited >= Duration::from_millis(300), "{:?}", second.retries);
        first.join().unwrap();
    });
    let asked = server.requests();
    assert_eq!(asked.len(), 3, "no request during the wait");
    assert!(asked[1].at - asked[0].at >= Duration::from_millis(600));
}

#[test]
fn rate_limit_beyond_the_deadline_is_reported() {
    let server = Server::start(vec![canned(429, "slow down").with("retry-after", 30)]);
    let model = model("openai:m", &options(&server.url));
    let check = |tries: u32| {
        let started = Instant::now();
        let error = model.chat(&request(), &within(Duration::from_secs(5))).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        let ModelError::RateLimited { status: 429, tries: found, message } = &error else {
            panic!("{error:?}")
        };
        assert_eq!((*found, message.as_str()), (tries, "slow down"));
    };
    check(1);
    // The second call sends no request: the limit is known.
    check(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn endless_rate_limit_ends_with_the_deadline() {
    let server = Server::start(vec![canned(429, "no")]);
    let model = model("openai:m", &options(&server.url));
    let started = Instant::now();
    let error = model.chat(&request(), &within(Duration::from_secs(2))).unwrap_err();
    assert!(matches!(error, ModelError::RateLimited { status: 429, .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_millis(2_200));
    assert!((2..=4).contains(&server.requests().len()), "{}", server.requests().len());
}

#[test]
fn retries_are_limited() {
    let check = |status: u16, expected: &str| {
        let server = Server::start(vec![canned(status, "no").with("retry-after-ms", 1)]);
        let error = model("openai:m", &quick(&server.url, 2)).chat(&request(), &call()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(server.requests().len(), 3);
    };
    check(500, "provider error (status 500, tries: 3): no");
    check(529, "rate limited by the provider (status 529, tries: 3): no");
}

#[test]
fn refusals_are_final_and_contain_no_key() {
    for status in [400, 401, 403, 404, 413, 422] {
        let body = json!({"error": {"message": format!("bad key {KEY} here")}});
        let server = Server::start(vec![canned(status, body)]);
        let error = turn("openai", &server.url, &request()).unwrap_err();
        assert!(matches!(error, ModelError::Refused { status: found, .. } if found == status), "{error:?}");
        assert!(error.to_string().ends_with("bad key [key] here"), "{error}");
        assert!(!format!("{error:?}").contains(KEY));
        assert_eq!(server.requests().len(), 1);
    }
    let server = Server::start(vec![canned(401, "who?")]);
    let model = assay_model::open("openai:m", &options(&server.url), &|_| None).unwrap();
    let error = model.chat(&request(), &call()).unwrap_err().to_string();
    assert!(
        error.ends_with("who?; no API key was sent (hint: set api_key_env to the variable with the key)"),
        "{error}"
    );
}

#[test]
fn invalid_replies_are_shown() {
    let check = |status: u16, body: &str, expected: &str| {
        let server = Server::start(vec![canned(status, body).with("location", "http://elsewhere.example")]);
        for provider in ["openai", "anthropic", "gemini"] {
            let error = turn(provider, &server.url, &request()).unwrap_err();
            assert!(matches!(error, ModelError::Protocol { .. }), "{provider} {body}: {error:?}");
            assert!(error.to_string().contains(expected), "{provider} {body}: {error}");
        }
        assert_eq!(server.requests().len(), 3, "a reply was retried");
    };
    check(200, "<html><title>Log in</title></html>", "not JSON: <html><title>Log in</title></html>");
    check(200, "\u{1b}]0;title\u{7}", "not JSON: \\u{1b}]0;title\\u{7}");
    check(200, "{}", "missing c");
    check(200, "[1]", "missing c");
    check(200, "null", "missing c");
    check(200, r#"{"error":{"message":"no"}}"#, "an error instead of a reply");
    check(302, "", "status 302 is a redirect (http://elsewhere.example): set base_url");
    check(307, "", "status 307 is a redirect");
}

#[test]
fn broken_servers_end_in_errors() {
    let check = |tricks: &'static [Trick], expected: &str| {
        let (url, _) = broken(tricks);
        let error = model("openai:m", &quick(&url, 0)).chat(&request(), &call()).unwrap_err();
        assert!(error.to_string().contains(expected), "{tricks:?}: {error}");
        error
    };
    let unreached = "cannot reach the provider (tries: 1)";
    check(&[Close("")], unreached);
    check(&[Close("HTTP/1.1 200 OK\r\n")], unreached);
    check(&[Close("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\":[")], unreached);
    check(&[Close("HTTP/1.1 200 OK\r\n\r\n{\"choices\":[")], "the reply was interrupted after 12 bytes");
    check(&[Close("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n")], unreached);
    check(&[Close("SSH-2.0-OpenSSH_9.2\r\n\r\n")], "not HTTP");
    check(&[Close("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")], "the provider");
    check(&[Flood("HTTP/1.1 200 OK\r\n\r\n", " ")], "larger than 64 MiB");
    check(&[Flood("HTTP/1.1 200 OK\r\n", "x-filler: yyyyyyyyyyyyyyyy\r\n")], "not HTTP");
    // Not TLS, which waiting does not change.
    let (url, _) = broken(&[Rude("HTTP/1.1 400 Bad Request\r\n\r\n")]);
    let error =
        model("openai:m", &options(&url.replace("http:", "https:"))).chat(&request(), &call()).unwrap_err();
    assert!(matches!(error, ModelError::Network { tries: 1, .. }), "{error:?}");
    // No server.
    let error = turn_without_retry("http://127.0.0.1:9");
    assert!(matches!(error, ModelError::Network { tries: 1, .. }), "{error:?}");
}

fn turn_without_retry(url: &str) -> ModelError {
    model("openai:m", &quick(url, 0)).chat(&request(), &call()).unwrap_err()
}

#[test]
fn interrupted_reply_is_retried() {
    let (url, _) = broken(&[
        Close("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\":["),
        Close(WHOLE),
        Close(WHOLE),
    ]);
    let model = model("openai:m", &options(&url));
    let reply = model.chat(&request(), &call()).unwrap();
    assert_eq!((reply.text.as_str(), reply.retries.len()), ("ok", 1));
    assert_eq!(reply.retries[0].status, None);
    // The server has closed the idle connection since; that costs at most one try.
    thread::sleep(Duration::from_millis(20));
    assert_eq!(model.chat(&request(), &call()).unwrap().text, "ok");
}

#[test]
fn hanging_server_ends_with_the_request_timeout() {
    for trick in [&[Hang("")], &[Hang("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")]] {
        let (url, _) = broken(trick);
        let options = ModelOptions { request_timeout: Duration::from_millis(300), ..quick(&url, 0) };
        let started = Instant::now();
        let error = model("openai:m", &options).chat(&request(), &call()).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        assert!(error.to_string().contains("no reply within 0.3 s"), "{error}");
    }
}

#[test]
fn hanging_server_ends_with_the_deadline() {
    let (url, closed) = broken(&[Hang("")]);
    let started = Instant::now();
    let error =
        model("openai:m", &options(&url)).chat(&request(), &within(Duration::from_millis(300))).unwrap_err();
    assert!(matches!(error, ModelError::Deadline), "{error:?}");
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(800), "{took:?}");
    wait_for(&closed, 1);
    // A deadline in the past sends no request.
    let error = model("openai:m", &options(&url)).chat(&request(), &within(Duration::ZERO)).unwrap_err();
    assert!(matches!(error, ModelError::Deadline), "{error:?}");
    let started = Instant::now();
    let server = Server::start(vec![canned(500, "no").with("retry-after", 30)]);
    let error = model("openai:m", &options(&server.url))
        .chat(&request(), &within(Duration::from_secs(3)))
        .unwrap_err();
    assert!(matches!(error, ModelError::Server { status: 500, tries: 1, .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn rate_limit_before_a_hang_is_reported() {
    let (url, _) =
        broken(&[Close("HTTP/1.1 429 No\r\nretry-after-ms: 10\r\ncontent-length: 2\r\n\r\nno"), Hang("")]);
    let error =
        model("openai:m", &options(&url)).chat(&request(), &within(Duration::from_millis(400))).unwrap_err();
    assert!(matches!(error, ModelError::RateLimited { status: 429, tries: 2, .. }), "{error:?}");
}

#[test]
fn cancelling_ends_a_call_at_once() {
    let (hanging, closed) = broken(&[Hang("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")]);
    let limiting = Server::start(vec![canned(429, "no").with("retry-after", 30)]);
    for url in [&hanging, &limiting.url] {
        let cancel = AtomicBool::new(false);
        let model = model("openai:m", &options(url));
        thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let error = model.chat(&request(), &Call { cancel: &cancel, ..call() }).unwrap_err();
                (error, Instant::now())
            });
            thread::sleep(Duration::from_millis(250));
            let cancelled = Instant::now();
            cancel.store(true, Ordering::Relaxed);
            let (error, ended) = asking.join().unwrap();
            assert!(matches!(error, ModelError::Cancelled), "{error:?}");
            assert!(ended - cancelled < Duration::from_millis(500), "{:?}", ended - cancelled);
        });
    }
    // The connection to the provider is closed, too.
    wait_for(&closed, 1);
    assert_eq!(limiting.requests().len(), 1);
}

fn wait_for(closed: &std::sync::Mutex<usize>, count: usize) {
    let started = Instant::now();
    while *closed.lock().unwrap() < count {
        assert!(started.elapsed() < Duration::from_secs(2), "the connection is still open");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn one_model_serves_many_threads() {
    let (url, closed) = broken(&[Serve(WHOLE)]);
    let model = model("openai:m", &options(&url));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let reply = model.chat(&request(), &call()).unwrap();
                    assert_eq!((reply.text.as_str(), reply.retries.len()), ("ok", 0));
                }
            });
        }
    });
    assert_eq!(*closed.lock().unwrap(), 0, "connections were closed");
    drop(model);
    wait_for(&closed, 1);
}
