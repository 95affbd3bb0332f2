//! `assay search serve`: MCP by hand and by a client made elsewhere, and HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::fixture::Fixture;

fn lab() -> Fixture {
    Fixture::new()
        .file(
            "library/pivot/SKILL.md",
            "---\nname: pivot-tables\ndescription: Makes a pivot table from an export.\n---\nSum the rows.\n",
        )
        .file(
            "library/log-audit/SKILL.md",
            "---\nname: log-audit\ndescription: Audits logs.\n---\nCount the errors of each hour.\n",
        )
}

/// Lines in, lines out.
fn spoken(lab: &Fixture, input: &[u8]) -> Vec<Value> {
    let mut child = lab
        .command(&["search", "serve", "--mcp", "--library", "library"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "the end of the input is a good end: {:?}", output.status);
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_protocol_is_spoken() {
    let call = |id: u32, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "search_skills", "arguments": arguments } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2024-11-05" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        call(2, json!({ "request": "make a pivot table of this export", "limit": 1 })),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "initialize", "params": { "protocolVersion": "1999-01-01" } }),
        json!([{ "jsonrpc": "2.0", "id": 4, "method": "ping" }, { "jsonrpc": "2.0", "method": "x" }]),
    ];
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let replies = spoken(&lab(), lines.as_bytes());
    assert_eq!(replies.len(), 6, "what has no id has no reply: {replies:#?}");
    assert_eq!(replies[0]["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(replies[1], json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    let tool = &replies[2]["result"]["tools"][0];
    assert_eq!(
        (&tool["name"], &tool["inputSchema"]["required"]),
        (&json!("search_skills"), &json!(["request"]))
    );
    let found = &replies[3]["result"];
    let hits = &found["structuredContent"]["hits"];
    assert_eq!((&found["isError"], &hits[0]["name"]), (&json!(false), &json!("pivot-tables")));
    assert_eq!(hits.as_array().unwrap().len(), 1);
    let text: Value = serde_json::from_str(found["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, found["structuredContent"]);
    assert_eq!(
        replies[4]["result"]["protocolVersion"], "2025-11-25",
        "the newest, where the client's is unknown"
    );
    assert_eq!(replies[5], json!([{ "jsonrpc": "2.0", "id": 4, "result": {} }]));
}

#[test]
fn bad_messages_are_answered_and_end_nothing() {
    let lab = lab();
    let call = |params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    };
    let searched = |arguments: Value| call(json!({ "name": "search_skills", "arguments": arguments }));
    let huge = format!("{{\"x\":\"{}\"}}", "a".repeat(5 << 20));
    let cases: Vec<(Vec<u8>, i64)> = vec![
        (b"nonsense".to_vec(), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1".to_vec(), -32700),
        (b"\xff\xfe{}".to_vec(), -32700),
        ("[".repeat(10_000).into_bytes(), -32700),
        (huge.into_bytes(), -32600),
        (b"[]".to_vec(), -32600),
        (b"7".to_vec(), -32600),
        (br#"{"id":1,"method":"ping"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#.to_vec(), -32601),
        (call(json!({ "name": "other" })).into_bytes(), -32602),
        (searched(json!([])).into_bytes(), -32602),
    ];
    let mut input = Vec::new();
    for (message, _) in &cases {
        input.extend_from_slice(message);
        input.push(b'\n');
    }
    input.extend_from_slice(b"\n  \r\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}");
    let replies = spoken(&lab, &input);
    assert_eq!(replies.len(), cases.len() + 1);
    for ((message, expected), reply) in cases.iter().zip(&replies) {
        let start = String::from_utf8_lossy(&message[..message.len().min(80)]).into_owned();
        assert_eq!(reply["error"]["code"], json!(expected), "{start}: {reply}");
    }
    assert_eq!(replies[cases.len()], json!({ "jsonrpc": "2.0", "id": "last", "result": {} }));
}

#[test]
fn an_answer_holds_what_a_model_needs_and_no_more() {
    let lab = lab()
        .file(
            "library/one/letters/SKILL.md",
            "---\nname: letters\ndescription: Writes short letters.\n---\nBe short.\n",
        )
        .file(
            "library/two/letters/SKILL.md",
            "---\nname: letters\ndescription: Writes long letters.\n---\nBe long.\n",
        );
    let call = |request: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search_skills", "arguments": { "request": request } } });
    let long = format!("make a pivot table from an export {}", "padding ".repeat(40_000));
    let requests =
        ["make a pivot table from an export", "write letters", "tell my cat that dinner is late", &long];
    let lines: String = requests.iter().map(|request| format!("{}\n", call(request))).collect();
    let replies = spoken(&lab, lines.as_bytes());
    let answers: Vec<&Value> = replies.iter().map(|reply| &reply["result"]["structuredContent"]).collect();
    assert_eq!(answers[0]["fits"], true);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let hit = &answers[0]["hits"][0];
    assert_eq!(
        (keys(answers[0]), keys(hit)),
        (own(&["fits", "hits"]), own(&["name", "description", "confidence"]))
    );
    assert_eq!(
        (&hit["name"], &hit["description"]),
        (&json!("pivot-tables"), &json!("Makes a pivot table from an export."))
    );
    assert!((0.0..=1.0).contains(&hit["confidence"].as_f64().unwrap()), "{hit}");
    // Two skills of one name need more to be told apart.
    let ids: Vec<&Value> = answers[1]["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert!(ids.contains(&&json!("one/letters")) && ids.contains(&&json!("two/letters")), "{}", answers[1]);
    assert_eq!(
        answers[2],
        &json!({ "fits": false, "message": "None of 4 skills fits this request.", "hits": [] })
    );
    for (request, reply) in requests.iter().zip(&replies) {
        let reply = reply.to_string();
        assert!(reply.len() < 2_000, "{} bytes of reply to {} of request", reply.len(), request.len());
        assert!(!reply.contains(*request), "the request is echoed: {reply}");
    }
}

fn own(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn wrong_arguments_are_results_that_a_model_can_read() {
    let lab = lab();
    let check = |arguments: Value, expected: &str| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search_skills", "arguments": arguments } });
        let replies = spoken(&lab, format!("{call}\n").as_bytes());
        let found = &replies[0]["result"];
        assert_eq!(
            (&found["isError"], &found["content"][0]["text"]),
            (&json!(true), &json!(expected)),
            "{call}"
        );
    };
    check(json!({}), "`request` must be a non-empty string");
    check(json!({ "request": 7 }), "`request` must be a non-empty string");
    check(json!({ "request": "  " }), "`request` must be a non-empty string");
    check(json!({ "request": "x", "limit": 0 }), "`limit` must be an integer from 1 to 50");
    check(json!({ "request": "x", "limit": "many" }), "`limit` must be an integer from 1 to 50");
    check(
        json!({ "request": "x", "extra": 1 }),
        "unknown argument `extra`: search_skills accepts `request` and `limit`",
    );
}

#[test]
fn every_version_of_the_protocol_is_spoken() {
    let versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    let ask = |version: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": version } });
    let lines: String = versions.iter().map(|version| format!("{}\n", ask(version))).collect();
    for (version, reply) in versions.iter().zip(spoken(&lab(), lines.as_bytes())) {
        assert_eq!(&reply["result"]["protocolVersion"], version);
    }
}

/// The reference client of the protocol's authors, where `scripts/fetch-mcp` has put it.
#[test]
#[ignore = "needs the network"]
fn a_client_made_elsewhere_searches() {
    let lab = lab();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/fetch-mcp");
    let fetched = Command::new(script).stdin(Stdio::null()).output().unwrap();
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    let python = String::from_utf8(fetched.stdout).unwrap();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/search_serve/mcp_client.py");
    let assay = lab.command(&[]).get_program().to_owned();
    let ran = Command::new(python.trim()).arg(client).arg(assay).arg(lab.path("library")).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    let found: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(found["server"], "assay");
    assert_eq!(found["tools"], json!(["search_skills"]));
    assert_eq!(found["answer"]["hits"][0]["name"], "pivot-tables");
    assert_eq!(found["refused"], true, "{found}");
}

/// A server, ended with the test.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(lab: &Fixture) -> Self {
        let mut child = lab
            .command(&["search", "serve", "--http", "127.0.0.1:0", "--library", "library"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("{line:?}")).1.to_owned();
        Self { child, address }
    }

    fn send(&self, head: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let status = reply.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap())
    }
}

#[test]
fn http_answers_on_loopback() {
    let lab = lab();
    let server = Server::start(&lab);
    let post = "POST /search HTTP/1.1\r\nHost: 127.0.0.1";
    let (status, found) = server.send(post, r#"{"request":"make a pivot table","limit":1}"#);
    assert_eq!((status, &found["schema"]), (200, &json!("assay.search/1")));
    assert_eq!(found["hits"][0]["id"], "pivot");
    let check = |head: &str, body: &str, expected: u16| {
        let (status, found) = server.send(head, body);
        assert_eq!(status, expected, "{head} {body}");
        assert!(expected == 200 || found["error"].is_string(), "{found}");
    };
    check("GET /health HTTP/1.1\r\nHost: localhost:1", "", 200);
    check(post, "nonsense", 400);
    check(post, r#"{"request":" "}"#, 400);
    check(post, r#"{"request":"x","limit":-1}"#, 400);
    check("GET /search HTTP/1.1\r\nHost: [::1]:80", "", 405);
    check("GET /nowhere HTTP/1.1\r\nHost: localhost", "", 404);
    check("POST /search HTTP/1.1\r\nHost: evil.example", r#"{"request":"x"}"#, 403);
    check(post, &" ".repeat((1 << 20) + 2), 413);
    check(post, r#"{"request":"still there"}"#, 200);
    let refused = lab.assay(&["search", "serve", "--http", "0.0.0.0:0", "--library", "library"]).ended(2);
    assert!(refused.stderr.contains("0.0.0.0:0 is reachable from other machines"), "{}", refused.stderr);
}
