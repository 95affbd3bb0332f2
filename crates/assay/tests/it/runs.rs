//! The main job: run, run again, change a skill, run a part.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

/// Keys of the documents that scripts may rely on. Others may be added.
const RUN: [&str; 7] = ["schema", "run", "planned", "executed", "cached", "infrastructure", "report"];
const REPORT: [&str; 6] = ["schema", "arms", "comparisons", "tasks", "skills", "registration"];
const ARM: [&str; 16] = [
    "agent",
    "model",
    "sandbox",
    "condition",
    "disclosure",
    "tasks",
    "trials",
    "pass_rate",
    "ci95",
    "tokens",
    "cost_usd",
    "seconds",
    "exposure",
    "infrastructure",
    "infrastructure_causes",
    "contaminated",
];
const EXPOSURE: [&str; 5] = ["offered", "advertised", "mentioned", "opened", "executed"];
const COMPARISON: [&str; 20] = [
    "agent",
    "model",
    "sandbox",
    "baseline",
    "condition",
    "tasks",
    "lift",
    "ci95",
    "normalized_change",
    "delta_star",
    "tau",
    "tau_ci95",
    "prediction95",
    "moved",
    "p",
    "p_adjusted",
    "run_to_run_noise",
    "mde",
    "verdict",
    "reason",
];

#[track_caller]
fn holds(document: &Value, keys: &[&str]) {
    for key in keys {
        assert!(document.get(key).is_some(), "no {key} in {document:#}");
    }
}

#[test]
fn a_run_says_what_is_promised_and_the_same_again_executes_nothing() {
    needs_bubblewrap!();
    let lab = suite::lab(5).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 5));
    let ran = lab.assay(&["run", "experiment.toml", "--format", "json"]).ok();
    assert!(ran.stdout.starts_with("{\n  \"schema\": \"assay.run/2\","), "{}", ran.stdout);
    let first = ran.json();
    holds(&first, &RUN);
    let report = &first["report"];
    assert_eq!(report.as_object().unwrap().keys().next().unwrap(), "schema");
    assert_eq!(report["schema"], "assay.report/2");
    holds(report, &REPORT);
    let arms = report["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 2);
    for arm in arms {
        holds(arm, &ARM);
        holds(&arm["exposure"], &EXPOSURE);
        assert_eq!(arm["cost_usd"], Value::Null, "a script has no price");
        assert!(arm["tokens"].as_f64().unwrap() > 0.0 && arm["seconds"].as_f64().unwrap() > 0.0);
    }
    holds(&report["comparisons"][0], &COMPARISON);
    assert_eq!(report["comparisons"][0]["verdict"], "helps");
    let counts = |document: &Value| ["run", "planned", "executed", "cached"].map(|key| document[key].clone());
    assert_eq!(counts(&first), [json!("lab"), json!(10), json!(10), json!(0)]);

    let (again, code) = lab.run(&[]);
    assert_eq!((counts(&again), code), ([json!("lab"), json!(10), json!(0), json!(10)], 0));
    assert_eq!(again["checks_executed"], 0);
    assert_eq!(again["report"], first["report"]);
    assert_eq!(lab.assay(&["report", "lab", "--format", "json"]).ok().json(), first["report"]);
    assert_eq!(lab.trials().len(), 20, "10 trials, and two checks of each task");
}

#[test]
fn one_byte_of_a_skill_reruns_exactly_the_trials_that_hold_it() {
    needs_bubblewrap!();
    let lab = suite::lab(3)
        .skill("letters", "Ends letters with the agreed word. Use it for letters.", &suite::body("left"))
        .experiment(|e| {
            let design = e.conditions(&["none", "curated", "placebo"]).repetitions(2);
            suite::paired(design, 2).pair("t3", &["letters"])
        });
    let cells = |lab: &Fixture| -> BTreeMap<String, String> {
        let name = |record: &Value| {
            format!("{} {} {}", record["task"], record["condition"], record["repetition"]).replace('"', "")
        };
        lab.records()
            .iter()
            .map(|record| (record["trial"].as_str().unwrap().to_owned(), name(record)))
            .collect()
    };
    let (first, _) = lab.run(&["--no-checks"]);
    assert_eq!((&first["planned"], &first["executed"]), (&json!(18), &json!(18)));
    let before = cells(&lab);

    let skill = std::fs::read_to_string(lab.path("skills/reports/SKILL.md")).unwrap();
    lab.write("skills/reports/SKILL.md", skill.replacen("handing", "Handing", 1));
    let (second, code) = lab.run(&["--no-checks"]);
    assert_eq!(code, 0);
    assert_eq!(second["run"], "lab-2");
    assert_eq!(
        (&second["planned"], &second["executed"], &second["cached"]),
        (&json!(18), &json!(8), &json!(10))
    );
    let after = cells(&lab);
    let new: BTreeSet<&str> =
        after.iter().filter(|(id, _)| !before.contains_key(*id)).map(|(_, cell)| cell.as_str()).collect();
    let expected = [
        "t1 curated 1",
        "t1 curated 2",
        "t1 placebo 1",
        "t1 placebo 2",
        "t2 curated 1",
        "t2 curated 2",
        "t2 placebo 1",
        "t2 placebo 2",
    ];
    assert_eq!(new, BTreeSet::from(expected));
    assert_eq!(lab.assay(&["report", "lab", "--format", "json"]).ok().json(), first["report"]);

    lab.write("skills/reports/SKILL.md", skill);
    let (third, _) = lab.run(&["--no-checks"]);
    assert_eq!((&third["run"], &third["executed"]), (&json!("lab"), &json!(0)));
}

#[test]
fn a_part_can_be_run_and_the_next_run_goes_on() {
    needs_bubblewrap!();
    let lab =
        suite::lab(2).experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(2), 2));
    let executed = |args: &[&str]| {
        let (document, code) = lab.run(args);
        assert_eq!(code, 0);
        (document["planned"].as_u64().unwrap(), document["executed"].as_u64().unwrap())
    };
    let plan = lab.assay(&["run", "experiment.toml", "--dry-run", "--format", "json"]).ok().json();
    assert_eq!(
        (&plan["schema"], &plan["planned"], &plan["cached"]),
        (&json!("assay.dry-run/2"), &json!(8), &json!(0))
    );
    assert_eq!(plan["checks"], 4);
    assert!(lab.trials().is_empty(), "a dry run ran something");

    assert_eq!(executed(&["--only", "task=t2,condition=none"]), (2, 2));
    assert!(lab.records().iter().all(|record| record["task"] == "t2" && record["condition"] == "none"));
    // The report of the whole run leaves out what was not executed, and calls it by its name.
    let part = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(part.contains("2 valid trials · 6 of 8 trials not executed · "), "{part}");
    assert!(!part.contains("infrastructure error"), "{part}");
    assert_eq!(executed(&["--only", "condition=cur*", "--only", "repetition=2"]), (2, 2));
    let (some, _) = lab.run(&["--max-trials", "1"]);
    assert_eq!((&some["executed"], &some["cached"], &some["unfinished"]), (&json!(1), &json!(4), &json!(3)));
    let left = lab.assay(&["run", "experiment.toml", "--dry-run"]).ok();
    assert!(left.stdout.starts_with("lab: 8 trials, 5 cached\n"), "{}", left.stdout);
    assert_eq!(executed(&[]), (8, 3));
    assert_eq!(lab.records().len(), 8);

    for wrong in ["task", "colour=red", "repetition=one"] {
        let ran = lab.assay(&["run", "experiment.toml", "--only", wrong]).ended(2);
        assert!(ran.stderr.contains("--only task=…,condition=…"), "{}", ran.stderr);
    }
}

/// The most trials under way at one time.
fn at_once(lab: &Fixture) -> usize {
    let time = |record: &Value, key: &str| record[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let spans: Vec<_> =
        lab.records().iter().map(|record| time(record, "started_at")..time(record, "finished_at")).collect();
    let during = |span: &Range<_>| spans.iter().filter(|other| other.contains(&span.start)).count();
    spans.iter().map(during).max().unwrap()
}

#[test]
fn as_many_trials_run_at_once_as_is_said() {
    needs_bubblewrap!();
    for (jobs, expected) in [("1", 1), ("4", 4)] {
        let lab =
            suite::lab(4).script(&[json!({ "turn": 0, "run": "sleep 1" })]).experiment(|e| e.concurrency(2));
        lab.assay(&["run", "experiment.toml", "--no-checks", "-j", jobs]).ok();
        assert_eq!(at_once(&lab), expected, "-j {jobs}");
    }
}

#[test]
fn comparison_of_runs_names_limits_that_differ() {
    needs_bubblewrap!();
    let mut lab = Fixture::new().script(&[json!({"turn": 0, "run": ["echo yes > answer.txt"]})]);
    for task in ["ash", "beech", "cedar", "elm", "fir"] {
        lab = lab.task(task, |task| task);
    }
    for timeout in ["timeout = 60", "timeout = 45.5"] {
        lab = lab.experiment(|design| design.agent(timeout));
        lab.run(&["--no-checks"]);
    }
    let ran = lab.assay(&["compare", "lab", "lab-2"]).ok();
    let expected = "! Different settings on 5 tasks: time limit of the agent in seconds is 45.5, and 60.0 in the first run. \
                    The difference between the runs includes its effect.\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    let same = lab.assay(&["compare", "lab", "lab"]).ok();
    assert!(!same.stdout.contains("Different settings"), "{}", same.stdout);
    let notes = lab.assay(&["compare", "lab", "lab-2", "--format", "json"]).ok().json()["notes"].clone();
    assert!(
        notes.as_array().unwrap().iter().any(|note| note.as_str().unwrap().starts_with("Different settings"))
    );
}
