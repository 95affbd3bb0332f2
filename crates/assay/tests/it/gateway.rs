//! `assay gateway`: one agent at a time, and what it leaves.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, within};
use crate::server::{Answer, Server};

/// What stands in a provider's key's place.
const CANARY: &str = "sk-canary-5f0c2d9e71b84a66";

/// An agent in a few lines: it asks once, prints the reply, its own environment, and what an unknown path answers.
const AGENT: &str = r#"
import json, os, sys, urllib.error, urllib.request
def post(path, body):
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code) + " " + error.read().decode()
said = {"role": "user", "content": "<available_skills>\n- ledger-export: Exports ledgers.\n</available_skills>"}
for asked in range(int(sys.argv[1])):
    print(post("/chat/completions", {"model": "strong", "messages": [said], "tools": [{"type": "function", "function": {"name": "bash"}}]}))
print(post("/files", {}))
print(dict(os.environ))
"#;

fn lab() -> Fixture {
    Fixture::new()
        .file("agent.py", AGENT)
        .skill(
            "ledger-export",
            "Exports ledgers.",
            "Amounts are in minor units, and never in floating point.",
        )
        .script(&[json!({"turn": 0, "say": "I look.", "run": "ls"})])
        .env("ANTHROPIC_API_KEY", CANARY)
        .env("MY_KEY", CANARY)
}

fn agent(lab: &Fixture, times: &str, arguments: &[&str]) -> Ran {
    let command = ["--format", "json", "--", "python3", "agent.py", times];
    lab.assay(&[&["gateway"], arguments, &command].concat())
}

#[test]
fn an_agent_is_metered_and_its_skills_are_followed() {
    let lab = lab();
    let ran = agent(
        &lab,
        "2",
        &["--provider", "scripted:turns.jsonl", "--model", "pinned", "--skill", "skills/ledger-export"],
    );
    let ledger = ran.ok().json();
    assert_eq!(
        (&ledger["schema"], &ledger["provider"]),
        (&json!("assay.gateway/3"), &json!("scripted:turns.jsonl"))
    );
    let first = &ledger["exchanges"][0];
    assert_eq!((&first["protocol"], &first["status"]), (&json!("openai-completions"), &json!(200)));
    assert_eq!((&first["requested_model"], &first["model"]), (&json!("strong"), &json!("pinned")));
    assert_eq!((&first["calls"], &first["complete"]), (&json!(["bash"]), &json!(true)));
    assert!(first["tokens"]["input"].as_u64().unwrap() > 0);
    assert_eq!(ledger["totals"]["requests"], 2);
    assert_eq!(ledger["totals"]["usd"], Value::Null, "no price, no cost");
    let exposure = &ledger["exposure"][0];
    assert_eq!((&exposure["advertised"], &exposure["opened"]), (&json!(0), &Value::Null));
    assert_eq!(ledger["refused"][0]["status"], 404);
    let told =
        lab.assay(&["gateway", "--provider", "scripted:turns.jsonl", "--", "python3", "agent.py", "1"]).ok();
    assert!(told.stdout.contains("1 request, ") && told.stdout.contains("calls bash"), "{told:?}");
    assert!(told.stdout.contains("refused POST /v1/files (404)"), "{told:?}");
}

#[test]
fn a_key_is_found_nowhere() {
    let server = Server::start(|_, asked| {
        // A provider that repeats what it was sent.
        Answer::of(
            401,
            json!({"error": {"message": format!("wrong: {}", asked.authorization.clone().unwrap())}}),
        )
    });
    let lab = lab();
    let url = server.url();
    let ran =
        agent(&lab, "1", &["--provider", &url, "--api-key-env", "MY_KEY", "--record", "cassette.jsonl"]);
    assert_eq!(server.requests()[0].authorization.as_deref(), Some(format!("Bearer {CANARY}").as_str()));
    let exchange = ran.json()["exchanges"][0].clone();
    assert_eq!((&exchange["status"], &exchange["tokens"]), (&json!(401), &Value::Null));
    assert!(ran.stderr.contains("[key]"), "{ran:?}");
    for text in [&ran.stdout, &ran.stderr, &fs::read_to_string(lab.path("cassette.jsonl")).unwrap()] {
        assert!(!text.contains(CANARY), "{text}");
    }
}

#[test]
fn caps_and_replays_that_differ_end_with_1() {
    let lab = lab();
    let script = ["--provider", "scripted:turns.jsonl"];
    let capped = agent(&lab, "3", &[&script[..], &["--max-requests", "2"]].concat()).ended(1).json();
    assert!(capped["capped"]["reason"].as_str().unwrap().contains("2 requests (cap: 2)"), "{capped}");
    let live = agent(&lab, "2", &[&script[..], &["--record", "tape"]].concat()).ok().json();
    let again = agent(&lab, "2", &[&script[..], &["--replay", "tape"]].concat()).ok().json();
    for key in ["exposure", "mismatch"] {
        assert_eq!(live[key], again[key], "{key}");
    }
    assert_eq!(live["totals"]["tokens"], again["totals"]["tokens"]);
    let more = agent(&lab, "3", &[&script[..], &["--replay", "tape"]].concat()).ended(1).json();
    assert_eq!(more["mismatch"], json!({"ordinal": 2, "part": "request"}));
}

#[test]
fn an_interrupt_ends_it_and_shows_the_ledger() {
    let lab = lab();
    let gateway = lab.start(&["gateway", "--provider", "scripted:turns.jsonl", "--format", "json"]);
    assert!(
        within(Duration::from_mins(1), || gateway.stderr().contains("press Ctrl-C to stop")),
        "{}",
        gateway.stderr()
    );
    let told = gateway.stderr();
    assert!(told.contains("export ANTHROPIC_BASE_URL=http://127.0.0.1:"), "{told}");
    gateway.signal(Signal::INT);
    assert_eq!(gateway.wait().ok().json()["totals"]["requests"], 0);
}

#[test]
fn what_cannot_be_is_said() {
    let lab = Fixture::new().script(&[]);
    let check = |arguments: &[&str], expected: &str| {
        let ran = lab.assay(&[&["gateway"], arguments].concat()).ended(2);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
    };
    check(&["--provider", "nobody"], "unknown provider");
    check(&["--provider", "anthropic"], "ANTHROPIC_API_KEY is not set");
    check(&["--provider", "scripted:gone.jsonl"], "gone.jsonl");
    check(&["--provider", "http://user:pw@x"], "has credentials in it");
    check(&["--provider", "scripted:turns.jsonl", "--replay", "gone"], "record it first");
    check(&["--provider", "scripted:turns.jsonl", "--", "no-such-agent"], "cannot start no-such-agent");
    check(&["--provider", "scripted:turns.jsonl", "--max-usd", "1"], "--prices");
}

#[test]
fn a_replay_needs_no_key() {
    let lab = lab();
    agent(&lab, "1", &["--provider", "scripted:turns.jsonl", "--record", "tape"]).ok();
    let again = agent(&lab, "1", &["--provider", "openai", "--replay", "tape"]).ok().json();
    assert_eq!(again["totals"]["requests"], 1);
    let ran = lab.assay(&["gateway", "--provider", "openai"]).ended(2);
    assert!(ran.stderr.contains("OPENAI_API_KEY is not set"), "{ran:?}");
}
