//! Verifiers that do not do their work: nothing is known of the agent then.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

/// What a verifier does, and what its trial is lost for.
const BROKEN: [(&str, &str, &str); 13] = [
    ("hangs", "sleep 1000", "the verifier did not finish within 3 s"),
    (
        "hangs-deeply",
        "(setsid sleep 1000 &) ; trap '' TERM INT; while :; do sleep 1; done",
        "the verifier did not finish within 3 s",
    ),
    (
        "says-nothing",
        "echo looked at it",
        "the verifier wrote no reward: neither reward.json nor reward.txt (its last line: looked at it)",
    ),
    ("crashes", "exit 1", "the verifier wrote no reward"),
    ("empty", ": > /logs/verifier/reward.txt", "reward.txt is empty"),
    ("nan", "reward nan", "\"nan\", which is not a finite number"),
    ("words", "reward passed", "\"passed\", which is not a finite number"),
    ("huge", "truncate -s 1G /logs/verifier/reward.txt", "reward.txt is larger than"),
    (
        "linked",
        "echo 1 > /tests/reward; ln -s /tests/reward /logs/verifier/reward.txt",
        "reward.txt is a symbolic link",
    ),
    ("pipe", "mkfifo /logs/verifier/reward.txt", "reward.txt is a pipe"),
    ("folder", "mkdir /logs/verifier/reward.txt", "reward.txt is a folder"),
    ("no-json", "reward 1; echo '{' > /logs/verifier/reward.json", "reward.json is not JSON"),
    (
        "strange-json",
        "echo '{\"reward\": \"1\"}' > /logs/verifier/reward.json",
        "\"reward\" is not a finite number",
    ),
];

/// What a verifier does, and what comes of a trial in which nothing was done.
const SOUND: [(&str, &str, &str); 4] = [
    ("leaves-a-daemon", "(setsid sleep 1000 &) ; reward 1", "passed"),
    ("fails-and-says-so", "reward 0; exit 1", "failed"),
    ("half", "reward 0.5", "failed"),
    ("by-key", "echo '{\"right\": 1, \"fast\": 1}' > /logs/verifier/reward.json", "passed"),
];

#[test]
fn a_verifier_that_breaks_says_nothing_of_the_agent() {
    needs_bubblewrap!();
    let tasks = BROKEN.iter().chain(&SOUND);
    let lab = tasks.fold(Fixture::new(), |lab, (name, script, _)| {
        lab.task(name, |task| task.test_sh(script).toml("version = \"1.0\"\n[verifier]\ntimeout_sec = 3.0\n"))
    });
    let lab = lab.script(&[]).experiment(|e| e);
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["infrastructure"]), (3, &json!(BROKEN.len())), "{document:#}");
    assert_eq!(document["report"]["arms"][0]["infrastructure_causes"], json!({ "verifier": BROKEN.len() }));
    for (name, _, reason) in BROKEN {
        let record = lab.record(name);
        assert_eq!(
            (&record["outcome"], &record["cause"]),
            (&json!("infrastructure"), &json!("verifier")),
            "{record:#}"
        );
        assert!(record["reason"].as_str().unwrap().contains(reason), "{name}: {}", record["reason"]);
        assert_eq!(record["reward"], Value::Null, "{name}");
    }
    for (name, _, outcome) in SOUND {
        assert_eq!(lab.record(name)["outcome"], outcome, "{name}");
    }
}
