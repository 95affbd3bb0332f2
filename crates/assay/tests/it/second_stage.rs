//! Tasks that take part in no round, and decide where the rounds do not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

const RULE: &str = "[stopping]\nmax_repetitions = 6\nmore_tasks = 5\n";

/// Eleven tasks for which one skill was written: six for the rounds, five after them.
fn lab() -> Fixture {
    suite::lab(11)
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(5), 11).table(RULE))
}

/// The tasks of the rounds and those after them, as the plan has drawn them.
fn stages(lab: &Fixture) -> [BTreeSet<String>; 2] {
    let plan = lab.assay(&["plan", "experiment.toml", "--format", "json"]).ok().json();
    let names = &plan["design"]["stopping"]["second_stage"]["tasks"];
    let more: BTreeSet<String> = serde_json::from_value(names.clone()).unwrap();
    let all: BTreeSet<String> = (1..=11).map(|number| format!("t{number}")).collect();
    [all.difference(&more).cloned().collect(), more]
}

/// The same, with a skill that helps with half of the tasks of the rounds only, and with all after them.
fn open_lab() -> (Fixture, [BTreeSet<String>; 2]) {
    let lab = lab();
    let stages = stages(&lab);
    for task in stages[0].iter().take(3) {
        lab.write(
            &format!("tasks/{task}/tests/test.sh"),
            "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n",
        );
    }
    (lab, stages)
}

/// How many trials of each stage have a record.
fn counts(lab: &Fixture, more: &BTreeSet<String>) -> [usize; 2] {
    let records = lab.records();
    let is_more = |record: &&Value| more.contains(record["task"].as_str().unwrap());
    let second = records.iter().filter(is_more).count();
    [records.len() - second, second]
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn report(lab: &Fixture, run: &str) -> Value {
    lab.assay(&["report", run, "--format", "json"]).ok().json()
}

/// What the report of a run concludes.
fn conclusion(lab: &Fixture, run: &str) -> Value {
    let found = report(lab, run)["comparisons"][0].clone();
    let keys =
        ["verdict", "tasks", "lift", "lift_unbiased", "family", "ci95", "sequential", "interim", "reason"];
    keys.map(|key| found[key].clone()).into()
}

/// An exported run that is imported again concludes the same.
#[track_caller]
fn is_kept_by_an_export(lab: &Fixture) {
    for format in ["csv", "jsonl"] {
        lab.assay(&["export", "data", "lab", "--as", format, "--out", format]).ok();
        let table = format!("{format}/trials.{format}");
        lab.assay(&["import", "table", &table, "--name", format]).ok();
        assert_eq!(conclusion(lab, format), conclusion(lab, "lab"), "{format}");
    }
}

#[test]
fn tasks_after_the_rounds_decide_what_the_rounds_leave_open() {
    needs_bubblewrap!();
    let (lab, [first, more]) = open_lab();
    assert_eq!((first.len(), more.len()), (6, 5));
    let ran = lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    assert!(ran.stderr.contains("1 comparison not decided, 5 more tasks as planned"), "{}", ran.stderr);
    let found = report(&lab, "lab");
    let comparison = &found["comparisons"][0];
    let stage = &comparison["sequential"];
    assert_eq!(stage["more_tasks"]["stage"], json!(2), "{comparison:#}");
    assert_eq!(stage["more_tasks"]["planned"], json!(5));
    assert!(["futility", "last-round"].map(Value::from).contains(&stage["more_tasks"]["after"]), "{stage}");
    assert_eq!((&stage["ended"], &comparison["verdict"]), (&json!("second-stage"), &json!("helps")));
    // The tasks of the rounds have those of the rounds, the others the repetitions of the fixed design.
    let round = usize::try_from(stage["round"].as_u64().unwrap()).unwrap();
    assert_eq!(counts(&lab, &more), [6 * 2 * round, 5 * 2 * 5]);
    // Both stages count, at the level that the rounds have not spent.
    assert_eq!((&comparison["tasks"], &comparison["family"]["level"]), (&json!(11), &json!(0.95)));
    let lift = comparison["lift"].as_f64().unwrap();
    assert!((lift - 8.0 / 11.0).abs() < 1e-9, "{lift}");
    assert!(comparison["family"]["low"].as_f64().unwrap() > 0.0, "{comparison:#}");
    assert!((0.2..1.0).contains(&comparison["lift_unbiased"].as_f64().unwrap()), "{comparison:#}");
    // It was planned: nothing was extended after a look.
    assert_eq!((&found["interim"], &found["extended_after_look"]), (&json!(false), &json!(false)));
    assert_eq!(found["question"]["earlier"], json!([]));
    for format in ["terminal", "markdown", "html"] {
        let text = words(&lab.assay(&["report", "lab", "--format", format]).ok().stdout);
        let said = [
            "then decided with 5 more tasks, as planned.",
            "two-stage CI",
            "5 more tasks, drawn by the seed",
        ];
        for said in said {
            assert!(text.contains(said), "{format}: {said}\n{text}");
        }
    }
    // A second run has nothing to do, and says the same.
    let (again, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &again["executed"], &again["report"]["comparisons"][0]), (0, &json!(0), comparison));
    is_kept_by_an_export(&lab);
}

#[test]
fn rounds_that_decide_spare_the_tasks_after_them() {
    needs_bubblewrap!();
    let lab = lab();
    let [_, more] = stages(&lab);
    let (document, code) = lab.run(&["--no-checks"]);
    let comparison = &document["report"]["comparisons"][0];
    let stage = &comparison["sequential"];
    assert_eq!((code, &comparison["verdict"], &stage["ended"]), (0, &json!("helps"), &json!("verdict")));
    assert_eq!(stage["more_tasks"], json!({ "planned": 5, "stage": 1, "after": null }));
    let round = usize::try_from(stage["round"].as_u64().unwrap()).unwrap();
    assert_eq!(counts(&lab, &more), [6 * 2 * round, 0]);
    // What was not needed is not missing.
    assert_eq!((&comparison["tasks"], &document["report"]["interim"]), (&json!(6), &json!(false)));
    assert_eq!(document["unfinished"], json!(0));
    let text = words(&lab.assay(&["report", "lab"]).ok().stdout);
    assert!(text.contains("The 5 tasks after the rounds were not needed."), "{text}");
    // Pages do not wait for them.
    lab.assay(&["view", "--export", "site"]).ok();
    let list = words(&std::fs::read_to_string(lab.path("site/index.html")).unwrap());
    assert!(list.contains(&(12 * round).to_string()) && !list.contains("of 122"), "{list}");
    is_kept_by_an_export(&lab);

    // More trials than those that were planned would be trials that the results have asked for.
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let without = text.replace("more_tasks = 5\n", "");
    let longer = format!("{text}[tasks.t12]\ncurated = [\"reports\"]\n");
    let refuses = |lab: &Fixture, changed: &str| {
        assert_ne!(text, changed);
        lab.write("experiment.toml", changed);
        let refused = lab.assay(&["run", "experiment.toml", "--no-checks"]).ended(2);
        assert!(refused.stderr.contains("was decided after its rounds"), "{}", refused.stderr);
    };
    refuses(&lab, &without);
    refuses(&lab.task("t12", |task| task), &longer);
}

#[test]
fn an_interrupted_second_stage_goes_on() {
    needs_bubblewrap!();
    let (whole, [_, more]) = open_lab();
    whole.run(&["--no-checks"]);
    let [first, _] = counts(&whole, &more);
    let (lab, _) = open_lab();
    // The rounds, and a part of what follows.
    let most = (first + 13).to_string();
    let (part, _) = lab.run(&["--no-checks", "--max-trials", &most]);
    let found = &part["report"]["comparisons"][0];
    assert_eq!(counts(&lab, &more), [first, 13]);
    assert_eq!((&found["verdict"], &found["sequential"]["ended"]), (&json!(null), &json!(null)));
    assert_eq!((&found["sequential"]["more_tasks"]["stage"], &found["tasks"]), (&json!(2), &json!(6)));
    assert_eq!((&part["unfinished"], &part["report"]["interim"]), (&json!(37), &json!(true)));
    let text = words(&lab.assay(&["report", "lab"]).ok().stdout);
    assert!(text.contains("it goes on with 5 more tasks, as planned."), "{text}");
    let (done, _) = lab.run(&["--no-checks"]);
    assert_eq!(done["executed"], json!(37));
    assert_eq!(conclusion(&lab, "lab"), conclusion(&whole, "lab"));
    assert_eq!(report(&lab, "lab")["extended_after_look"], json!(false));
}

#[test]
fn a_second_stage_that_is_closed_decides_nothing() {
    needs_bubblewrap!();
    let (lab, [_, more]) = open_lab();
    let (part, _) = lab.run(&["--no-checks", "--max-trials", "80"]);
    assert!(counts(&lab, &more)[1] > 0, "{part}");
    lab.assay(&["report", "lab", "--final"]).ok();
    let found = &report(&lab, "lab")["comparisons"][0];
    assert_eq!(
        (&found["verdict"], &found["sequential"]["ended"]),
        (&json!("inconclusive"), &json!("closed"))
    );
    assert_eq!(found["tasks"], json!(6));
    let text = words(&lab.assay(&["report", "lab"]).ok().stdout);
    assert!(text.contains("Closed before the tasks after the rounds were complete"), "{text}");
}

#[test]
fn a_plan_names_the_tasks_after_the_rounds() {
    needs_bubblewrap!();
    let lab = lab();
    let [first, more] = stages(&lab);
    let plan = words(&lab.assay(&["plan", "experiment.toml"]).ok().stdout);
    let named = more.iter().cloned().collect::<Vec<_>>().join(", ");
    let said = [
        "Decisions after each of at most 6 rounds of 6 tasks, then with 5 more tasks, 122 trials at most (fixed design: 110)",
        &format!("Tasks after the rounds (drawn by the seed): {named}"),
        "Probability that they are needed: ",
    ];
    for said in said {
        assert!(plan.contains(said), "{said}\n{plan}");
    }
    assert!(first.is_disjoint(&more));

    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let check = |rule: &str, expected: &str| {
        lab.write("experiment.toml", text.replace("more_tasks = 5", rule));
        let ran = lab.assay(&["plan", "experiment.toml"]).ended(2);
        assert!(words(&ran.stderr).contains(expected), "{rule}: {}", ran.stderr);
    };
    check("more_task = 5", "did you mean `more_tasks`?");
    check("more_tasks = 4", "`more_tasks` must be between 5 and 10000");
    check(
        "more_tasks = 7",
        "divides 11 tasks into 4 for the rounds and 7 after them: each stage needs at least 5",
    );
}
