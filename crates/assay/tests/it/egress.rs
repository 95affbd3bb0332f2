//! Tasks that reach some hosts and no others.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use crate::agents::{self, experiment, installed, records, words};
use crate::fixture::{Fixture, attempt, needs_bubblewrap, observed, read_json};

/// A server that says one word to everybody.
fn server(word: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while line != "\r\n" && {
                line.clear();
                reader.read_line(&mut line).unwrap_or(0) > 0
            } {}
            let length = word.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{word}"
            );
        }
    });
    port
}

/// Asks an address through the proxy that the environment names, also where that is on loopback, and directly.
const ASK: &str = r#"
import os, sys, urllib.request
def ask(url, proxies):
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        return opener.open(url, timeout=20).read().decode()
    except Exception as error:
        return type(error).__name__ + " " + str(getattr(error, "code", ""))
for name in [key for key in os.environ if key.lower() == "no_proxy"]:
    del os.environ[name]
for url in sys.argv[1:]:
    print(url.split("/")[2].split(":")[0], ask(url, {"http": os.environ["HTTP_PROXY"]}), "|", ask(url, {}))
"#;

/// One task that asks three servers of this machine: a listed one, one that is not, and the listed one by a name.
fn lab(sandbox: &str) -> (Fixture, [u16; 2]) {
    let (listed, other) = (server("from the listed one"), server("from the other one"));
    let ask = format!(
        "python3 /app/ask.py http://127.0.0.1:{listed}/ http://127.0.0.1:{other}/ http://localhost:{listed}/; echo right > answer.txt"
    );
    let lab = Fixture::new().task("t1", |task| {
        let listed = format!("127.0.0.1:{listed}");
        task.toml(&format!(
            "version = \"1.0\"\n[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"{listed}\", \"example.org\"]\n"
        ))
        .dockerfile("FROM debian:12-slim\nWORKDIR /app\nCOPY ask.py /app/ask.py\n")
        .file("environment/ask.py", ASK)
        .test_sh(&format!(
            "python3 /app/ask.py http://{listed}/\n[ \"$(cat /app/answer.txt)\" = right ] && reward 1 || reward 0\n"
        ))
    });
    let lab = lab.script(&[json!({ "turn": 0, "run": ask })]);
    let sandbox = sandbox.to_owned();
    let lab = lab.experiment(|e| e.no_sandbox().top("network = \"public\"").top(&sandbox));
    (lab, [listed, other])
}

fn reaches_what_is_listed(sandbox: &str) {
    let (lab, [listed, other]) = lab(sandbox);
    let (document, code) = lab.run(&[]);
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
    let record = lab.record("t1");
    assert_eq!(record["outcome"], "passed", "{record:#}");
    let lines: Vec<String> = observed(&record)[0].lines().take(3).map(str::to_owned).collect();
    // What is not listed is refused, a name that leads inside too, and past the proxy there is nothing.
    assert_eq!(lines[0], "127.0.0.1 from the listed one | URLError ");
    assert_eq!(lines[1], "127.0.0.1 HTTPError 403 | URLError ");
    assert_eq!(lines[2], "localhost HTTPError 403 | URLError ");
    let told = read_json(&attempt(&record, "egress-agent.json")).unwrap();
    assert_eq!((&told["count"], &told["hosts"][1]), (&json!(3), &json!("example.org")), "{told:#}");
    let of = |to: String| {
        let mut passages = told["connections"].as_array().unwrap().iter();
        passages
            .find(|passage| passage["to"] == json!(to))
            .cloned()
            .unwrap_or_else(|| panic!("{to}: {told:#}"))
    };
    assert_eq!(of(format!("127.0.0.1:{listed}"))["refused"], Value::Null);
    assert_eq!(
        of(format!("127.0.0.1:{other}"))["refused"],
        "this address is not in the list of allowed hosts"
    );
    assert_eq!(of(format!("localhost:{listed}"))["refused"], "this host is not in the list of allowed hosts");
    // The verifier has a way of its own.
    let said = std::fs::read_to_string(attempt(&record, "verifier/test-stdout.txt")).unwrap();
    assert!(said.starts_with("127.0.0.1 from the listed one | URLError"), "{said}");
    assert_eq!(read_json(&attempt(&record, "egress-verifier.json")).unwrap()["count"], 1);
}

#[test]
fn a_task_reaches_what_it_lists_and_nothing_else() {
    needs_bubblewrap!();
    reaches_what_is_listed("sandbox = \"bubblewrap\"");
}

#[test]
#[ignore = "needs Docker"]
fn a_task_in_docker_reaches_what_it_lists_and_nothing_else() {
    reaches_what_is_listed("sandbox = { kind = \"docker\", images = { \"*\" = \"base:bookworm\" } }");
}

/// A path of more than 200 characters is none that a socket's address could hold.
fn far_away(lab: &Fixture) -> String {
    let store = lab.path(&["a-folder-with-a-name-of-forty-characters-"; 5].join("/"));
    store.to_str().unwrap().to_owned()
}

fn works_at_any_depth(sandbox: &str) {
    let (lab, _) = lab(sandbox);
    let (document, code) = lab.run(&["--store", &far_away(&lab)]);
    assert_eq!((code, &document["report"]["arms"][0]["pass_rate"]), (0, &json!(1.0)), "{document:#}");
}

/// Sockets to hosts open wherever the store is.
#[test]
fn a_store_may_lie_at_any_depth() {
    needs_bubblewrap!();
    works_at_any_depth("sandbox = \"bubblewrap\"");
}

#[test]
#[ignore = "needs Docker"]
fn a_store_in_docker_may_lie_at_any_depth() {
    works_at_any_depth("sandbox = { kind = \"docker\", images = { \"*\" = \"base:bookworm\" } }");
}

/// The socket to a model opens wherever the store is, and the doctor looks there too.
#[test]
#[ignore = "needs agents"]
fn a_model_is_reached_from_a_store_at_any_depth() {
    needs_bubblewrap!();
    let lab = words(agents::lab());
    installed(&lab, &["codex"]);
    let store = far_away(&lab);
    let doctor = lab.assay(&["agent", "doctor", "codex", "--store", &store]).ok();
    assert!(doctor.stdout.contains("ok  transcript"), "{doctor:?}");
    assert!(!lab.path("a-folder-with-a-name-of-forty-characters-").exists(), "no store was made for it");
    experiment(&lab, "\"bubblewrap\"", &["codex"], "scripted:turns.jsonl");
    let (document, code) = lab.run(&["--store", &store, "--only", "condition=curated"]);
    assert_eq!((code, &document["report"]["arms"][0]["bounds"]), (0, &json!([1.0, 1.0])), "{document:#}");
}

/// What the experiment grants cuts the list, and what nothing can hold is left out.
#[test]
fn an_experiment_grants_fewer_hosts_or_none() {
    needs_bubblewrap!();
    let check = |network: &str, sandbox: &str, expected: &str| {
        let (lab, _) = lab(sandbox);
        let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
        lab.write("experiment.toml", text.replace("network = \"public\"", network));
        let run = ["run", "experiment.toml", "--no-checks", "--format", "json", "--allow-unsandboxed"];
        let ran = lab.assay(&run);
        let seen = lab.records().first().map(|record| observed(record)[0].clone()).unwrap_or_default();
        let said = format!("{seen}{}", ran.stderr);
        assert!(said.contains(expected), "{network} {sandbox}: {said}");
    };
    check("network = [\"example.org\"]", "sandbox = \"bubblewrap\"", "127.0.0.1 HTTPError 403");
    check("network = \"none\"", "sandbox = \"bubblewrap\"", "KeyError: 'HTTP_PROXY'");
    check("network = \"public\"", "sandbox = \"none\"", "which this sandbox cannot enforce");
    check("network = [\"https://x\"]", "sandbox = \"bubblewrap\"", "invalid host");
}

/// What is said of a proxy leads no agent's own requests astray.
#[test]
#[ignore = "needs agents"]
fn agents_find_their_models_beside_a_list_of_hosts() {
    needs_bubblewrap!();
    let lab = words(agents::lab());
    lab.write(
        "tasks/t1/task.toml",
        "version = \"1.0\"\n[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"example.org\"]\n",
    );
    let there = installed(&lab, &["claude-code", "codex", "gemini-cli", "opencode", "qwen-code"]);
    experiment(&lab, "\"bubblewrap\"\nnetwork = \"public\"", &there, "scripted:turns.jsonl");
    let (document, code) = lab.run(&["--no-checks", "--only", "condition=curated"]);
    assert_eq!((code, &document["executed"]), (0, &json!(there.len())), "{document:#}");
    for record in records(&lab) {
        assert_eq!(record["outcome"], "passed", "{record:#}");
        let told = read_json(&attempt(&record, "egress-agent.json")).unwrap();
        let asked: Vec<&Value> = told["connections"].as_array().unwrap().iter().collect();
        assert!(asked.iter().all(|passage| !passage["refused"].is_null()), "{told:#}");
    }
}
