//! Tasks with several steps: each is a conversation of its own, on the work that the one before left.

use std::path::Path;

use serde_json::{Value, json};

use crate::agents;
use crate::docker::in_docker;
use crate::fixture::{Design, Fixture, needs_bubblewrap, observed};

/// The steps of a record: name, outcome and reward.
fn steps(record: &Value) -> Vec<(&str, Option<&str>, Option<f64>)> {
    let steps = record["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| (step["name"].as_str().unwrap(), step["outcome"].as_str(), step["reward"].as_f64()))
        .collect()
}

/// The notes that the skill asks for decide what the second session can do.
#[test]
fn the_example_in_two_sessions_runs() {
    needs_bubblewrap!();
    let lab = Fixture::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/steps");
    let report = assay_fs::copy_tree(&examples, &lab.path("steps"), &assay_fs::Caps::default()).unwrap();
    assert_eq!(report.left_out, []);
    let document = lab.assay(&["run", "steps/experiment.toml", "--format", "json"]).ok().json();
    assert_eq!((&document["executed"], &document["infrastructure"]), (&json!(6), &json!(0)), "{document:#}");
    for record in lab.records() {
        let (outcome, reward) = if record["condition"] == "none" { ("failed", 0.0) } else { ("passed", 1.0) };
        let expected = [("investigate", Some("passed"), Some(1.0)), ("report", Some(outcome), Some(reward))];
        assert_eq!(steps(&record), expected, "{record:#}");
        // The last step's result is the trial's.
        assert_eq!(record["outcome"], outcome, "{record:#}");
        if record["condition"] == "curated" {
            let opened: Vec<bool> = record["steps"]
                .as_array()
                .unwrap()
                .iter()
                .map(|step| step["exposure"][0]["opened"].is_u64())
                .collect();
            // A new conversation: what the first one read, the second has not seen.
            assert_eq!(opened, [true, false], "{record:#}");
            assert!(record["exposure"][0]["opened"].is_u64(), "{record:#}");
            assert_eq!(record["turns"], 6, "{record:#}");
            let tokens = |value: &Value| value["usage"]["input"].as_u64().unwrap();
            let sum: u64 = record["steps"].as_array().unwrap().iter().map(tokens).sum();
            assert_eq!(tokens(&record), sum, "{record:#}");
        }
    }
}

/// Three steps. The agent of the first leaves a process and a link, and its tests leave themselves in the work
/// folder; the second looks for all of that; the third is behind a gate.
fn guarded(shape: impl FnOnce(Design) -> Design) -> Fixture {
    let toml = "version = \"1.0\"\n[verifier.env]\nWHOSE = \"task\"\n\
        [[steps]]\nname = \"plant\"\nmin_reward = { kept = 1, reward = 0.5 }\n[steps.verifier.env]\nWHOSE = \"step\"\n\
        [[steps]]\nname = \"look\"\nmin_reward = 0.9\n[steps.healthcheck]\ncommand = \"test -f ready\"\ninterval_sec = 1\n\
        [[steps]]\nname = \"never\"\n";
    let plant = "(while :; do date > alive; sleep 0.1; done) > /dev/null 2>&1 &\n\
        until [ -e alive ]; do sleep 0.05; done\n\
        mkdir given; ln -s /nonexistent given/out; ln -s /nonexistent kept.txt; echo mine > work.txt";
    let look = "ls; ls /tests /logs/verifier /solution; cat kept.txt; cat given/out/file.txt; \
        sleep 0.5; ls -l --time-style=full-iso alive; ls alive && rm alive; sleep 0.5; ls alive";
    Fixture::new()
        .task("guarded", |task| {
            task.toml(toml)
                .test_sh("echo \"shared $WHOSE\"\nreward 0.5\n")
                .file("steps/plant/instruction.md", "Step one.\n")
                .file(
                    "steps/plant/tests/test.sh",
                    "cp -r /tests /app/leaked-tests\n\
                     [ \"$WHOSE\" = step ] && [ -f work.txt ] && \
                     echo '{\"reward\": 0.5, \"kept\": 1}' > /logs/verifier/reward.json\n",
                )
                .file("steps/look/instruction.md", "Step two.\n")
                .file("steps/look/workdir/given/out/file.txt", "given\n")
                .file("steps/look/workdir/kept.txt", "new\n")
                .file("steps/look/workdir/setup.sh", "touch ready\n")
                .file("steps/never/instruction.md", "Step three.\n")
                .file("steps/never/tests/test.sh", "echo 1 > /logs/verifier/reward.txt\n")
        })
        .script(&[
            json!({ "seen": "Step one", "turn": 0, "run": [plant] }),
            json!({ "seen": "Step two", "turn": 0, "run": [look] }),
            json!({ "seen": "Step three", "turn": 0, "run": ["echo unreachable"] }),
        ])
        .experiment(shape)
}

fn check_guarded(lab: &Fixture) {
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!(document["infrastructure"], json!(0), "{document:#}");
    let record = lab.record("guarded");
    let expected =
        [("plant", Some("failed"), Some(0.5)), ("look", Some("failed"), Some(0.5)), ("never", None, None)];
    assert_eq!(steps(&record), expected, "{record:#}");
    let reason = "step `look`: `reward` is 0.5 and `min_reward` 0.9, so 1 step was not run";
    assert_eq!((&record["reason"], &record["outcome"]), (&json!(reason), &json!("failed")), "{record:#}");
    // The mean over the steps that were graded.
    assert_eq!((&record["reward"], &record["rewards"]["reward"]), (&json!(0.5), &json!(0.5)), "{record:#}");
    let seen = observed(&record).join("\n");
    // The agent's own work is there, and what the task gives.
    for part in ["work.txt", "ready", "new\ngiven\n"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    // Nothing of the tests is, and the process that wrote `alive` does not.
    for part in ["leaked-tests", "test.sh", "reward.json", "solve.sh"] {
        assert!(!seen.contains(part), "{part}: {seen}");
    }
    assert!(seen.trim_end().contains("cannot access 'alive'"), "{seen}");
    let attempt = crate::fixture::attempt(&record, "steps");
    let shared = std::fs::read_to_string(attempt.join("look/verifier/test-stdout.txt")).unwrap();
    assert_eq!(shared, "shared task\n");
    let diff = std::fs::read_to_string(attempt.join("look/workspace.diff")).unwrap();
    assert!(!diff.contains("work.txt") && !diff.contains("ready"), "{diff}");
}

#[test]
fn no_step_sees_tests_or_processes_of_another() {
    needs_bubblewrap!();
    check_guarded(&guarded(|design| design));
}

/// In Docker the container's files are what goes from one step to the next.
#[test]
#[ignore = "needs Docker"]
fn no_step_sees_tests_or_processes_of_another_in_docker() {
    let lab = guarded(in_docker);
    check_guarded(&lab);
    // Nothing of the files is left when the run has ended.
    let store = crate::fixture::read_json(&lab.path(".assay/store.json")).unwrap();
    let label = format!("label=dev.assay.store={}", store["label"].as_str().unwrap());
    let list = std::process::Command::new("docker")
        .args(["images", "-q", "--filter", &label, "--filter", "dangling=true"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&list.stdout), "");
}

/// The example with agents that keep their own sessions: each step is a new one, and a replay has the replies of each.
#[test]
#[ignore = "needs agents"]
fn agents_begin_a_conversation_in_each_step_and_are_replayed() {
    needs_bubblewrap!();
    let lab = agents::lab();
    let there = agents::installed(&lab, &["claude-code", "codex"]);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/steps");
    assay_fs::copy_tree(&examples, &lab.path("steps"), &assay_fs::Caps::default()).unwrap();
    let file = |name: &str| std::fs::read_to_string(lab.path(&format!("steps/{name}"))).unwrap();
    let experiment = file("experiment.toml")
        .replace("name = \"loop\"\n", &format!("names = {there:?}\n"))
        .replace("max_turns = 10 ", "# ")
        .replace("timeout = 60 ", "timeout = 240 ")
        .replace("repetitions = 3", "repetitions = 1");
    lab.write("steps/experiment.toml", experiment);
    // These agents have the skill in a folder of their own, and a tool that opens it.
    let turns =
        file("turns.jsonl").replace("\"/skills/handover-notes/SKILL.md\"]", "\"handover-notes\"]").replace(
            "\"run\": [\"cat /skills/handover-notes/SKILL.md\", \"head -5 data/events.log\"]",
            "\"skill\": \"handover-notes\"",
        );
    lab.write("steps/turns.jsonl", turns);

    let run = |args: &[&str]| {
        let document =
            lab.assay(&[&["run", "steps/experiment.toml", "--no-checks", "--format", "json"], args].concat());
        let document = document.ok().json();
        assert_eq!(
            (&document["executed"], &document["infrastructure"]),
            (&json!(2 * there.len()), &json!(0)),
            "{document:#}"
        );
        document
    };
    run(&["--store", ".assay"]);
    for record in lab.records() {
        let report = if record["condition"] == "none" { ("failed", 0.0) } else { ("passed", 1.0) };
        let expected =
            [("investigate", Some("passed"), Some(1.0)), ("report", Some(report.0), Some(report.1))];
        assert_eq!(steps(&record), expected, "{record:#}");
        if record["condition"] == "curated" {
            let opened = |step: usize| record["steps"][step]["exposure"][0]["opened"].is_u64();
            assert_eq!((opened(0), opened(1)), (true, false), "{record:#}");
        }
    }
    let replayed = run(&["--store", "replayed", "--replay", ".assay"]);
    let rates = |document: &Value| {
        let arms = document["report"]["arms"].as_array().unwrap().iter();
        arms.map(|arm| (arm["agent"].clone(), arm["condition"].clone(), arm["pass_rate"].clone()))
            .collect::<Vec<_>>()
    };
    let first = lab.assay(&["report", "steps", "--format", "json"]).ok().json();
    assert_eq!(rates(&replayed), rates(&json!({ "report": first })));
}
