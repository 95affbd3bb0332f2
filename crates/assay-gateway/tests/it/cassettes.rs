//! Trials that are replayed without a provider.

use std::path::Path;

use assay_gateway::{
    Cassette, Gateway, GatewayOptions, Ledger, Listen, Provider, SessionConfig, WatchedSkill,
};
use serde_json::{Value, json};

use crate::client::{Reply, post};
use crate::upstream::{KEY, Upstream, begin, end, piece};
use crate::{quick, requests, script};

const BODY: &str = "Amounts are in minor units, and never in floating point numbers.";

fn open(provider: Provider, cassette: Cassette) -> assay_gateway::Proxy {
    let mut session = SessionConfig::new("trial-7", provider, Listen::Loopback(0));
    session.cassette = cassette;
    session.skills =
        vec![WatchedSkill { name: "ledger".to_owned(), description: String::new(), body: BODY.to_owned() }];
    Gateway::new(GatewayOptions { limits: quick(), ..GatewayOptions::default() }).open(session).unwrap()
}

/// A provider that streams, with the name of an account in its text.
fn provider() -> Upstream {
    Upstream::start(|_, _, number, out| {
        begin(out);
        piece(
            out,
            &format!(
                "data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{\"input_tokens\":{number}5,\"output_tokens\":1}}}}}}\n\n"
            ),
        );
        piece(
            out,
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"of org-AbCdEf123456\"}}\n\n",
        );
        piece(
            out,
            "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        );
        end(out);
    })
}

fn conversation(session: &str, said: &str) -> [Value; 2] {
    let first = json!({"role": "user", "content": format!("session {session}: ledger")});
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": format!("{BODY}\n{said}")});
    // An account's name is in no cassette, wherever it was.
    let request = |messages: Value| json!({"system": "of org-AbCdEf123456", "model": "m", "max_tokens": 9, "stream": true, "metadata": {"user_id": session}, "messages": messages});
    [request(json!([first])), request(json!([first, {"role": "user", "content": [result]}]))]
}

fn run_requests(provider: Provider, cassette: Cassette, requests: &[Value]) -> (Vec<Reply>, Ledger) {
    let proxy = open(provider, cassette);
    let replies = requests.iter().map(|body| post(&proxy, "/v1/messages", body)).collect();
    (replies, proxy.close())
}

/// What a replay has to reproduce.
fn outcome(ledger: &Ledger) -> Value {
    let exchanges: Vec<Value> = ledger
        .exchanges
        .iter()
        .map(|exchange| {
            json!([exchange.status, exchange.tokens, exchange.usage, exchange.complete, exchange.estimated])
        })
        .collect();
    json!([exchanges, ledger.exposure, ledger.totals.tokens, ledger.totals.estimated])
}

const SESSIONS: [&str; 2] = ["6f1c1d1e-0b1a-4c53-9f51-3f9fb1f2a001", "11111111-2222-4333-8444-555555555555"];

/// OpenCode sends two requests at once: for a title and for the work.
#[test]
fn reordered_requests_get_their_own_replies() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("cassette.jsonl");
    let upstream = provider();
    let requests = conversation(SESSIONS[0], "ok");
    let (recorded, _) = run_requests(upstream.provider(), Cassette::Record(tape.clone()), &requests);
    let [first, second] = requests;
    let (again, ledger) = run_requests(upstream.provider(), Cassette::Replay(tape), &[second, first]);
    assert_eq!(ledger.mismatch, None);
    let kept = |reply: &Reply| reply.text().replace("org-AbCdEf123456", "[dropped]");
    assert_eq!([again[1].text(), again[0].text()], [kept(&recorded[0]), kept(&recorded[1])]);
    assert_ne!(again[0].text(), again[1].text());
}

#[test]
fn replay_reproduces_replies_without_a_provider() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("cassette.jsonl");
    let upstream = provider();
    let (recorded, live) =
        run_requests(upstream.provider(), Cassette::Record(tape.clone()), &conversation(SESSIONS[0], "ok"));
    assert_eq!((live.exposure[0].opened, live.mismatch.as_ref()), (Some(1), None));
    let asked = upstream.requests().len();
    // Another session, another day: the same trial.
    let replay = Cassette::Replay(tape.clone());
    let (replayed, again) = run_requests(upstream.provider(), replay, &conversation(SESSIONS[1], "ok"));
    assert_eq!(upstream.requests().len(), asked, "a replay sends no request");
    assert_eq!((outcome(&again), again.mismatch), (outcome(&live), None));
    for (recorded, replayed) in recorded.iter().zip(&replayed) {
        assert_eq!(recorded.text().replace("org-AbCdEf123456", "[dropped]"), replayed.text());
        assert!(replayed.pieces.len() > 1, "piece by piece");
    }
    let text = std::fs::read_to_string(&tape).unwrap();
    for secret in [KEY, "org-AbCdEf123456", SESSIONS[0]] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn first_difference_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("cassette.jsonl");
    let upstream = provider();
    run_requests(upstream.provider(), Cassette::Record(tape.clone()), &conversation(SESSIONS[0], "ok"));
    let check = |requests: &[Value], expected: Option<(usize, &str)>, statuses: &[u16]| {
        let (replies, ledger) = run_requests(upstream.provider(), Cassette::Replay(tape.clone()), requests);
        let found = ledger.mismatch.as_ref().map(|mismatch| (mismatch.ordinal, mismatch.part.as_str()));
        assert_eq!(found, expected);
        assert_eq!(replies.iter().map(|reply| reply.status).collect::<Vec<_>>(), statuses);
    };
    let [first, second] = conversation(SESSIONS[0], "ok");
    check(&[first.clone(), second.clone()], None, &[200, 200]);
    check(&conversation(SESSIONS[0], "another result"), Some((1, "messages[1]")), &[200, 200]);
    let (_, ledger) = run_requests(
        upstream.provider(),
        Cassette::Replay(tape.clone()),
        &conversation(SESSIONS[0], "another"),
    );
    let mismatch = ledger.mismatch.unwrap();
    assert_eq!(mismatch.at.as_deref(), Some("/content/0/content"), "{mismatch:?}");
    let said = [mismatch.recorded.unwrap(), mismatch.now.unwrap()];
    assert!(said[0].ends_with("ok") && said[1].ends_with("another"), "{said:?}");
    assert!(said.iter().all(|said| said.contains("floating point numbers")), "{said:?}");
    // Only the order differs.
    check(&[second.clone(), first.clone()], None, &[200, 200]);
    check(&[first.clone(), second.clone(), first], Some((2, "request")), &[200, 200, 400]);
}

#[test]
fn faults_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"times\": 1, \"fault\": \"500\"}\n{\"times\": 1, \"fault\": \"break\"}\n{\"times\": 1, \"fault\": \"hang\"}\n{\"say\": \"ok\"}";
    for (index, (path, body)) in requests(true, 0).into_iter().enumerate() {
        let tape = folder.path().join(format!("cassette-{index}.jsonl"));
        let run = |cassette: Cassette| {
            let mut session = SessionConfig::new("t", script(folder.path(), lines), Listen::Loopback(0));
            session.cassette = cassette;
            let mut limits = quick();
            limits.provider_idle = std::time::Duration::from_millis(200);
            let proxy =
                Gateway::new(GatewayOptions { limits, ..GatewayOptions::default() }).open(session).unwrap();
            let replies: Vec<Reply> = (0..4).map(|_| post(&proxy, &path, &body)).collect();
            (replies, proxy.close())
        };
        let (live, ledger) = run(Cassette::Record(tape.clone()));
        let (again, replayed) = run(Cassette::Replay(tape));
        for (live, again) in live.iter().zip(&again) {
            assert_eq!(
                (live.status, live.whole, live.text()),
                (again.status, again.whole, again.text()),
                "{path}"
            );
        }
        assert_eq!(live.iter().map(|reply| reply.status).collect::<Vec<_>>(), [500, 200, 502, 200]);
        assert_eq!(replayed.mismatch, None);
        let statuses =
            |ledger: &Ledger| ledger.exchanges.iter().map(|exchange| exchange.status).collect::<Vec<_>>();
        assert_eq!(statuses(&ledger), statuses(&replayed));
    }
}

#[test]
fn cassette_belongs_to_one_trial() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path, cassette: fn(std::path::PathBuf) -> Cassette, trial: &str, expected: &str| {
        let mut session =
            SessionConfig::new(trial, script(folder.path(), "{\"say\": \"ok\"}"), Listen::Loopback(0));
        session.cassette = cassette(path.to_path_buf());
        let error = Gateway::new(GatewayOptions::default()).open(session).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let tape = folder.path().join("cassette.jsonl");
    check(&tape, Cassette::Replay, "t", "record it first");
    let mut session =
        SessionConfig::new("t", script(folder.path(), "{\"say\": \"ok\"}"), Listen::Loopback(0));
    session.cassette = Cassette::Record(tape.clone());
    drop(Gateway::new(GatewayOptions::default()).open(session).unwrap());
    check(&tape, Cassette::Replay, "another", "line 1: recorded for another trial");
    check(&tape, Cassette::Record, "t", "cannot create the file");
    let text = std::fs::read_to_string(&tape).unwrap();
    std::fs::write(&tape, format!("{text}{{\"ordinal\":0}}\n")).unwrap();
    check(&tape, Cassette::Replay, "t", "line 2: ");
    std::fs::write(&tape, "{}").unwrap();
    check(&tape, Cassette::Replay, "t", "line 1: not a cassette");
}
