//! What a model is sent under each condition.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, attempt, needs_bubblewrap, read_json};
use crate::suite;

/// The messages before the model's first turn: the system's and the user's.
fn prompt(record: &Value) -> [String; 2] {
    let trajectory = read_json(&attempt(record, "trajectory.json")).unwrap();
    [0, 1].map(|step| trajectory["steps"][step]["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_version_is_offered_in_place_of_the_curated_skill() {
    needs_bubblewrap!();
    let old = format!("---\nname: reports\ndescription: Ends reports.\n---\n\n{}", suite::body("wrong"));
    let word = |word: &str| {
        let seen = format!("agreed word for this kind of report is `{word}`");
        json!({ "turn": 1, "seen": seen, "run": format!("echo {word} > answer.txt") })
    };
    let read = json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" });
    let lab = suite::lab(1)
        .file("old/reports/SKILL.md", old)
        .script(&[read, word("right"), word("wrong")])
        .experiment(|e| suite::paired(e.conditions(&["none", "version:old", "curated"]), 1));
    let (document, _) = lab.run(&["--no-checks"]);
    let records = lab.records();
    let of = |condition: &str| records.iter().find(|record| record["condition"] == condition).unwrap();
    let outcomes = ["none", "version:old", "curated"].map(|condition| of(condition)["outcome"].clone());
    assert_eq!(outcomes, ["failed", "failed", "passed"].map(|outcome| json!(outcome)));
    assert_eq!(of("version:old")["exposure"][0]["skill"], json!("reports"));
    assert!(prompt(of("version:old"))[0].contains("Ends reports."));
    assert_eq!(document["report"]["arms"][1]["condition"], json!("version:old"));
}

/// Nothing is paid for a comparison that cannot be made.
#[test]
fn a_condition_without_any_trial_stops_plan_and_run() {
    let check = |lab: &Fixture, expected: &[&str]| {
        for command in [&["plan", "experiment.toml"][..], &["run", "experiment.toml", "--no-checks"]] {
            let ran = lab.assay(command).ended(2);
            for text in expected {
                assert_eq!(ran.stderr.matches(text).count(), 1, "{command:?}: {text}: {}", ran.stderr);
            }
            assert!(lab.records().is_empty() && !lab.path(".assay/runs/lab").exists());
        }
    };
    let curated = |names: &str| {
        let pairs = (1..=6).map(|task| format!("[tasks.t{task}]\ncurated = [{names:?}]\n"));
        pairs.collect::<String>()
    };
    let both = &["none", "curated"];
    let lab = suite::lab(6).experiment(|e| e.conditions(both).table(&curated("report")));
    let reason = "the condition `curated` has no trial: 6 tasks (t1, t2, t3, …): no skill is named `report`; did you mean \
                  `reports`?";
    check(&lab, &[reason]);
    // A folder without skills.
    std::fs::remove_file(lab.path("skills/reports/SKILL.md")).unwrap();
    let lab = lab.experiment(|e| e.conditions(both).table(&curated("reports")));
    check(
        &lab,
        &["the condition `curated` has no trial: 6 tasks (t1, t2, t3, …): no skill is named `reports`"],
    );
    // Each condition, and each reason once, also where it names the task.
    let lab = suite::lab(2).experiment(|e| e.conditions(&["none", "curated", "version:older"]));
    let no_curated = "no curated skill: pair it in the experiment, `[tasks.\"t1\"] curated = [\"…\"]`";
    check(
        &lab,
        &[
            "the condition `curated` has no trial: 2 tasks (t1, t2): ",
            "the condition `version:older` has no trial",
        ],
    );
    let ran = lab.assay(&["plan", "experiment.toml"]).ended(2);
    assert_eq!(ran.stderr.matches(no_curated).count(), 2, "{}", ran.stderr);
    // A condition that has something for one task is compared on it.
    let lab = suite::lab(2).experiment(|e| suite::paired(e.conditions(both), 1));
    assert!(
        lab.assay(&["plan", "experiment.toml"]).stdout.contains("Excluded: t2, curated: no curated skill")
    );
}

#[test]
fn plain_puts_the_text_of_the_skill_into_the_prompt_and_offers_no_skill() {
    needs_bubblewrap!();
    let lab = suite::lab(1)
        .script(&[
            json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" }),
            json!({ "turn": 0, "seen": "agreed word for this kind of report is `right`", "run": "ls /skills; echo right > answer.txt" }),
            json!({ "turn": 1, "condition": "curated", "run": "echo right > answer.txt" }),
        ])
        .experiment(|e| suite::paired(e.conditions(&["none", "plain", "curated"]), 1));
    lab.run(&["--no-checks"]);
    let records = lab.records();
    let of = |condition: &str| records.iter().find(|record| record["condition"] == condition).unwrap();
    let instruction = "End the report t1: write the agreed word into answer.txt.";

    let [system, user] = prompt(of("plain"));
    assert_eq!(system, prompt(of("none"))[0]);
    assert!(!system.contains("reports"), "{system}");
    assert_eq!(user.trim_end(), format!("{}\n\n{instruction}", suite::body("right").trim()));
    assert_eq!(prompt(of("none"))[1].trim_end(), instruction);
    assert_eq!(prompt(of("curated"))[1].trim_end(), instruction);

    // Neither offered nor advertised: the text is part of the prompt.
    assert_eq!(of("plain")["exposure"], json!([]));
    assert_eq!(of("curated")["exposure"][0]["offered"], json!(true));
    let outcomes = ["none", "plain", "curated"].map(|condition| of(condition)["outcome"].clone());
    assert_eq!(outcomes, ["failed", "passed", "passed"].map(|outcome| json!(outcome)));
}

#[test]
fn the_example_runs_under_every_condition() {
    needs_bubblewrap!();
    let lab = Fixture::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let copied = Command::new("cp").arg("-r").arg(examples).arg(lab.path("examples")).status().unwrap();
    assert!(copied.success());
    let args = ["--store", ".assay", "run", "examples/conditions.toml", "--format", "json"];
    let document = lab.assay(&args).json();
    assert_eq!(document["infrastructure"], json!(0), "{document:#}");
    let records = lab.records();
    let of = |condition: &str, task: &str| {
        let is_it = |record: &&Value| record["condition"] == condition && record["task"] == task;
        records.iter().find(is_it).unwrap_or_else(|| panic!("{condition} {task}"))
    };
    for (condition, ledger, sessions) in [
        ("none", "failed", "failed"),
        ("placebo", "failed", "failed"),
        ("documents:conditions/docs", "failed", "passed"),
        ("plain", "passed", "passed"),
        ("curated", "passed", "passed"),
        ("told", "passed", "passed"),
        ("version:conditions/old", "failed", "failed"),
        ("negative", "failed", "failed"),
        ("full", "passed", "passed"),
        ("plus-related", "passed", "passed"),
        ("plus-unrelated", "passed", "passed"),
        ("self-generated", "failed", "failed"),
        ("generated-from-task:conditions/generated/task", "failed", "failed"),
        ("generated-from-docs:conditions/generated/docs", "failed", "failed"),
        ("generated-from-runs:conditions/generated/runs", "failed", "failed"),
    ] {
        let found = ["ledger-month-close", "log-sessions"].map(|task| &of(condition, task)["outcome"]);
        assert_eq!(found, [&json!(ledger), &json!(sessions)], "{condition}");
        let arms = document["report"]["arms"].as_array().unwrap();
        let arm = arms.iter().filter(|arm| arm["condition"] == condition).count();
        assert_eq!(arm, 1, "{condition}");
    }
    // Every condition that exists: a new one belongs into the example.
    let names = records.iter().filter_map(|record| record["condition"].as_str()?.split(':').next());
    let used: BTreeSet<&str> = names.filter(|name| *name != "told").collect();
    // `counterfactual` needs tasks with a table of replacements, which drafts have: draft_run.rs.
    let all = assay_trial::condition::names().filter(|name| *name != "counterfactual");
    assert_eq!(used, all.collect::<BTreeSet<_>>());

    // The settings of single conditions.
    let count = |condition: &str| records.iter().filter(|record| record["condition"] == condition).count();
    assert_eq!((count("none"), count("told"), count("curated")), (8, 4, 4));
    let is_told =
        |condition: &str| prompt(of(condition, "log-sessions")).concat().contains("installed for this task");
    assert_eq!((is_told("told"), is_told("curated")), (true, false));
    let contrast = &document["report"]["contrasts"][0];
    assert_eq!(
        (&contrast["kind"], &contrast["condition"], &contrast["baseline"], &contrast["difference"]),
        (&json!("activation"), &json!("curated"), &json!("told"), &json!(0.0))
    );
    let metrics = document["report"]["metrics"].as_array().unwrap();
    let of_curated = metrics.iter().filter(|metric| metric["condition"] == "curated");
    let names: Vec<&str> = of_curated.map(|metric| metric["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cost_usd", "lines_changed", "seconds", "tokens", "turns"]);

    // The best passage comes first; no skill is offered.
    let documents = of("documents:conditions/docs", "log-sessions");
    assert_eq!(documents["exposure"], json!([]));
    let [_, user] = prompt(documents);
    let position = |text: &str| user.find(text).unwrap_or_else(|| panic!("{text:?} is missing: {user}"));
    assert!(
        position("A session belongs to one user in one network.") < position("Visitors register"),
        "{user}"
    );
}
