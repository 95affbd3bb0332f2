//! `assay export data`: what is in the tables, and that the queries of docs/EXPORT.md give the report's figures.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use assay_store::{Exclusion, Record, RunFolder, Store, TrialId};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// A task whose name has what tables must quote.
const ODD: &str = "odd, \"näme\"\nhere";

/// Tasks, and what came of them under `before` and `with`: a reward, or `None` for an infrastructure error.
const RESULTS: &[(&str, [&[Option<f64>]; 2])] = &[
    ("a", [&[Some(0.0), Some(0.4)], &[Some(1.0), Some(1.0)]]),
    (ODD, [&[Some(1.0), None], &[Some(1.0), Some(0.25)]]),
    ("lost", [&[None, None], &[Some(1.0), Some(1.0)]]),
    ("control", [&[Some(1.0), Some(1.0)], &[Some(0.0), Some(0.0)]]),
    ("ungradable", [&[Some(1.0), Some(1.0)], &[Some(0.0), Some(0.0)]]),
    ("d", [&[Some(0.0), Some(0.0)], &[Some(0.0), Some(1.0)]]),
    ("e", [&[Some(1.0), Some(0.5)], &[Some(0.5), Some(0.0)]]),
];

fn lab() -> Fixture {
    let lab = Fixture::new();
    let store = store(&lab);
    let label = json!({ "name": "scripted", "version": "1", "model": null });
    let mut cells = Vec::new();
    for (task, arms) in RESULTS {
        for (condition, rewards) in ["before", "with"].iter().zip(arms) {
            for (index, reward) in rewards.iter().enumerate() {
                let id = TrialId::of(&json!([task, condition, index]));
                cells.push(json!({ "task": task, "agent": 0, "sandbox": "none", "condition": condition,
                    "repetition": index + 1, "trial": id }));
                let outcome = match reward {
                    None => "infrastructure",
                    Some(reward) if *reward < 1.0 => "failed",
                    Some(_) => "passed",
                };
                let seconds =
                    json!({ "prepare": 0.0, "agent": 2.5, "throttled": 0.0, "verify": 0.0, "total": 9.0 });
                let mut record = json!({ "schema": Record::SCHEMA, "trial": id, "task": task, "agent": label,
                    "sandbox": "none", "condition": condition, "repetition": index + 1, "outcome": outcome,
                    "reward": reward, "turns": 3, "usage": null, "cost_usd": null, "seconds": seconds,
                    "exposure": [], "measures_a_model": false, "attempt": 1,
                    "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:01:00Z" });
                if *condition == "with" {
                    record["usage"] = json!({ "input": 5, "output": 7, "cache_read": 10, "cache_write": 20 });
                    record["numbers"] = json!({ "Score": 9.5, "lines": 4.0 });
                    record["ctrf"] = json!({ "tests": [{ "name": "x, y", "status": "failed" }] });
                    record["exposure"] = json!([{ "skill": "s", "offered": true, "advertised": 0,
                        "mentioned": 2, "opened": 3, "executed": null, "body_lines": 1,
                        "body_lines_delivered": 1 }]);
                }
                let folder = store.trial_folder(&id);
                fs::create_dir_all(folder.join("attempts/1")).unwrap();
                if (*task, *condition, index) == ("a", "with", 0) {
                    record["steps"] = json!([
                        { "name": "plan", "outcome": "passed", "score": 1.0, "reward": 1.0, "turns": 2,
                          "usage": null, "cost_usd": 0.5, "seconds": seconds },
                        { "name": "write", "outcome": null, "score": null, "reward": null, "turns": 0,
                          "usage": null, "cost_usd": null, "seconds": { "prepare": 0.0, "agent": 0.0,
                              "throttled": 0.0, "verify": 0.0, "total": 0.0 } },
                    ]);
                    let call =
                        |id: &str| json!({ "tool_call_id": id, "function_name": "bash", "arguments": {} });
                    let trajectory = json!({ "schema_version": "ATIF-v1.7", "session_id": "s",
                        "agent": { "name": "scripted", "version": "1" },
                        "steps": [
                            { "step_id": 1, "source": "user", "message": "Gr\u{fc}\u{df}e" },
                            { "step_id": 2, "timestamp": "2026-01-01T00:00:01Z", "source": "agent", "message": "",
                              "tool_calls": [call("c1"), call("c2")],
                              "observation": { "results": [
                                  { "source_call_id": "c1", "content": "no", "extra": { "exit_code": 1 } },
                                  { "source_call_id": "c2", "content": "yes", "extra": { "exit_code": 0 } } ] },
                              "metrics": { "prompt_tokens": 100, "completion_tokens": 9 } },
                        ] });
                    fs::write(folder.join("attempts/1/trajectory.json"), trajectory.to_string()).unwrap();
                }
                fs::write(folder.join("record.json"), record.to_string()).unwrap();
            }
        }
    }
    let tasks: Vec<Value> = RESULTS
        .iter()
        .map(|(task, _)| json!({ "name": task, "digest": "x", "negative_control": *task == "control" }))
        .collect();
    let plan = json!({ "schema": RunFolder::SCHEMA, "run": "lab", "plan": "", "margin": 0.1, "seed": 1,
        "repetitions": 2, "conditions": ["before", "with"], "disclosure": "offered", "imported": "harbor",
        "agents": [{ "label": label, "measures_a_model": false }], "tasks": tasks, "cells": cells,
        "excluded": [], "equal_conditions": [],
        "provisions": [{ "task": "a", "condition": "with",
            "skills": [{ "name": "s", "digest": "d1", "body_tokens": 1 }, { "name": "t", "digest": "d2", "body_tokens": 1 }] }] });
    let mut plan: RunFolder = serde_json::from_value(plan).unwrap();
    plan.seal();
    store.begin_run(plan, "lab", ("source", b"")).unwrap();
    let reason = "the oracle fails".to_owned();
    let failed = Exclusion { task: "ungradable".into(), condition: None, reason };
    store.save_failed_checks("lab", &[failed]).unwrap();
    lab
}

fn store(lab: &Fixture) -> Store {
    Store::open(&lab.path(".assay")).unwrap()
}

/// The rows of a table in JSON Lines.
fn rows(lab: &Fixture, table: &str) -> Vec<Value> {
    let text = fs::read_to_string(lab.path(&format!("tables/{table}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const JSONL: &[&str] = &["export", "data", "--as", "jsonl", "--out", "tables"];

#[test]
fn each_planned_trial_with_a_record_is_a_row() {
    let lab = lab();
    let printed = lab.assay(JSONL).ok().stdout;
    assert!(printed.contains("tables/trials.jsonl: 28 rows\n"), "{printed}");
    let trials = rows(&lab, "trials");
    let find = |task: &str, condition: &str, repetition: u64| {
        let is = |row: &&Value| {
            row["task"] == task && row["condition"] == condition && row["repetition"] == repetition
        };
        trials.iter().find(is).unwrap().clone()
    };
    assert_eq!(
        find("a", "with", 2),
        json!({ "run": "lab", "trial": TrialId::of(&json!(["a", "with", 1])), "task": "a", "condition": "with",
            "baseline": false, "agent": "scripted", "model": null, "sandbox": "none", "repetition": 2, "outcome": "passed", "score": 1.0,
            "input_tokens": 35, "output_tokens": 7, "cost_usd": null, "seconds": 2.5, "turns": 3,
            "opened": true, "skill_digests": "d1 d2", "role": null, "primary": false,
            "task_cluster": null, "task_control": false, "task_excluded": false, "margin": 0.1, "seed": 1, "rounds": null,
            "first_tasks": null, "more_tasks": null, "second_stage": false,
            "outcome_rule": null,
            "numbers.Score": 9.5, "lines": 4.0 })
    );
    let lost = find(ODD, "before", 2);
    assert_eq!((&lost["outcome"], &lost["score"]), (&json!("infrastructure"), &Value::Null));
    for unknown in ["input_tokens", "opened", "skill_digests", "lines"] {
        assert_eq!(lost.get(unknown), Some(&Value::Null), "{unknown}");
    }
    assert_eq!(rows(&lab, "checks").len(), 14);
    assert_eq!(rows(&lab, "checks")[0]["name"], "x, y");
    assert_eq!(rows(&lab, "exposure")[0]["opened"], 3);
    let trial = TrialId::of(&json!(["a", "with", 0]));
    assert_eq!(
        rows(&lab, "steps"),
        [
            json!({ "run": "lab", "trial": trial, "step": 1, "time": null, "source": "user", "characters": 5,
                "tools": null, "errors": 0, "input_tokens": null, "output_tokens": null, "cost_usd": null }),
            json!({ "run": "lab", "trial": trial, "step": 2, "time": "2026-01-01T00:00:01Z", "source": "agent",
                "characters": 0, "tools": "bash bash", "errors": 1, "input_tokens": 100, "output_tokens": 9,
                "cost_usd": null }),
        ]
    );
    assert_eq!(
        rows(&lab, "task_steps"),
        [
            json!({ "run": "lab", "trial": trial, "number": 1, "name": "plan", "outcome": "passed", "score": 1.0,
                "input_tokens": null, "output_tokens": null, "cost_usd": 0.5, "seconds": 2.5, "turns": 2 }),
            json!({ "run": "lab", "trial": trial, "number": 2, "name": "write", "outcome": null, "score": null,
                "input_tokens": null, "output_tokens": null, "cost_usd": null, "seconds": null, "turns": null }),
        ]
    );
    let tasks = rows(&lab, "tasks");
    let with = |key: &str| {
        tasks.iter().filter(|row| row[key] == true).map(|row| row["task"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (with("negative_control"), with("excluded")),
        (vec![json!("control")], vec![json!("ungradable")])
    );
}

#[test]
fn nothing_is_overwritten_and_unknown_runs_are_named() {
    let lab = lab();
    let unknown = lab.assay(&["export", "data", "nope", "--as", "csv", "--out", "tables"]).ended(2).stderr;
    assert!(unknown.contains("no run \"nope\""), "{unknown}");
    assert!(!lab.path("tables").exists());
    lab.write("tables/checks.jsonl", "mine");
    let refused = lab.assay(JSONL).ended(2).stderr;
    assert!(refused.contains("tables/checks.jsonl exists") && refused.contains("--force"), "{refused}");
    assert_eq!(fs::read_dir(lab.path("tables")).unwrap().count(), 1);
    lab.assay(&[JSONL, &["--force"]].concat()).ok();
    assert_eq!(rows(&lab, "checks").len(), 14);
}

#[test]
fn a_damaged_record_is_listed_and_the_others_are_exported() {
    let lab = lab();
    let id = TrialId::of(&json!(["a", "before", 0]));
    fs::write(store(&lab).trial_folder(&id).join("record.json"), "{").unwrap();
    let document = lab.assay(&[JSONL, &["--format", "json"]].concat()).ended(1).json();
    assert_eq!(document["tables"][0]["rows"], 27);
    let skipped = document["skipped"].as_array().unwrap();
    assert!(
        skipped.len() == 1 && skipped[0].as_str().unwrap().contains("record.json is damaged"),
        "{document:#}"
    );
}

/// The code blocks of a language in docs/EXPORT.md.
fn blocks(language: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/EXPORT.md");
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

/// Runs a Python program in the lab, and reads what it prints last as JSON.
fn python(lab: &Fixture, program: &str) -> Value {
    let python: PathBuf = assay_test::duckdb_python();
    let ran = Command::new(python).args(["-c", program]).current_dir(lab.folder()).output().unwrap();
    assert!(ran.status.success(), "{program}\n{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

#[test]
#[ignore = "needs DuckDB"]
fn the_queries_of_the_documentation_give_the_figures_of_the_report() {
    let lab = lab();
    lab.assay(&["export", "data", "lab", "--as", "csv", "--out", "tables"]).ok();
    let report = lab.assay(&["report", "lab", "--format", "json"]).ok().json();
    // By hand: tasks a, odd, d and e count. Scores under `before`: .2, 1, 0, .75; under `with`: 1, .625, .5, .25.
    let near = |found: &Value, expected: f64| (found.as_f64().unwrap() - expected).abs() < 1e-12;
    assert!(near(&report["comparisons"][0]["lift"], (2.375 - 1.95) / 4.0), "{report:#}");
    let sql = format!(
        "import duckdb, json\nresult = duckdb.sql('''{}''').df()\n\
         print(json.dumps(result.to_dict('records'), default=str))",
        blocks("sql")[0]
    );
    let python_blocks = blocks("python");
    let [polars, pandas] = &python_blocks[..] else { panic!("{python_blocks:?}") };
    let polars = format!("{polars}\nimport json; print(json.dumps(result.to_dicts()))");
    let pandas = format!("{pandas}\nimport json; print(json.dumps(result.to_dict('records')))");
    for program in [sql, polars, pandas] {
        let rows = python(&lab, &program);
        assert_eq!(rows.as_array().unwrap().len(), 2, "{program}\n{rows:#}");
        for (row, arm) in rows.as_array().unwrap().iter().zip(report["arms"].as_array().unwrap()) {
            for key in ["condition", "tasks"] {
                assert_eq!(row[key], arm[key], "{program}\n{rows:#}");
            }
            for key in ["pass_rate", "score"] {
                assert!(near(&row[key], arm[key].as_f64().unwrap()), "{key}: {program}\n{rows:#}");
            }
        }
        assert!(near(&rows[0]["lift"], 0.0), "{rows:#}");
        assert!(near(&rows[1]["lift"], report["comparisons"][0]["lift"].as_f64().unwrap()), "{rows:#}");
    }
}
