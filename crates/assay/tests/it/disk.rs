//! A disk that is full.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::fixture::{needs_bubblewrap, within};
use crate::suite;

/// Runs the experiment on a small disk of its own, then makes room and runs it again. Everything happens in one private
/// mount namespace; what the runs say goes to files outside it.
const SCRIPT: &str = r#"
set -eu
mount -t tmpfs -o size=$1 assay-lab .assay
shift
run() { "$@" run experiment.toml --no-checks --format json; }
code=0; run "$@" > first.json 2> first.txt || code=$?; echo $code > first.code
"$@" show lab --format json > kept.json 2> kept.txt || true
mount -o remount,size=256m .assay
code=0; run "$@" > second.json 2> second.txt || code=$?; echo $code > second.code
"$@" show lab --format json > whole.json
ls .assay/scratch > scratch.txt
"#;

fn can_mount() -> bool {
    let tried = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "x", "/mnt"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Outcomes by trial, of those that have one.
fn outcomes(document: &Value) -> Vec<(String, String)> {
    let cells = document["cells"].as_array().unwrap();
    let recorded = cells.iter().filter(|cell| !cell["record"].is_null());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    recorded.map(|cell| (text(&cell["cell"]["trial"]), text(&cell["record"]["outcome"]))).collect()
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    needs_bubblewrap!();
    if !can_mount() {
        assay_test::report_skip("only root may mount the small disk that is filled here");
        return;
    }
    let mut rules = suite::diligent();
    // What the agent leaves is kept, and so the disk fills as the run goes on.
    for rule in &mut rules {
        let run = rule["run"].as_str().unwrap();
        rule["run"] = format!("head -c 200000 /dev/urandom > /logs/artifacts/ballast; {run}").into();
    }
    let lab = suite::lab(4)
        .script(&rules)
        .experiment(|e| suite::paired(e.conditions(&["curated"]).repetitions(5), 4));
    fs::create_dir(lab.path(".assay")).unwrap();
    let mut command = Command::new("unshare");
    let bash = ["-m", "bash", "-c", SCRIPT, "bash", "2m"];
    command
        .args(bash)
        .arg(env!("CARGO_BIN_EXE_assay"))
        .current_dir(lab.folder())
        .env("HOME", lab.path("home"))
        .env("ASSAY_SCRATCH", lab.path(".assay/scratch"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| fs::read_to_string(lab.path(name)).unwrap();
    let json = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap_or_default() };

    assert_eq!(read("first.code"), "3\n", "{}", read("first.txt"));
    let said = read("first.txt");
    assert!(said.contains("No space left on device"), "{said}");
    let kept = outcomes(&json("kept.json"));
    let results: Vec<_> = kept.iter().filter(|(_, outcome)| outcome != "infrastructure").collect();
    assert!(!results.is_empty() && results.len() < 20, "the disk has the wrong size: {kept:?}\n{said}");
    assert!(results.iter().all(|(_, outcome)| outcome == "passed"), "a full disk made a result: {kept:?}");

    assert_eq!(read("second.code"), "0\n", "{}", read("second.txt"));
    let second = json("second.json");
    assert_eq!(second["cached"], results.len());
    assert_eq!(second["executed"], 20 - results.len());
    let whole = outcomes(&json("whole.json"));
    assert_eq!(whole.len(), 20);
    assert!(whole.iter().all(|(_, outcome)| outcome == "passed"), "{whole:?}");
    assert_eq!(read("scratch.txt"), "");
    assert!(within(std::time::Duration::from_secs(2), || crate::processes::in_sandboxes_of(&lab).is_empty()));
}

/// The agent's own writes fail, and there is room again when it has ended: nothing of assay's fails.
#[test]
fn what_an_agent_could_not_write_is_no_failure_of_its_work() {
    needs_bubblewrap!();
    if !can_mount() {
        assay_test::report_skip("only root may mount the small disk that is filled here");
        return;
    }
    let mut rules = suite::diligent();
    for rule in &mut rules {
        let run = rule["run"].as_str().unwrap();
        let fill = "head -c 9000000 /dev/urandom > /logs/artifacts/ballast";
        rule["run"] = format!("{fill}; {run}; sleep 0.2; rm /logs/artifacts/ballast").into();
    }
    let lab = suite::lab(1)
        .script(&rules)
        .experiment(|e| suite::paired(e.conditions(&["curated"]).repetitions(1), 1));
    fs::create_dir(lab.path("small")).unwrap();
    let script = "set -eu; mount -t tmpfs -o size=6m assay-lab small; \
        \"$@\" run experiment.toml --no-checks --format json || true; \"$@\" show lab --format json > kept.json";
    let output = Command::new("unshare")
        .args(["-m", "bash", "-c", script, "bash"])
        .arg(env!("CARGO_BIN_EXE_assay"))
        .current_dir(lab.folder())
        .env("HOME", lab.path("home"))
        .env("ASSAY_SCRATCH", lab.path("small"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(lab.path("kept.json")).unwrap()).unwrap();
    let kept = outcomes(&kept);
    assert_eq!(kept.len(), 1, "{said}");
    assert_eq!(kept[0].1, "infrastructure", "{said}");
    assert!(said.contains("was full while the trial ran"), "{said}");
}
