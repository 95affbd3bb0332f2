//! `assay worker`.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::advice;
use crate::fixture::{Fixture, Ran, Running, needs_bubblewrap, within};
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
fn a_run_that_waits_for_workers_says_how_to_start_one() {
    needs_bubblewrap!();
    let lab = lab();
    let run = start_run(&lab);
    let says = || run.stderr().contains("no trial has ended for 30 s");
    assert!(within(Duration::from_mins(2), says), "{}", run.stderr());
    let command = advice::printed(&run.stderr(), "worker --run lab");
    let worker = Running::start(&mut advice::in_shell(&lab, &command)).wait().ok();
    assert!(worker.stderr.contains("executed 8 trials"), "{worker:#?}");
    assert_eq!(run.wait().ok().json()["executed"], json!(8));
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

/// Starts a run on workers, and waits until it has work for them.
fn start_run(lab: &Fixture) -> Running {
    let run =
        lab.start(&["run", "experiment.toml", "--executor", "workers", "--no-checks", "--format", "json"]);
    let batch = lab.path(".assay/runs/lab/batch.jsonl");
    assert!(within(Duration::from_mins(1), || batch.exists()), "{}", run.stderr());
    run
}

/// The worker stopped for this reason and executed nothing; another executes everything.
fn check_broken_machine(lab: &Fixture, run: Running, worker: &Ran, reason: &str) {
    assert!(worker.stderr.contains("the worker stopped after 0 trials: "), "{worker:#?}");
    assert!(worker.stderr.contains(reason), "{worker:#?}");
    assert_eq!(lab.records().len(), 0);
    lab.assay(&["worker"]).ok();
    let document = run.wait().ok().json();
    assert_eq!((&document["executed"], &document["infrastructure"]), (&document["planned"], &json!(0)));
}

#[test]
#[ignore = "needs hosts"]
fn a_worker_whose_disk_is_full_stops() {
    let lab = lab();
    let run = start_run(&lab);
    let scratch = lab.path("small");
    std::fs::create_dir(&scratch).unwrap();
    let plain = lab.command(&["worker"]);
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs -o size=64m small \"$1\" && shift && exec \"$@\"",
        "sh",
    ]);
    command
        .arg(&scratch)
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(lab.folder())
        .env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let worker = Running::start(command.env("ASSAY_SCRATCH", &scratch)).wait().ended(3);
    check_broken_machine(&lab, run, &worker, "MiB of disk space are left in ");
}

#[test]
#[ignore = "needs Docker"]
fn a_worker_without_a_docker_daemon_stops() {
    let lab = suite::lab(1).experiment(crate::docker::in_docker);
    let run = start_run(&lab);
    let mut command = lab.command(&["worker"]);
    let worker = Running::start(command.env("DOCKER_HOST", "unix:///nowhere/docker.sock")).wait().ended(3);
    check_broken_machine(&lab, run, &worker, "Docker does not answer");
}
