//! The other commands: init, show, task run, gc, doctor.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_store::Store;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Fixture, attempt, needs_bubblewrap, read_json, within};
use crate::suite;

/// A fixture whose run `lab` of one task in two conditions is over.
fn done() -> Fixture {
    let lab = suite::lab(1)
        .task("t1", |task| {
            task.test_sh(
                "echo the verifier looked; [ \"$(cat /app/answer.txt)\" = right ] && reward 1 || reward 0\n",
            )
        })
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 1));
    lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    lab
}

#[test]
fn what_init_writes_can_be_planned() {
    needs_bubblewrap!();
    let lab = Fixture::new().skill(
        "reports",
        "Ends \"reports\" with the agreed word. Use it always.",
        &suite::body("right"),
    );
    let written = lab.assay(&["init", "experiment", "my study"]).ok();
    let listed = "my study/experiment.toml\nmy study/skills/\nmy study/tasks/\nmy study/.gitignore\n";
    assert_eq!(written.stdout, listed);
    assert!(written.stderr.contains("next: "), "{}", written.stderr);
    let task = lab.assay(&["init", "task", "skills/reports"]).ok();
    let files =
        ["task.toml", "instruction.md", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh"];
    assert_eq!(task.stdout, files.map(|file| format!("tasks/reports/{file}\n")).concat());
    for again in [["init", "experiment", "my study"], ["init", "task", "skills/reports/SKILL.md"]] {
        let refused = lab.assay(&again).ended(2);
        assert!(refused.stderr.contains(" already exists\n"), "{}", refused.stderr);
    }
    let refused = lab.assay(&["init", "task", "tasks/reports"]).ended(2);
    assert!(refused.stderr.contains("contains no readable SKILL.md"), "{}", refused.stderr);

    // The experiment's suite and library are beside it.
    fs::rename(lab.path("tasks"), lab.path("my study/tasks")).unwrap();
    fs::rename(lab.path("skills"), lab.path("my study/skills")).unwrap();
    let text = fs::read_to_string(lab.path("my study/experiment.toml")).unwrap();
    assert!(text.contains("name = \"my-study\""), "{text}");
    // A key is needed to run it, and not to look at what would be run.
    let planned = lab.assay(&["run", "my study", "--dry-run", "--format", "json"]);
    assert_eq!(planned.code, 0, "{planned:#?}\n{text}");
    assert!(planned.json()["planned"].as_u64().unwrap() > 0);
}

#[test]
fn git_ignores_the_store() {
    let check = |before: Option<&str>, after: &str, listed: bool| {
        let lab = Fixture::new();
        if let Some(before) = before {
            lab.write("study/.gitignore", before);
        }
        let ran = lab.assay(&["init", "experiment", "study"]).ok();
        assert_eq!(fs::read_to_string(lab.path("study/.gitignore")).unwrap(), after, "{before:?}");
        assert_eq!(ran.stdout.contains(".gitignore"), listed, "{before:?}");
    };
    check(None, ".assay/\n", true);
    check(Some("target\n"), "target\n.assay/\n", true);
    check(Some("target"), "target\n.assay/\n", true);
    check(Some("my.assay\n"), "my.assay\n.assay/\n", true);
    for before in [".assay\n", "/.assay/\n", "**/.assay/\n", "a\n.assay/"] {
        check(Some(before), before, false);
    }

    // A store in a repository that ignores nothing.
    let lab = Fixture::new();
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git").current_dir(lab.folder()).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    Store::open(&lab.path("records")).unwrap();
    assert!(lab.path("records/store.json").is_file());
    let status = git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(!status.contains("records"), "{status}");
    // Who wants it in Git removes the file, and it stays removed.
    fs::remove_file(lab.path("records/.gitignore")).unwrap();
    Store::open(&lab.path("records")).unwrap();
    assert!(git(&["status", "--porcelain"]).contains("records"), "{status}");
}

#[test]
fn runs_are_listed() {
    needs_bubblewrap!();
    let empty = Fixture::new().assay(&["show"]).ok();
    assert_eq!(empty.stdout, "");
    let lab = done();
    let listed = lab.assay(&["show"]).ok().stdout;
    assert!(listed.starts_with("lab  2 of 2 trials finished"), "{listed}");
    let runs = lab.assay(&["show", "--format", "json"]).ok().json();
    assert_eq!(
        (&runs["schema"], &runs["runs"][0]["run"], &runs["runs"][0]["finished"]),
        (&json!("assay.runs/1"), &json!("lab"), &json!(2))
    );
}

#[test]
fn runs_and_trials_are_shown() {
    needs_bubblewrap!();
    let lab = done();
    let run = lab.assay(&["show", "lab"]).ok().stdout;
    let lines: Vec<Vec<&str>> = run.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 2, "{run}");
    assert_eq!(
        (&lines[0][1..], &lines[1][1..]),
        (&["t1", "none", "1", "failed"][..], &["t1", "curated", "1", "passed"][..])
    );

    let shown = lab.assay(&["show", lines[1][0]]).ok().stdout;
    for expected in [
        "t1 · loop with scripted:turns.jsonl · curated · bubblewrap · repetition 1\n  passed, reward 1, 3 turns",
        "skill reports: advertised step 1, mentioned step 3, opened step 3",
        "── 2 user ──\nEnd the report t1: write the agreed word into answer.txt.\n",
        "$ cat /skills/reports/SKILL.md\n---\nname: reports\n",
        "$ echo right > answer.txt\n[exit status 0]\n",
        "── changes ──\n",
        "+right\n",
        "── verifier ──\nthe verifier looked\n",
    ] {
        assert!(shown.contains(expected), "no {expected:?} in {shown}");
    }
    let document = lab.assay(&["show", lines[1][0], "--format", "json"]).ok().json();
    assert_eq!(
        (&document["schema"], &document["record"]["outcome"]),
        (&json!("assay.trial/1"), &json!("passed"))
    );
    assert_eq!(document["trajectory"]["schema_version"], "ATIF-v1.7");
    let cells = lab.assay(&["show", "lab", "--format", "json"]).ok().json();
    assert_eq!(cells["cells"].as_array().unwrap().len(), 2);
}

/// A cell that is executed to be looked at counts nowhere.
#[test]
fn one_cell_can_be_looked_at() {
    needs_bubblewrap!();
    let lab = done();
    let before = lab.assay(&["report", "lab"]).ok().stdout;
    let look = || {
        let args = ["task", "run", "tasks/t1", "--condition", "curated", "--keep", "--format", "json"];
        lab.assay(&args).ok().json()
    };
    let document = look();
    assert_eq!(
        (&document["schema"], &document["record"]["outcome"]),
        (&json!("assay.trial-run/1"), &json!("passed"))
    );
    let kept = Path::new(document["kept"].as_str().unwrap());
    assert_eq!(fs::read_to_string(kept.join("fs/app/answer.txt")).unwrap(), "right\n");
    assert_eq!(lab.trials().len(), 2);
    assert_eq!(lab.assay(&["report", "lab"]).ok().stdout, before);

    let oracle = lab.assay(&["task", "run", "tasks/t1", "--agent", "oracle"]).ok();
    assert!(
        oracle.stdout.contains("t1 · oracle · none · bubblewrap") && oracle.stdout.contains("passed"),
        "{}",
        oracle.stdout
    );
    assert!(!kept.exists(), "`task run` left what was kept before");
    let kept = look()["kept"].as_str().unwrap().to_owned();
    assert!(Path::new(&kept).exists());
    lab.assay(&["gc"]).ok();
    assert!(!Path::new(&kept).exists(), "`gc` left what was kept");
    let nop = lab.assay(&["task", "run", "tasks/t1", "--agent", "nop"]).ok();
    assert!(nop.stdout.contains("failed, reward 0"), "{}", nop.stdout);
    let wrong = lab.assay(&["task", "run", "tasks/t1", "--condition", "curate"]).ended(2);
    assert!(
        wrong.stderr.starts_with("error: unknown condition \"curate\": expected one of none, curated"),
        "{}",
        wrong.stderr
    );
    lab.assay(&["task", "run", "tasks/t2"]).ended(2);
    lab.assay(&["task", "run", "skills/reports"]).ended(2);
}

#[test]
fn gc_takes_away_what_is_not_needed_and_nothing_else() {
    needs_bubblewrap!();
    let lab = suite::lab(2)
        .script(&[json!({ "task": "t2", "turn": 0, "run": "sleep 1000" })])
        .experiment(|e| e.concurrency(1));
    // One trial ended, one was broken off.
    let run = lab.start(&["run", "experiment.toml", "--no-checks"]);
    let unfinished = || {
        let mut trials = lab.trials().into_iter().filter(|folder| !folder.join("record.json").exists());
        trials.next().map(|folder| folder.join("attempts/1")).filter(|attempt| attempt.exists())
    };
    let is_at_t2 = || lab.records().len() == 1 && unfinished().is_some();
    assert!(within(Duration::from_mins(1), is_at_t2), "{}", run.stderr());
    run.signal(Signal::KILL);
    drop(run);
    let broken = unfinished().unwrap();

    let dry = lab.assay(&["gc", "--dry-run", "--format", "json"]).ok().json();
    assert_eq!(dry["removed"], json!([broken.canonicalize().unwrap()]));
    assert!(broken.exists());
    let swept = lab.assay(&["gc", "--format", "json"]).ok().json();
    // The dead process had a folder in the store and one for its sandboxes.
    assert_eq!(
        (&swept["schema"], &swept["cleaned"]["leases"], &swept["cleaned"]["scratch"]),
        (&json!("assay.gc/2"), &json!(1), &json!(2))
    );
    assert!(!broken.exists());
    assert_eq!(lab.assay(&["gc"]).ok().stdout.lines().last(), Some("nothing else to remove"));

    // A run that is no more needs no trials.
    let record = attempt(&lab.record("t1"), "").join("../../record.json");
    lab.assay(&["gc", "--unreferenced"]).ok();
    assert!(record.exists(), "a trial of a run was taken away");
    fs::remove_dir_all(lab.path(".assay/runs/lab")).unwrap();
    lab.assay(&["gc"]).ok();
    assert!(record.exists());
    lab.assay(&["gc", "--unreferenced"]).ok();
    assert!(lab.trials().is_empty(), "{:?}", lab.trials());
}

#[test]
fn doctor_tells_what_works() {
    needs_bubblewrap!();
    let lab = done().env("OPENAI_API_KEY", "sk-secret-0123456789");
    let told = lab.assay(&["doctor"]).ok();
    assert!(told.stdout.starts_with("ok  bubblewrap "), "{}", told.stdout);
    let document = lab.assay(&["doctor", "--format", "json"]).ok().json();
    assert_eq!((&document["schema"], &document["can_run"]), (&json!("assay.doctor/1"), &json!(true)));
    let finding = |what: &str| -> Value {
        let findings = document["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["what"] == what).unwrap_or_else(|| panic!("no {what}")).clone()
    };
    assert_eq!(finding("key: openai")["works"], true);
    assert_eq!(finding("key: anthropic")["works"], false);
    assert!(finding("key: anthropic")["advice"].is_string());
    assert_eq!(finding("store")["found"], ".assay: failed 1, passed 1");
    finding("docker");
    for what in ["CPUs", "memory", "processes", "disk"] {
        finding(&format!("limit: {what}"));
    }
    assert!(!told.stdout.contains("sk-secret"), "{}", told.stdout);
    assert!(read_json(&lab.path(".assay/store.json")).is_some());
}

/// Nothing is done where bubblewrap is missing, and it is said what to do.
#[test]
fn a_machine_without_bubblewrap_is_told_so() {
    let lab = suite::lab(1).experiment(|e| e).env("PATH", "/nowhere");
    // A daemon alone would do, for tasks in Docker.
    let lab = lab.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let doctor = lab.assay(&["doctor"]).ended(3);
    assert!(
        doctor.stdout.contains("--  bubblewrap") && doctor.stdout.contains("apt-get install bubblewrap"),
        "{}",
        doctor.stdout
    );
    let ran = lab.assay(&["run", "experiment.toml"]).ended(3);
    assert!(ran.stderr.contains("t1 excluded: ") && ran.stderr.contains("bubblewrap"), "{}", ran.stderr);
}
