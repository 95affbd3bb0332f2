//! What the outcome of a trial is, and that headroom, plan, verdict, report, audit and export agree on it.

use assay_store::RunFolder;
use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

const TASKS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A verifier of five tests, each a key of reward.json: four pass where there is an answer, and one only where
/// it has the house's format. `more` is written beside them.
fn verifier(more: &str) -> String {
    format!(
        "[ -f /app/answer.txt ] && one=1 || one=0\n[ \"$(cat /app/answer.txt 2>/dev/null)\" = T=7 ] && all=1 || all=0\n\
         echo \"{{\\\"exists\\\": $one, \\\"read\\\": $one, \\\"sum\\\": $one, \\\"unit\\\": $one, \\\"house_format\\\": $all{more}}}\" \
         > /logs/verifier/reward.json\n"
    )
}

/// Five tasks; without the skill the agent misses the format, with it the agent reads the skill and writes it.
fn lab(more: &str, top: &str) -> Fixture {
    let does = |condition: &str, run: &[&str]| json!({"condition": condition, "turn": 0, "run": run});
    let rules = [
        does("curated", &["cat /skills/house/SKILL.md", "echo T=7 > answer.txt"]),
        does("none", &["echo 7 > answer.txt"]),
    ];
    let body = "# Totals\n\nWrite every total in the format of the house, which is `T=` before the number.\n";
    let mut lab = Fixture::new().skill("house", "Formats totals.", body).script(&rules);
    for task in TASKS {
        lab = lab.task(task, |task| task.test_sh(&verifier(more)).solve_sh("echo T=7 > /app/answer.txt\n"));
    }
    lab.experiment(|e| {
        let design = e.conditions(&["none", "curated"]).repetitions(2).top(top);
        TASKS.iter().fold(design, |design, task| design.pair(task, &["house"]))
    })
}

fn report(lab: &Fixture, run: &str) -> Value {
    lab.assay(&["report", run, "--format", "json"]).ok().json()
}

/// The outcome, and of the only comparison verdict and lift.
fn verdict(report: &Value) -> (Value, Value, f64) {
    let found = &report["comparisons"][0];
    (report["outcome"].clone(), found["verdict"].clone(), found["lift"].as_f64().unwrap())
}

#[test]
fn several_rewards_without_the_reward_are_judged_by_passes() {
    needs_bubblewrap!();
    let lab = lab("", "");
    lab.run(&[]);
    let found = report(&lab, "lab");
    let outcome = json!({ "rule": "auto", "tasks": { "score": 0, "pass": 5 } });
    assert_eq!(verdict(&found), (outcome, json!("helps"), 1.0));
    let note = "5 verifiers write several rewards and no key `reward`";
    assert!(found["notes"].to_string().contains(note), "{}", found["notes"]);
    let shown = lab.assay(&["report", "lab", "--tests"]).ok().stdout;
    assert!(shown.starts_with("Run: lab · outcome: pass rate\n"), "{shown}");
    assert!(
        shown.contains("helps") && shown.contains("+100") && !shown.contains("pass rate lift"),
        "{shown}"
    );
    // The checks are the rewards, and one of them changed.
    assert!(shown.contains("house_format") && shown.contains("verifiers report 25 checks"), "{shown}");
    for format in ["markdown", "html"] {
        let text = lab.assay(&["report", "lab", "--format", format]).ok().stdout;
        assert!(text.contains("outcome: pass rate"), "{format}: {text}");
    }
    // The plan has the report's number, and says what it is.
    let plan = lab.assay(&["plan", "experiment.toml"]);
    assert!(plan.stdout.contains("Baseline pass rate: 0% (from 10 recorded trials)"), "{}", plan.stdout);
    assert!(plan.stderr.contains("write several rewards and no key `reward`"), "{}", plan.stderr);
    let forecast = lab.assay(&["plan", "experiment.toml", "--format", "json"]).json();
    assert_eq!(forecast["baselines"][0]["score"], found["arms"][0]["score"]);
    assert_eq!(forecast["outcome"], found["outcome"]);
    // The audit finds the gain, and no inertia.
    let audit = lab.assay(&["audit", "corpus", "lab", "--format", "json"]);
    // The pattern is listed with its counts; no run has a finding of it.
    let is_found = ["no check passed", "\"skill_inertia\",\"skill_file\""];
    assert!(!is_found.iter().any(|part| audit.stdout.contains(part)), "{}", audit.stdout);
    // The export has the checks and the outcome.
    lab.assay(&["export", "data", "lab", "--as", "csv", "--out", "data"]).ok();
    let table = |name: &str| std::fs::read_to_string(lab.path(&format!("data/{name}.csv"))).unwrap();
    let checks = table("checks");
    assert_eq!(checks.lines().count(), 1 + 20 * 5, "{checks}");
    assert_eq!(checks.matches("house_format,failed").count(), 10, "{checks}");
    // A table of the export gives the same verdict.
    lab.assay(&["import", "table", "data/trials.csv", "--name", "again", "--ignore", "run"]);
    assert_eq!(report(&lab, "again")["comparisons"][0]["lift"], found["comparisons"][0]["lift"]);
    // One trial names the check that failed.
    let record = lab
        .records()
        .into_iter()
        .find(|record| record["condition"] == "none" && record["sandbox"] == "bubblewrap")
        .unwrap();
    let id = record["trial"].as_str().unwrap();
    let trial = lab.assay(&["show", id]).ok().stdout;
    assert!(trial.contains("checks: 4 of 5 passed; failed: house_format"), "{trial}");
    let check = lab.assay(&["task", "check", "tasks/a"]);
    assert!(check.stdout.contains("several-rewards"), "{}", check.stdout);
}

#[test]
fn an_experiment_names_its_outcome() {
    needs_bubblewrap!();
    let lab = lab("", "outcome = \"score\"");
    lab.run(&["--no-checks"]);
    let scored = report(&lab, "lab");
    let outcome = |rule: Value, score: u32, pass: u32| json!({ "rule": rule, "tasks": { "score": score, "pass": pass } });
    let (named, word, lift) = verdict(&scored);
    // Scores without any spread within tasks do not say how much they can differ.
    assert_eq!((named, word), (outcome(json!("score"), 5, 0), json!("inconclusive")));
    assert!((lift - 0.2).abs() < 1e-12, "{lift}");
    let shown = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(shown.starts_with("Run: lab · outcome: score\n"), "{shown}");
    let plan = lab.assay(&["plan", "experiment.toml"]);
    assert!(plan.stdout.contains("Baseline score: 80% (from 10 recorded trials)"), "{}", plan.stdout);
    // Another outcome is another plan, with the same trials.
    let path = lab.path("experiment.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"score\"", "\"pass\"")).unwrap();
    let (run, _) = lab.run(&["--no-checks"]);
    assert_eq!((&run["run"], &run["executed"]), (&json!("lab-2"), &json!(0)), "{run}");
    assert_eq!(verdict(&report(&lab, "lab-2")), (outcome(json!("pass"), 0, 5), json!("helps"), 1.0));
    let hint = lab.assay(&["report", "lab", "--metric", "passed,higher"]).ended(2).stderr;
    assert!(hint.contains("outcome = \"pass\""), "{hint}");
    std::fs::write(&path, text.replace("\"score\"", "\"mean\"")).unwrap();
    let error = lab.assay(&["plan", "experiment.toml"]).ended(2).stderr;
    assert!(error.contains("`mean`") && error.contains("auto, score, pass"), "{error}");
    // A plan of an earlier version names none, and keeps its rule.
    let plan = lab.path(".assay/runs/lab/plan.json");
    let mut old: RunFolder = serde_json::from_slice(&std::fs::read(&plan).unwrap()).unwrap();
    old.outcome = None;
    old.seal();
    std::fs::write(&plan, serde_json::to_vec(&old).unwrap()).unwrap();
    let old = report(&lab, "lab");
    assert_eq!(old["outcome"], outcome(Value::Null, 5, 0));
    assert_eq!(old["comparisons"][0]["lift"], scored["comparisons"][0]["lift"]);
    let shown = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(shown.starts_with("Run: lab · outcome: mean of the rewards"), "{shown}");
}

#[test]
fn the_reward_comes_before_the_tests_beside_it() {
    needs_bubblewrap!();
    let lab = lab(", \\\"reward\\\": $all", "");
    lab.run(&["--no-checks"]);
    let found = report(&lab, "lab");
    let outcome = json!({ "rule": "auto", "tasks": { "score": 5, "pass": 0 } });
    assert_eq!(verdict(&found), (outcome, json!("helps"), 1.0));
    let shown = lab.assay(&["report", "lab", "--tests"]).ok().stdout;
    assert!(shown.contains("house_format") && !shown.contains("several rewards"), "{shown}");
}

/// A table of all columns that are optional, and a run of it without one of them.
#[test]
fn a_missing_column_is_a_missing_number() {
    let columns = ["input_tokens", "output_tokens", "cost_usd", "seconds", "turns", "started"];
    let table = |without: &str| -> String {
        let mut rows = String::new();
        for (index, task) in TASKS.iter().enumerate() {
            for (condition, score) in [("none", 0), ("with", 1)] {
                let values = [
                    json!(1000 + index),
                    json!(77 + index),
                    json!(0.25),
                    json!(12.5),
                    json!(3),
                    json!(format!("2026-01-0{}T00:00:00Z", index + 1)),
                ];
                let mut row = json!({ "task": task, "condition": condition, "score": score });
                for (name, value) in columns.iter().zip(values).filter(|(name, _)| **name != without) {
                    row[*name] = value;
                }
                rows.push_str(&format!("{row}\n"));
            }
        }
        rows
    };
    // The keys of an arm in the report, the heading in the terminal, and the columns of the export.
    let check = |without: &str, keys: &[&str], heading: Option<&str>, exported: &[&str]| {
        let lab = Fixture::new().columns(250).file("t.jsonl", table(without));
        lab.assay(&["import", "table", "t.jsonl", "--name", "t"]).ok();
        let found = report(&lab, "t");
        for arm in found["arms"].as_array().unwrap() {
            for key in keys {
                assert_eq!(arm.pointer(&format!("/{key}")), Some(&Value::Null), "{without}: {key} in {arm}");
            }
            // A table has no columns for these.
            assert_eq!(arm["exposure"], Value::Null, "{arm}");
            if without != "input_tokens" && without != "output_tokens" {
                assert_eq!(arm["token_counts"]["cache_read"], Value::Null, "{arm}");
            }
        }
        let shown = lab.assay(&["report", "t", "--details"]).ok().stdout;
        if let Some(heading) = heading {
            let lines: Vec<&str> = shown.lines().collect();
            let at = lines
                .iter()
                .position(|line| line.contains("valid trials") && line.contains(heading))
                .unwrap();
            let column = lines[at].find(heading).unwrap() + heading.len();
            let cell =
                |line: &str| line.get(..column).and_then(|start| start.split("  ").last().map(str::to_owned));
            for line in &lines[at + 1..at + 3] {
                assert_eq!(
                    cell(line).as_deref().map(str::trim),
                    Some("unknown"),
                    "{without}: {line}\n{shown}"
                );
            }
        }
        assert!(!shown.contains("1970") && !shown.contains("turns 0"), "{shown}");
        lab.assay(&["export", "data", "t", "--as", "csv", "--out", "data"]).ok();
        let csv = std::fs::read_to_string(lab.path("data/trials.csv")).unwrap();
        let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        for line in csv.lines().skip(1) {
            for name in exported.iter().chain(&["opened"]) {
                let place = heads.iter().position(|head| head == name).unwrap();
                assert_eq!(line.split(',').nth(place), Some(""), "{without}: {name} in {line}");
            }
        }
        let record = &lab.records_of("unknown")[0];
        let time = if without == "started" { Value::Null } else { record["started_at"].clone() };
        assert_eq!((&record["exposure"], &record["started_at"]), (&Value::Null, &time), "{record}");
        let id = record["trial"].as_str().unwrap();
        let trial = lab.assay(&["show", id]).ok().stdout;
        assert!(trial.contains("skills: unknown"), "{trial}");
        assert!(without != "turns" || trial.contains("turns unknown"), "{trial}");
    };
    check("input_tokens", &["tokens", "token_counts"], Some("tokens"), &["input_tokens"]);
    check("output_tokens", &["tokens", "token_counts"], Some("tokens"), &["output_tokens"]);
    check("cost_usd", &["cost_usd"], Some("cost"), &["cost_usd"]);
    check("seconds", &["seconds"], Some("time"), &["seconds"]);
    check("turns", &["turns"], Some("turns"), &["turns"]);
    check("started", &[], None, &[]);
}
