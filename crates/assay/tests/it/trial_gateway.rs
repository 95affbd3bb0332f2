//! The gateway in trials of real command lines: waits, caps and the ledger.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::agents::{experiment, files, installed, lab, records, words};
use crate::fixture::{Fixture, Running, attempt, needs_bubblewrap, read_json, within};
use crate::server::{Answer, Server};

/// A fixture with Codex, the quickest of them.
fn codex(more: &str) -> Fixture {
    let lab = words(lab());
    installed(&lab, &["codex"]);
    experiment(&lab, "\"bubblewrap\"", &["codex"], "scripted:turns.jsonl");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("timeout = 240\n", more));
    lab
}

/// The one record of a run under the condition `curated`.
fn curated(lab: &Fixture, arguments: &[&str]) -> Value {
    let (document, code) = lab.run(&[&["--no-checks", "--only", "condition=curated"], arguments].concat());
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
    records(lab).remove(0)
}

/// A limit of the provider is waited out for longer than the agent has time: it passes, and what it left behind did not
/// move meanwhile.
#[test]
#[ignore = "needs agents"]
fn a_wait_is_nobodys_time_and_everything_stands_still() {
    needs_bubblewrap!();
    let lab = codex("timeout = 20\n");
    let count = "setsid sh -c 'while :; do date +%s.%N >> /app/ticks; sleep 0.05; done' > /dev/null 2>&1 &";
    let lab = lab.script(&[
        json!({ "tools": false, "say": "A report" }),
        json!({ "turn": 0, "run": format!("{count}\necho right > answer.txt") }),
        json!({ "turn": 1, "fault": "429", "retry_after": 22, "times": 1 }),
        json!({ "turn": 1, "run": "sleep 1; wc -l ticks" }),
    ]);
    // The longest time between two ticks.
    let gap =
        "awk 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 } END { print gap }' /app/ticks";
    let check = format!("echo gap $({gap})\n[ \"$({gap} | cut -d. -f1)\" -ge 20 ] && reward 1 || reward 0\n");
    let head = "#!/bin/bash\nreward() { echo \"$1\" > /logs/verifier/reward.txt; }\n";
    lab.write("tasks/t1/tests/test.sh", format!("{head}{check}"));
    let record = curated(&lab, &[]);
    let said = fs::read_to_string(attempt(&record, "verifier/test-stdout.txt")).unwrap();
    assert_eq!(record["outcome"], "passed", "{said}\n{record:#}");
    let waited = record["seconds"]["throttled"].as_f64().unwrap();
    let frozen = record["used"]["frozen_seconds"].as_f64().unwrap();
    let agent = record["seconds"]["agent"].as_f64().unwrap();
    assert!(waited >= 22.0 && frozen >= 20.0 && agent >= waited, "{record:#}");
    let ledger = read_json(&attempt(&record, "gateway.json")).unwrap();
    let held = ledger["paused_seconds"].as_f64().unwrap();
    assert!((held - waited).abs() < 0.01, "{held} {waited}");
}

/// A reply that breaks off costs what came of it, and the trial goes on: with the default cap on tokens, and one on the run's cost.
#[test]
#[ignore = "needs agents"]
fn a_dropped_connection_is_no_result_of_the_agent() {
    needs_bubblewrap!();
    let lab = codex("timeout = 240\nprice = { input = 1.0, output = 10.0 }\n");
    let lab = lab.script(&[
        json!({ "tools": false, "say": "A report" }),
        json!({ "turn": 0, "fault": "break", "times": 1 }),
        json!({ "turn": 0, "run": "echo right > answer.txt" }),
        json!({ "say": "done" }),
    ]);
    let record = curated(&lab, &["--max-usd", "1"]);
    assert_eq!(
        (&record["outcome"], &record["ended"]["kind"]),
        (&json!("passed"), &json!("finished")),
        "{record:#}"
    );
    let ledger = read_json(&attempt(&record, "gateway.json")).unwrap();
    let broken = &ledger["exchanges"][0];
    assert_eq!((&broken["complete"], &broken["estimated"]), (&json!(false), &json!(true)), "{broken:#}");
    let sent = broken["request_bytes"].as_u64().unwrap();
    let guess = record["metered"]["estimated_tokens"].as_u64().unwrap();
    assert!(guess > 0 && guess < sent / 4 + 100, "{guess} of {sent} bytes: {broken:#}");
    assert_eq!(record["estimated"]["requests"], 1, "{record:#}");
    let told = lab.assay(&["report", "lab"]).ok().stdout;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("in 1 of 1 trial, the provider's usage is missing"), "{told}");
}

/// Each cap has a word of its own.
#[test]
#[ignore = "needs agents"]
fn the_reason_an_agent_stopped_is_reported() {
    needs_bubblewrap!();
    let check = |cap: &str, kind: &str, of: &str| {
        let lab = codex(&format!("timeout = 240\n{cap}\n"));
        let record = curated(&lab, &[]);
        assert_eq!(
            (&record["outcome"], &record["ended"]["kind"]),
            (&json!("failed"), &json!(kind)),
            "{record:#}"
        );
        let capped = &read_json(&attempt(&record, "gateway.json")).unwrap()["capped"];
        assert_eq!((&capped["scope"], &capped["of"]), (&json!("trial"), &json!(of)), "{capped:#}");
    };
    check("max_turns = 1", "turn_limit", "requests");
    check("max_usd = 0.000001\nprice = { input = 1.0, output = 1.0 }", "cost_limit", "usd");
}

/// What a run may spend ends in the middle of a trial: that trial is no result, and the next run makes it anew.
#[test]
#[ignore = "needs agents"]
fn a_cap_of_the_run_stops_trials_at_work() {
    needs_bubblewrap!();
    let lab = codex("timeout = 240\nprice = { input = 1000.0, output = 1000.0 }\n");
    let one = curated(&lab, &[]);
    let tokens = one["metered"]["tokens"].as_u64().unwrap();
    let usd = one["cost_usd"].as_f64().unwrap();
    assert!((usd - tokens as f64 / 1000.0).abs() < 1e-9, "{one:#}");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("repetitions = 1", "repetitions = 3"));
    let only = ["--no-checks", "--only", "condition=curated", "-j", "1"];
    // One more trial, and half of the last.
    let half = (tokens + tokens / 2).to_string();
    let (document, code) = lab.run(&[&only[..], &["--max-tokens", &half]].concat());
    assert_eq!(
        (code, &document["cached"], &document["unfinished"]),
        (0, &json!(1), &json!(1)),
        "{document:#}"
    );
    assert!(document["capped"].as_str().unwrap().contains("the run's cap was reached"), "{document:#}");
    let causes = &document["report"]["arms"][0]["infrastructure_causes"];
    assert_eq!(causes, &json!({ "budget": 1 }), "{document:#}");
    let broken: Vec<Value> =
        records(&lab).into_iter().filter(|record| record["outcome"] == "infrastructure").collect();
    assert_eq!(broken.len(), 1);
    assert_eq!((&broken[0]["cause"], &broken[0]["ended"]["part"]), (&json!("budget"), &json!("budget")));
    assert!(broken[0]["metered"]["tokens"].as_u64().unwrap() > 0, "it was stopped at work: {:#}", broken[0]);
    // Nothing is left to spend: nothing is begun. A cap in USD does the same.
    let most = format!("{}", usd * 0.5);
    let (document, _) = lab.run(&[&only[..], &["--max-usd", &most]].concat());
    assert_eq!((&document["unfinished"], &document["executed"]), (&json!(1), &json!(1)), "{document:#}");
    let (document, code) = lab.run(&[&only[..], &["--no-retry"]].concat());
    assert_eq!((code, &document["cached"], &document["executed"]), (0, &json!(2), &json!(1)), "{document:#}");
    let arm = &document["report"]["arms"][0];
    assert_eq!((&arm["bounds"], &arm["infrastructure"]), (&json!([1.0, 1.0]), &json!(0)), "{arm:#}");
}

/// One table for the built-in loop and for agents behind the gateway: the same error makes the same of a trial.
#[test]
#[ignore = "needs agents"]
fn equal_errors_are_classified_equally() {
    needs_bubblewrap!();
    let lab = words(lab()).env("OPENAI_API_KEY", "sk-loopback-0123456789");
    installed(&lab, &["codex"]);
    let check = |status: u16, error: Value, expected: [&str; 2], reason: &str| {
        let server = Server::start(move |_, _| Answer::of(status, json!({ "error": error })));
        experiment(&lab, "\"bubblewrap\"", &["codex", "loop"], "openai:test-1");
        let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
        let served = format!("timeout = 240\nbase_url = \"{}\"\n", server.url());
        lab.write("experiment.toml", text.replace("timeout = 240\n", &served));
        let store = format!("store-{}", server.port);
        let run = ["run", "experiment.toml", "--no-checks", "--only", "condition=curated", "--store", &store];
        lab.assay(&run);
        let mut agents = Vec::new();
        for path in files(&lab.path(&store)).iter().filter(|path| path.ends_with("record.json")) {
            let record = read_json(path).unwrap();
            let name = record["agent"]["name"].as_str().unwrap().to_owned();
            let came = json!([record["outcome"], record["cause"], record["ended"]["kind"]]);
            let [outcome, kind] = expected;
            let cause = if outcome == "infrastructure" { json!("model_provider") } else { Value::Null };
            assert_eq!(came, json!([outcome, cause, kind]), "{status}: {record:#}");
            let said = record["reason"].as_str().unwrap_or_default();
            assert!(said.contains(reason), "{name}, {status}: {said}");
            agents.push(name);
        }
        agents.sort();
        assert_eq!(agents, ["codex", "loop"], "{status}");
    };
    let lost = ["infrastructure", "broken"];
    check(401, json!({ "message": "no such key" }), lost, "no such key");
    check(404, json!({ "message": "no such model" }), lost, "no such model");
    check(400, json!({ "message": "a field is wrong" }), lost, "a field is wrong");
    check(429, json!({ "message": "pay your bill", "code": "insufficient_quota" }), lost, "pay your bill");
    let full = json!({ "message": "your words are many", "code": "context_length_exceeded" });
    check(400, full, ["failed", "context_limit"], "");
}

/// What broke at the provider is told in its words, and not in the last ones that an agent printed.
#[test]
#[ignore = "needs agents"]
fn a_broken_reply_is_the_providers_doing() {
    needs_bubblewrap!();
    for (fault, says) in
        [("break", "the provider's last reply is broken"), ("not-json", "invalid JSON in the reply")]
    {
        let lab = codex("timeout = 240\nmax_output_tokens = 8000\n");
        let lab = lab.script(&[json!({ "fault": fault })]);
        let (document, code) = lab.run(&["--no-checks", "--only", "condition=curated"]);
        assert_eq!(code, 3, "{document:#}");
        let record = records(&lab).remove(0);
        assert_eq!(record["cause"], "model_provider", "{record:#}");
        assert!(record["reason"].as_str().unwrap().contains(says), "{record:#}");
    }
}

/// The processes, but for some, that have a text in their environment or on their command line; and the names of all.
fn processes_with(text: &str, but: &[u32]) -> (Vec<String>, BTreeSet<String>) {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let (mut found, mut names) = (Vec::new(), BTreeSet::new());
    for pid in pids.filter(|pid| !but.contains(pid)) {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let holds = |file: &str| read(file).windows(text.len()).any(|window| window == text.as_bytes());
        names.insert(String::from_utf8_lossy(&read("comm")).trim().to_owned());
        for file in ["environ", "cmdline"] {
            // Between its start and its program's a child is still a picture of its parent.
            if holds(file) && !within(Duration::from_secs(2), || !holds(file)) {
                found.push(format!("{pid}/{file}: {}", String::from_utf8_lossy(&read("cmdline"))));
            }
        }
    }
    (found, names)
}

/// A key is in assay's environment and at the provider, and nowhere else. The provider here is another gateway, and the key
/// the token without which it says nothing.
#[test]
#[ignore = "needs agents"]
fn a_key_is_found_nowhere_after_a_full_run() {
    needs_bubblewrap!();
    let lab = codex("timeout = 240\n");
    // The agent looks for it too.
    let look = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n' > seen.txt; env >> seen.txt; set >> seen.txt";
    let lab = lab.script(&[
        json!({ "tools": false, "say": "A report" }),
        json!({ "turn": 0, "run": look }),
        json!({ "turn": 1, "run": "sleep 2; echo right > answer.txt" }),
    ]);
    let provider = lab.start(&["gateway", "--provider", "scripted:turns.jsonl"]);
    let is_open = || provider.stderr().contains("press Ctrl-C to stop");
    assert!(within(Duration::from_mins(1), is_open), "{}", provider.stderr());
    let told = |name: &str| {
        let name = format!("export {name}=");
        let said = provider.stderr();
        said.lines().find_map(|line| Some(line.split_once(&name)?.1.trim().to_owned())).unwrap()
    };
    let (key, address) = (told("OPENAI_API_KEY"), told("OPENAI_BASE_URL"));
    assert!(key.len() > 40, "{key}");

    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let text = text.replace("scripted:turns.jsonl", "openai:test-1");
    lab.write(
        "experiment.toml",
        text.replace("timeout = 240\n", &format!("timeout = 240\nbase_url = \"{address}\"\n")),
    );
    let arguments =
        ["run", "experiment.toml", "--no-checks", "--only", "condition=curated", "--format", "json", "-v"];
    let mut run = Running::start(lab.command(&arguments).env("OPENAI_API_KEY", &key));
    let but = [run.id(), provider.id(), std::process::id()];
    let mut names = BTreeSet::new();
    while !run.has_ended() {
        let (found, seen) = processes_with(&key, &but);
        assert!(found.is_empty(), "{found:#?}");
        names.extend(seen);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(names.contains("codex") && names.contains("bwrap"), "nobody looked while it worked: {names:?}");
    let ran = run.wait().ok();
    provider.signal(Signal::INT);
    let ledger = provider.wait().ok().stdout;
    assert!(ledger.contains("requests, ") && !ledger.contains("refused"), "{ledger}");

    let record = records(&lab).remove(0);
    assert_eq!(
        (&record["outcome"], &record["measures_a_model"]),
        (&json!("passed"), &json!(true)),
        "{record:#}"
    );
    let seen = fs::read_to_string(attempt(&record, "workspace.diff")).unwrap();
    assert!(seen.contains("CODEX_HOME"), "the agent saw its environment: {seen}");
    for name in ["gateway.json", "cassette.jsonl", "trajectory.json"] {
        assert!(attempt(&record, name).is_file(), "{name}");
    }
    assert!(!format!("{ran:?}").contains(&key));
    for file in files(lab.folder()) {
        let bytes = fs::read(&file).unwrap();
        let holds = bytes.windows(key.len()).any(|window| window == key.as_bytes());
        assert!(!holds, "{} holds the key", file.display());
    }
}
