//! Hostile requests.

use std::io::Write;
use std::time::{Duration, Instant};

use assay_gateway::{Listen, Proxy};

use crate::client::{connect, post, raw, read, request};
use crate::{open_proxy, requests, script, until};

fn open_test_proxy() -> Proxy {
    let folder = tempfile::tempdir().unwrap();
    open_proxy(script(folder.path(), "{\"say\": \"hi\"}"), |_, options| {
        options.limits.request_bytes = 64 << 10;
        options.limits.arrival = Duration::from_millis(700);
    })
}

#[test]
fn malformed_requests_get_an_error_status() {
    let proxy = open_test_proxy();
    let token = format!("x-api-key: {}\r\n", proxy.token());
    let post_raw =
        |headers: &str, body: &[u8]| request("POST", "/v1/messages", &format!("{token}{headers}"), body);
    let check = |bytes: &[u8], expected: u16| {
        let reply = raw(&proxy, bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]);
        assert_eq!(reply.status, expected, "{shown}\n{reply:?}");
    };
    check(b"hello\r\n\r\n", 400);
    check(&[0, 159, 146, 150, b'\r', b'\n', b'\r', b'\n'], 400);
    check(&post_raw("", b"{"), 400);
    check(&post_raw("", b"[]"), 400);
    check(&post_raw("", &b"[".repeat(50_000)), 400);
    check(&post_raw("", b"{\"model\": \"../../x\", \"messages\": []}"), 400);
    check(&post_raw("", b"{\"model\": 7}"), 400);
    check(&post_raw("content-encoding: gzip\r\n", b"{}"), 415);
    check(&post_raw("", &vec![b' '; 70 << 10]), 413);
    check(&post_raw(&format!("x: {}\r\n", "y".repeat(80 << 10)), b"{}"), 413);
    check(&post_raw(&"x: y\r\n".repeat(200), b"{}"), 413);
    let head = format!("POST /v1/messages HTTP/1.1\r\n{token}");
    check(format!("{head}content-length: 99999999999999999999\r\n\r\n").as_bytes(), 400);
    check(format!("{head}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!").as_bytes(), 400);
    check(format!("{head}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n").as_bytes(), 400);
    check(format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n").as_bytes(), 400);
    check(format!("{head}transfer-encoding: chunked\r\n\r\nffffffffff\r\n").as_bytes(), 413);
    check(format!("{head}transfer-encoding: gzip\r\n\r\n").as_bytes(), 400);
    check(&request("POST", "/v1/files", &token, b"{}"), 404);
    // A proxy forwards to one provider, whatever address is requested.
    check(&request("POST", "http://elsewhere.example/v1/messages", &token, b"{}"), 404);
    check(&request("POST", "//elsewhere.example/v1/messages", &token, b"{}"), 404);
    check(&request("POST", "/v1/messages/../files", &token, b"{}"), 404);
    check(&request("POST", "/v1/messages/batches", &token, b"{}"), 404);
    check(&request("POST", "/v1/conversations", &token, b"{}"), 404);
    check(&request("GET", "/v1/responses/resp_1", &token, b""), 404);
    check(&request("CONNECT", "api.anthropic.com:443", &token, b""), 404);
    check(&request("POST", "/v1beta/models/m:streamGenerateContent", &token, b"{\"contents\":[]}"), 400);
    // The proxy still works.
    let (path, body) = requests(false, 0).remove(0);
    assert_eq!(post(&proxy, &path, &body).status, 200);
    assert!(!proxy.close().refused.is_empty());
}

#[test]
fn requests_without_the_token_are_refused() {
    let proxy = open_test_proxy();
    let (path, body) = requests(false, 0).remove(0);
    let body = body.to_string();
    for header in ["", "x-api-key: sk-guess\r\n", "authorization: Bearer\r\n", "authorization: Basic abc\r\n"]
    {
        let reply = raw(&proxy, &request("POST", &path, header, body.as_bytes()));
        assert_eq!(reply.status, 401, "{header}");
        assert_eq!(reply.json()["error"]["type"], "authentication_error");
    }
    let token = proxy.token().to_owned();
    for header in [format!("x-goog-api-key: {token}\r\n"), format!("authorization: bearer {token}\r\n")] {
        assert_eq!(raw(&proxy, &request("POST", &path, &header, body.as_bytes())).status, 200, "{header}");
    }
    let ledger = proxy.close();
    assert_eq!((ledger.refused.len(), ledger.exchanges.len()), (4, 2));
    assert!(!serde_json::to_string(&ledger).unwrap().contains(&token));
}

#[test]
fn slow_requests_time_out() {
    let proxy = open_test_proxy();
    let started = Instant::now();
    let mut stream = connect(&proxy);
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nx-api-key: {}\r\ncontent-length: 50000\r\n\r\n",
        proxy.token()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let reply = read(&mut *stream);
    assert_eq!(reply.status, 408);
    assert!(started.elapsed() >= Duration::from_millis(700));
    // A head that never ends.
    let mut stream = connect(&proxy);
    stream.write_all(b"POST /v1/messages HT").unwrap();
    assert_eq!(read(&mut *stream).status, 408);
}

#[test]
fn connections_are_reused_and_chunked_bodies_are_read() {
    let proxy = open_test_proxy();
    let (path, body) = requests(false, 0).remove(0);
    let body = body.to_string();
    let (first, second) = body.split_at(body.len() / 2);
    let token = proxy.token();
    let chunked = format!(
        "POST {path} HTTP/1.1\r\nx-api-key: {token}\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x};ext=1\r\n{second}\r\n0\r\ntrailer: x\r\n\r\n",
        first.len(),
        second.len()
    );
    let last = request("POST", &path, &format!("x-api-key: {token}\r\n"), body.as_bytes());
    let mut stream = connect(&proxy);
    stream.write_all(chunked.as_bytes()).unwrap();
    stream.write_all(&last).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2, "{text}");
    assert_eq!(proxy.close().exchanges.len(), 2);
}

#[test]
fn connections_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let proxy =
        open_proxy(script(folder.path(), "{\"say\": \"hi\"}"), |_, options| options.limits.connections = 3);
    let held: Vec<_> = (0..8).map(|_| connect(&proxy)).collect();
    until(|| proxy.ledger().refused.len() >= 5);
    drop(held);
    let (path, body) = requests(false, 0).remove(0);
    let served = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let mut stream = connect(&proxy);
        let token = format!("x-api-key: {}\r\n", proxy.token());
        let sent = stream.write_all(&request("POST", &path, &token, body.to_string().as_bytes()));
        let mut text = String::new();
        sent.is_ok()
            && std::io::Read::read_to_string(&mut stream, &mut text).is_ok()
            && text.starts_with("HTTP/1.1 200")
    });
    assert!(served, "slots are released");
}

/// The folder's path may be long, but the file's name has to fit into a socket address.
#[test]
fn overlong_socket_file_name_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let provider = script(folder.path(), "{\"say\": \"hi\"}");
    let long = folder.path().join("x".repeat(100));
    let session = assay_gateway::SessionConfig::new("t", provider, Listen::Socket(long));
    let error =
        assay_gateway::Gateway::new(assay_gateway::GatewayOptions::default()).open(session).unwrap_err();
    assert!(error.to_string().contains("cannot listen"), "{error}");
}
