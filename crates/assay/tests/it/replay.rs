//! Recorded trials whose labels mean nothing, and simulated experiments of few tasks.

use assay_test::shared;
use serde_json::Value;

use crate::fixture::Fixture;

/// A table of two arms of which one is much better, on so many tasks with five trials each.
fn table(tasks: usize) -> String {
    let mut table = String::from("task,model,repetition,score\n");
    for task in 0..tasks {
        for trial in 0..5 {
            // Passes of the good model: four of five; of the bad one: one of five; another one for each task.
            let good = u8::from((task + trial) % 5 != 0);
            let bad = u8::from((task + 2 * trial) % 5 == 0);
            table.push_str(&format!("t{task},good,{trial},{good}\nt{task},bad,{trial},{bad}\n"));
        }
    }
    table
}

#[test]
fn labels_that_mean_nothing_give_few_verdicts() {
    let lab = Fixture::new().file("table.csv", table(20));
    let replay = ["lab", "replay", "table.csv", "--arms", "model", "--repetitions", "5"];
    let honest = lab.assay(&replay);
    assert_eq!(honest.code, 0, "{}", honest.stderr);
    let verdicts = |word: &str| honest.stdout.matches(&format!(" {word} |")).count();
    assert_eq!(verdicts("helps") + verdicts("harms"), 2, "{}", honest.stdout);

    let null = ["--null", "--tasks", "10,20", "--suites", "200", "--format", "json"];
    let done = lab.assay(&[&replay[..], &null].concat());
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert!(row["fixed"].as_f64().unwrap() < 0.1 && row["sequential"].as_f64().unwrap() < 0.1, "{row}");
    }

    let many = lab.assay(&[&replay[..], &["--null", "--tasks", "21"]].concat());
    assert_eq!(many.code, 2);
    assert!(many.stderr.contains("no two arms have 21 tasks with 5 trials each"), "{}", many.stderr);
    let range = lab.assay(&[&replay[..], &["--range", "1..0"]].concat());
    assert!(range.code == 2 && range.stderr.contains("is not LOW..HIGH"), "{}", range.stderr);
    let alone = lab.assay(&[&replay[..], &["--suites", "5"]].concat());
    assert_eq!(alone.code, 2, "{}", alone.stdout);
}

#[test]
#[ignore = "needs shared data"]
fn verdicts_on_real_outcomes_without_an_effect_are_rarely_false() {
    let check = |table: &str, options: &[&str]| {
        let path = shared(&format!("trials/{table}.jsonl.zst"));
        let path = path.to_string_lossy();
        let command = ["lab", "replay", path.as_ref(), "--null", "--suites", "400"];
        let done = Fixture::new().assay(&[&command[..], options].concat());
        assert_eq!(done.code, 0, "{table}: {}{}", done.stdout, done.stderr);
    };
    check("mcpmark", &["--arms", "model", "--repetitions", "4", "--tasks", "5,12,40"]);
    check("svelte-bench", &["--arms", "condition", "--repetitions", "10", "--tasks", "9"]);
    check(
        "dotnet-skills",
        &["--arms", "condition", "--repetitions", "3", "--tasks", "8,17", "--range", "0..10"],
    );
}

#[test]
fn few_tasks_are_simulated() {
    let done = Fixture::new().assay(&[
        "lab",
        "simulate",
        "--grid",
        "few-tasks",
        "--suites",
        "4",
        "--format",
        "json",
    ]);
    assert!(done.code == 0 || done.code == 1, "{}", done.stderr);
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(document["cells"].as_array().unwrap().len(), 4);
}
