//! The first run with a real model, as docs/guide/models.md describes it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agents;
use crate::fixture::{Fixture, needs_bubblewrap, within};
use crate::server::{Answer, Server};
use crate::suite;

const GUIDE: &str = include_str!("../../../../docs/guide/models.md");

/// The guide's commands that plan the experiment, and that run it with a server of one's own.
fn recipe() -> (String, String) {
    let row = GUIDE.lines().find(|line| line.starts_with("| any OpenAI-compatible server")).unwrap();
    let run = row.rsplit('`').nth(1).unwrap();
    let plan = GUIDE.lines().find(|line| line.starts_with("assay plan ")).unwrap();
    (plan.to_owned(), run.to_owned())
}

#[test]
fn the_recipe_for_a_real_model_ends_with_graded_trials() {
    needs_bubblewrap!();
    // Looks around once, and gives up: graded, and not lost.
    let server = Server::start(|_, asked| match asked.turn() {
        0 => Answer::bash("ls"),
        _ => Answer::done("I do not know the house's conventions."),
    });
    let lab = Fixture::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let copied = Command::new("cp").arg("-r").arg(&examples).arg(lab.path("examples")).status().unwrap();
    assert!(copied.success());
    let experiment = lab.path("examples/real-model.toml");
    let text = std::fs::read_to_string(&experiment).unwrap();
    assert!(text.contains("\"openai:NAME\""), "{text}");
    std::fs::write(&experiment, text.replace("openai:NAME", "openai:test-1")).unwrap();
    let (plan, run) = recipe();
    assert!(run.contains("http://127.0.0.1:11434/v1"), "{run}");
    let run = run.replace("http://127.0.0.1:11434/v1", &server.url());
    let shell = |script: &str| {
        let assay = PathBuf::from(env!("CARGO_BIN_EXE_assay"));
        let path =
            format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", assay.parent().unwrap().display());
        let output = Command::new("bash")
            .args(["-ec", script])
            .current_dir(lab.folder())
            .env_clear()
            .env("PATH", path)
            .env("HOME", lab.path("home"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}\n{output:#?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let plan = shell(&format!("OPENAI_BASE_URL={} {plan}", server.url()));
    assert!(
        plan.contains("Agent time limit: 600 s (set by the experiment, overriding 60 s of the tasks)\n"),
        "{plan}"
    );
    assert!(plan.contains("Memory limit: 512 MB (set by the tasks)\n"), "{plan}");

    let document = shell(&format!("{run} --format json"));
    let document: Value = serde_json::from_str(&document).unwrap();
    let planned = document["planned"].as_u64().unwrap();
    assert!(planned > 0 && document["executed"] == planned, "{document:#}");
    assert_eq!((&document["infrastructure"], &document["unfinished"]), (&json!(0), &json!(0)));
    let arms = document["report"]["arms"].as_array().unwrap();
    for arm in arms {
        assert_eq!((&arm["timed_out"], &arm["pass_rate"]), (&json!(0), &json!(0.0)), "{arm:#}");
    }
    let limits: Vec<Value> = trial_limits(&lab.path(".assay/trials"));
    assert!(!limits.is_empty() && limits.iter().all(|seconds| *seconds == 600.0), "{limits:?}");
}

/// The agent's seconds in the trials of `loop` below a folder of the store.
fn trial_limits(trials: &Path) -> Vec<Value> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    entries(trials)
        .iter()
        .flat_map(|shelf| entries(shelf))
        .filter_map(|folder| crate::fixture::read_json(&folder.join("trial.json")))
        .filter(|trial| trial.to_string().contains("\"loop\""))
        .map(|trial| {
            let specification = trial.get("specification").unwrap_or(&trial);
            specification["limits"]["agent_seconds"].clone()
        })
        .collect()
}

/// One task, and the loop at an address.
fn lab_at(url: &str) -> Fixture {
    suite::lab(1).experiment(|e| e.served("openai:test-1", url))
}

#[track_caller]
fn stopped(lab: &Fixture, code: i32, expected: &[&str]) {
    let ran = lab.assay(&["run", "experiment.toml"]).ended(code);
    for text in expected.iter().chain(&["no trial was run (--no-preflight skips this request)"]) {
        assert!(ran.stderr.contains(text), "{text} is not in:\n{}", ran.stderr);
    }
    assert!(lab.trials().is_empty(), "something was run");
    assert!(!lab.path(".assay/runs/lab").exists(), "a run was begun");
}

#[test]
fn a_model_that_cannot_be_used_ends_the_run_before_its_first_trial() {
    needs_bubblewrap!();
    // A port at which nobody listens.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}/v1");
    let refused = format!("error: openai:test-1 at {address} does not answer: ");
    stopped(&lab_at(&address), 3, &[&refused, "start the server"]);
    for (status, said, code, hint) in [
        (401, "Incorrect API key provided", 2, "check the key"),
        (404, "The model `test-1` does not exist", 2, "check the model's name"),
        (400, "API key not valid", 2, "check the key, the model's name"),
        (500, "down for good", 3, "try again later"),
    ] {
        let server =
            Server::start_bare(move |_, _| Answer::of(status, json!({ "error": { "message": said } })));
        stopped(&lab_at(&server.url()), code, &[said, hint]);
        let asked = server.requests();
        assert!(asked.iter().all(super::server::Request::is_preflight), "{asked:?}");
        assert_eq!(asked.len(), if status == 500 { 3 } else { 1 }, "{status}");
        // No limit is asked for that the experiment does not set.
        assert_eq!(asked[0].body.as_object().unwrap().len(), 2, "{}", asked[0].body);
    }
}

#[test]
fn each_model_is_asked_once_and_only_where_something_is_left_to_run() {
    needs_bubblewrap!();
    let server = Server::start_bare(|_, _| Answer::done("Done."));
    let again = format!(
        "[[agents]]\nname = \"loop\"\nmodel = \"openai:test-1\"\nmax_turns = 3\nbase_url = \"{0}\"\n\
         [[agents]]\nname = \"loop\"\nmodel = \"openai:test-2\"\nbase_url = \"{0}\"\n",
        server.url()
    );
    let lab = suite::lab(1).experiment(|e| e.served("openai:test-1", &server.url()).table(&again));
    let asked = || -> Vec<String> {
        let asked = server.requests().into_iter().filter(super::server::Request::is_preflight);
        asked.map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect()
    };
    lab.assay(&["run", "experiment.toml", "--dry-run"]).ok();
    lab.assay(&["plan", "experiment.toml"]);
    assert!(asked().is_empty(), "who only looks asks nobody");
    lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    assert_eq!(asked(), ["test-1", "test-2"]);
    lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    assert_eq!(asked().len(), 2, "nothing was left to run");
    let other = lab_at(&server.url());
    other.assay(&["run", "experiment.toml", "--no-checks", "--no-preflight"]).ok();
    assert_eq!(asked().len(), 2);
    assert_eq!(other.record("t1")["outcome"], "failed");
}

#[test]
fn a_slow_first_reply_is_waited_for_and_said() {
    needs_bubblewrap!();
    let (release, held) = channel::<()>();
    let held: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(held));
    let server = Server::start_bare(move |_, asked| {
        if asked.is_preflight() {
            held.lock().unwrap().recv().unwrap();
        }
        Answer::done("Done.")
    });
    let lab = lab_at(&server.url());
    let running = lab.start(&["run", "experiment.toml", "--no-checks"]);
    let waiting = "s for the first reply of openai:test-1 at http://127.0.0.1:";
    assert!(within(Duration::from_mins(1), || running.said().contains(waiting)), "{}", running.said());
    release.send(()).unwrap();
    let ran = running.wait().ok();
    assert!(ran.stderr.contains("preflight: openai:test-1 replied after "), "{}", ran.stderr);
    assert_eq!(lab.record("t1")["outcome"], "failed");
}

#[test]
#[ignore = "needs all agents"]
fn an_agent_behind_the_gateway_has_its_model_asked_as_it_will_ask_it() {
    needs_bubblewrap!();
    for (agent, path) in [("codex", "/v1/responses"), ("qwen-code", "/v1/chat/completions")] {
        let server =
            Server::start_bare(|_, _| Answer::of(404, json!({ "error": { "message": "no such model" } })));
        let lab = agents::words(agents::lab()).env("OPENAI_BASE_URL", &server.url());
        agents::installed(&lab, &[agent]);
        agents::experiment(&lab, "\"bubblewrap\"", &[agent], "openai:test-1");
        stopped(&lab, 2, &["openai:test-1 at http://127.0.0.1:", "no such model"]);
        let asked: Vec<String> = server.requests().into_iter().map(|asked| asked.path).collect();
        assert_eq!(asked, [path], "{agent}");
    }
}

#[test]
fn a_selection_that_means_nothing_is_a_mistake() {
    needs_bubblewrap!();
    let lab = suite::lab(2).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 2));
    for (only, expected) in [
        ("task=t3", "`--only task=t3` matches no task of the experiment\n  hint: did you mean `t1` or `t2`?"),
        ("task=zzzzzzzz", "matches no task of the experiment\n  hint: the experiment has t1, t2"),
        ("condition=currated", "hint: did you mean `curated`?"),
        ("agent=lop", "hint: did you mean `loop`?"),
        ("repetition=2", "hint: repetitions are 1 to 1"),
    ] {
        for flags in [&["--dry-run"][..], &[]] {
            let args = [&["run", "experiment.toml", "--only", only], flags].concat();
            let ran = lab.assay(&args).ended(2);
            assert!(ran.stderr.contains(expected), "{only}: {}", ran.stderr);
            assert_eq!(ran.stdout, "");
        }
    }
}

#[test]
fn a_run_of_a_part_reports_on_the_part() {
    needs_bubblewrap!();
    let lab = suite::lab(3).experiment(|e| suite::paired(e.conditions(&["none", "curated", "placebo"]), 3));
    let (document, code) = lab.run(&["--no-checks", "--only", "task=t2,condition=none,condition=curated"]);
    assert_eq!((code, &document["planned"]), (0, &json!(2)), "{document:#}");
    let report = &document["report"];
    let arms: Vec<_> = report["arms"].as_array().unwrap().iter().map(|arm| &arm["condition"]).collect();
    assert_eq!(arms, ["none", "curated"]);
    assert!(report["tasks"].as_array().unwrap().iter().all(|row| row["task"] == "t2"), "{report:#}");
    assert!(!report["notes"].to_string().contains("not executed"), "{report:#}");
    assert_eq!((&report["interim"], &report["comparisons"][0]["verdict"]), (&json!(true), &Value::Null));
    // The condition alone, before its baseline.
    let (document, _) = lab.run(&["--no-checks", "--only", "condition=placebo,task=t1"]);
    let arm = &document["report"]["arms"][0];
    assert_eq!((&arm["condition"], &arm["trials"]), (&json!("placebo"), &json!(1)));
}

#[test]
fn what_skills_scripts_need_and_the_sandbox_lacks_is_said_beforehand() {
    needs_bubblewrap!();
    let lab = suite::lab(1)
        .file("skills/reports/scripts/export.py", "import json\nimport no_such_module_of_ours\n")
        .file("skills/reports/scripts/print.sh", "no-such-command-of-ours | sort\n")
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 1));
    let expected = "(bubblewrap) does not have, and fail there: install it, or run the tasks in images that have it\n  \
                    reports: the command no-such-command-of-ours (scripts/print.sh), the Python module \
                    no_such_module_of_ours (scripts/export.py)\n";
    let planned = lab.assay(&["plan", "experiment.toml"]);
    assert!(planned.stderr.contains(expected), "{}", planned.stderr);
    let ran = lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    // Without those there is nothing to say.
    lab.write("skills/reports/scripts/export.py", "import json, os\n");
    lab.write("skills/reports/scripts/print.sh", "sort | uniq\n");
    let planned = lab.assay(&["plan", "experiment.toml"]);
    assert!(!planned.stderr.contains("scripts of skills need"), "{}", planned.stderr);
}
