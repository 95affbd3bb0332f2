//! `assay worker`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap, within};
use crate::suite;

fn lab() -> Fixture {
    suite::lab(2)
        .script(&suite::diligent())
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(2), 2))
}

#[test]
fn a_worker_executes_what_a_run_leaves_to_it() {
    needs_bubblewrap!();
    let lab = lab();
    let run = lab.start(&["run", "experiment.toml", "--executor", "workers", "--format", "json"]);
    assert!(
        within(Duration::from_mins(1), || lab.path(".assay/runs/lab/batch.jsonl").exists()),
        "{}",
        run.stderr()
    );
    let worker = lab.assay(&["worker", "--idle-exit", "3"]).ok();
    let document = run.wait().ok().json();
    let planned = document["planned"].as_u64().unwrap();
    assert_eq!(
        (document["executed"].as_u64(), document["checks_executed"].as_u64()),
        (Some(planned), Some(4))
    );
    let lines: Vec<&str> = worker.stdout.lines().collect();
    assert_eq!(lines.len() as u64, planned + 4, "{worker:#?}");
    assert!(lines.iter().any(|line| line.contains("t1, curated, repetition 2: passed after ")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("t2, oracle, repetition 1: passed after ")), "{lines:#?}");
    assert!(worker.stderr.ends_with(&format!("executed {} trials\n", planned + 4)), "{worker:#?}");
    // Nothing is left to do, and nothing to wait for.
    let again = lab.assay(&["worker", "--run", "lab", "--format", "json"]).ok();
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", "executed 0 trials\n"));
}

#[test]
fn a_worker_continues_what_a_killed_run_has_begun() {
    needs_bubblewrap!();
    let lab = lab();
    let run = lab.start(&["run", "experiment.toml", "--executor", "workers", "--no-checks"]);
    assert!(
        within(Duration::from_mins(1), || lab.path(".assay/runs/lab/batch.jsonl").exists()),
        "{}",
        run.stderr()
    );
    drop(run);
    let ran = lab.assay(&["worker", "--max-trials", "3", "--format", "json"]).ok();
    assert_eq!((ran.stdout.lines().count(), lab.records().len()), (3, 3));
    lab.assay(&["worker"]).ok();
    let (document, code) = lab.run(&["--no-checks", "--executor", "workers"]);
    assert_eq!((&document["cached"], &document["executed"], code), (&document["planned"], &json!(0), 0));
}

/// The checks decide which trials there are: until they have ended, no worker may execute a trial.
#[test]
fn a_run_that_is_interrupted_in_its_checks_leaves_only_these() {
    needs_bubblewrap!();
    let lab = lab();
    let run = lab.start(&["run", "experiment.toml", "--executor", "workers"]);
    assert!(
        within(Duration::from_mins(1), || lab.path(".assay/runs/lab/batch.jsonl").exists()),
        "{}",
        run.stderr()
    );
    run.signal(rustix::process::Signal::INT);
    run.wait().ended(130);
    let ran = lab.assay(&["--format", "json", "worker"]).ok();
    let conditions: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["condition"].clone())
        .collect();
    assert_eq!(conditions, ["", "", "", ""]);
}

#[test]
fn bad_input_of_workers_is_reported() {
    let lab = lab();
    let check = |args: &[&str], code: i32, expected: &str| {
        let ran = lab.assay(args).ended(code);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["worker"], 2, "no store in");
    lab.write(".assay/store.json", json!({ "schema": "assay.store/1", "label": "x" }).to_string());
    check(&["worker", "--run", "other"], 2, "no run \"other\"");
    let plan = |run: &str| json!({ "schema": "assay.plan/1", "run": run }).to_string();
    lab.write(".assay/runs/lab/plan.json", plan("lab"));
    lab.write(".assay/runs/lab/batch.jsonl", "{}\n");
    check(&["worker"], 3, "batch.jsonl:1: missing field `schema`");
    let header: Value = json!({
        "schema": "assay.batch/1", "run": "lab", "phase": "trials", "retries": { "infrastructure": 0 },
        "retry_broken": true, "broken": {}, "stop_after": 3,
    });
    lab.write(".assay/runs/lab/batch.jsonl", format!("{header}\n{{\"schema\": \"assay.trial-s"));
    check(&["worker"], 3, "batch.jsonl:2: EOF while parsing");
}
