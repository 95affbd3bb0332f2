//! Several machines on one store: each has its own mount, PID and UTS namespaces, so that it knows no process of another.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, Running, within};
use crate::suite;

/// Debian's libfaketime, for programs with threads.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
/// Of every lease in these tests.
const LEASE_SECONDS: u64 = 3;

/// In [`lab`].
const TRIALS: usize = 48;

/// Trials of about a second each.
fn lab() -> Fixture {
    let mut rules = suite::diligent();
    rules[1]["run"] = json!(["sleep 0.8", rules[1]["run"]]);
    rules.push(json!({ "turn": 0, "run": "sleep 0.8" }));
    suite::lab(4)
        .env("ASSAY_LEASE_SECONDS", &LEASE_SECONDS.to_string())
        .script(&rules)
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(6).concurrency(2), 4))
}

/// A machine that executes a command of assay.
struct Host(Running);

impl Host {
    /// Starts it, with a clock that is `ahead` by hours.
    fn start(lab: &Fixture, name: &str, ahead: i32, args: &[&str]) -> Self {
        let plain = lab.command(args);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", "hostname \"$1\" && shift && exec \"$@\"", "sh", name]);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(lab.folder()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if ahead != 0 {
            command.env("LD_PRELOAD", FAKETIME).env("FAKETIME", format!("{ahead:+}h"));
            // Waits are measured by the kernel's monotonic clock.
            command.env("DONT_FAKE_MONOTONIC", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        Self(Running::start(&mut command))
    }

    /// Sends a signal to the command itself, the first process of its namespace.
    fn signal(&self, signal: Signal) {
        let id = self.0.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let first: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
        kill_process(Pid::from_raw(first).unwrap(), signal).unwrap();
    }
}

/// The leases of trials that are being executed.
fn leases(lab: &Fixture) -> Vec<Value> {
    let open = lab.trials().into_iter().filter(|folder| !folder.join("record.json").exists());
    open.filter_map(|folder| serde_json::from_slice(&fs::read(folder.join("lease")).ok()?).ok()).collect()
}

/// Waits until so many machines execute trials at the same time.
#[track_caller]
fn wait_for_machines(lab: &Fixture, number: usize) {
    let names =
        || -> BTreeSet<String> { leases(lab).iter().map(|lease| lease["host"].to_string()).collect() };
    assert!(within(Duration::from_mins(1), || names().len() == number), "{:?}", names());
}

/// Every trial has one record, and no lease.
#[track_caller]
fn is_whole(lab: &Fixture) {
    let records = lab.records();
    let distinct: BTreeSet<String> = records.iter().map(|record| record["trial"].to_string()).collect();
    assert_eq!((records.len(), distinct.len()), (TRIALS, TRIALS));
    for record in &records {
        let expected = if record["condition"] == "curated" { "passed" } else { "failed" };
        assert_eq!(record["outcome"], expected, "{record:#}");
    }
    assert!(lab.trials().iter().all(|folder| !folder.join("lease").exists()));
}

const RUN: [&str; 5] = ["run", "experiment.toml", "--no-checks", "--format", "json"];

fn executed(document: &Value) -> usize {
    usize::try_from(document["executed"].as_u64().unwrap()).unwrap()
}

#[test]
#[ignore = "needs hosts"]
fn machines_with_other_clocks_share_the_work() {
    let lab = lab();
    let hosts =
        [("one", 0), ("two", 1), ("three", -1)].map(|(name, ahead)| Host::start(&lab, name, ahead, &RUN));
    wait_for_machines(&lab, 3);
    let documents = hosts.map(|host| host.0.wait().ok().json());
    assert_eq!(documents.iter().map(executed).sum::<usize>(), TRIALS);
    assert!(documents.iter().all(|document| executed(document) > 0), "{documents:#?}");
    for folder in lab.trials() {
        assert_eq!(fs::read_dir(folder.join("attempts")).unwrap().count(), 1, "{}", folder.display());
    }
    let hours: BTreeSet<String> =
        lab.records().iter().map(|record| record["started_at"].as_str().unwrap()[..13].to_owned()).collect();
    assert!(hours.len() >= 3, "the clocks were the same: {hours:?}");
    is_whole(&lab);
}

#[test]
#[ignore = "needs hosts"]
fn trials_of_a_killed_machine_are_taken_over() {
    let lab = lab();
    let killed = Host::start(&lab, "one", 1, &RUN);
    assert!(within(Duration::from_mins(1), || lab.records().len() >= 2), "{}", killed.0.stderr());
    let others = ["two", "three"].map(|name| Host::start(&lab, name, 0, &RUN));
    wait_for_machines(&lab, 3);
    killed.signal(Signal::KILL);
    assert_ne!(killed.0.wait().code, 0);
    let documents = others.map(|host| host.0.wait().ok().json());
    let there = documents.iter().map(executed).sum::<usize>();
    assert!(there < TRIALS - 1, "{documents:#?}");
    let attempts = |folder: &PathBuf| fs::read_dir(folder.join("attempts")).unwrap().count();
    assert!(lab.trials().iter().any(|folder| attempts(folder) == 2), "it was not killed in a trial");
    is_whole(&lab);
}

#[test]
#[ignore = "needs hosts"]
fn result_of_a_stopped_machine_is_discarded() {
    let lab = lab();
    let stopped = Host::start(&lab, "one", -1, &RUN);
    assert!(within(Duration::from_mins(1), || lab.records().len() >= 2), "{}", stopped.0.stderr());
    // In the middle of two trials.
    assert!(within(Duration::from_secs(10), || leases(&lab).len() == 2));
    stopped.signal(Signal::STOP);
    let held = leases(&lab).len();
    let before = lab.records().len();
    let other = Host::start(&lab, "two", 0, &RUN).0.wait().ok().json();
    assert_eq!(executed(&other), TRIALS - before);
    is_whole(&lab);
    let records = lab.records();
    stopped.signal(Signal::CONT);
    let ran = stopped.0.wait().ok();
    assert!(held > 0 && ran.stderr.matches("the result is discarded").count() == held, "{held}: {ran:#?}");
    // The other's results stand.
    assert_eq!((lab.records(), executed(&ran.json())), (records, before));
    is_whole(&lab);
}

/// The trials that a worker executed, by its lines.
fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
#[ignore = "needs hosts"]
fn workers_of_three_machines_execute_a_run() {
    let lab = lab();
    let run = lab.start(&["run", "experiment.toml", "--executor", "workers", "--format", "json"]);
    assert!(within(Duration::from_mins(1), || lab.path(".assay/runs/lab/batch.jsonl").exists()));
    let worker = ["--format", "json", "worker", "--run", "lab", "--idle-exit", "5", "--jobs", "2"];
    let hosts =
        [("one", 0), ("two", 1), ("three", -1)].map(|(name, ahead)| Host::start(&lab, name, ahead, &worker));
    // One is killed in the middle of trials, after the checks of the tasks.
    assert!(within(Duration::from_mins(1), || lab.records().len() >= 10));
    wait_for_machines(&lab, 3);
    let [killed, others @ ..] = hosts;
    killed.signal(Signal::KILL);
    drop(killed);
    let ran = others.map(|host| host.0.wait().ok());
    let executed: Vec<Value> = ran.iter().flat_map(lines).collect();
    assert!(ran.iter().all(|ran| !lines(ran).is_empty()), "{ran:#?}");
    for line in &executed {
        assert_eq!((&line["schema"], &line["run"]), (&json!("assay.worker/1"), &json!("lab")), "{line:#}");
    }
    let document = run.wait().ok().json();
    // Four tasks have two checks each.
    assert_eq!((&document["executed"], &document["checks_executed"]), (&json!(TRIALS), &json!(8)));
    assert_eq!((&document["infrastructure"], &document["unfinished"]), (&json!(0), &json!(0)));
    assert!(!lab.path(".assay/runs/lab/batch.jsonl").exists());

    // The same as on one machine, but for times.
    let alone = self::lab();
    let (one, code) = alone.run(&[]);
    assert_eq!(code, 0, "{one:#}");
    assert_eq!(suite::comparisons_but_for_times(&document), suite::comparisons_but_for_times(&one));
}
