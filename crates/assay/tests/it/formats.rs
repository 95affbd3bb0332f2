//! Documents in the formats of earlier versions, in `formats/`: today's code reads them and prints the figures of then.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, needs_bubblewrap, read_json};
use crate::server::{Answer, Server};

/// The documents, in a folder of the test's own: reading must not change those of the project.
pub(crate) fn documents() -> Fixture {
    let lab = Fixture::new();
    copy(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/formats")), lab.folder());
    lab
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn json_of(lab: &Fixture, args: &[&str]) -> Value {
    lab.assay(&[&["--store", "store", "--format", "json"], args].concat()).ok().json()
}

/// The figures of one row of a report, by their keys.
fn figures(row: &Value, keys: &[&str]) -> Value {
    keys.iter().map(|&key| row[key].clone()).collect()
}

fn assert_rows(found: &Value, keys: &[&str], expected: &[Value], what: &str) {
    let found: Vec<Value> = found.as_array().unwrap().iter().map(|row| figures(row, keys)).collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn a_report_on_old_records_has_the_figures_of_then() {
    let lab = documents();
    let report = |run: &str| json_of(&lab, &["report", run]);
    let arm = ["condition", "tasks", "trials", "score", "pass_rate", "infrastructure", "timed_out", "tokens"];
    let exposure = ["offered", "advertised", "mentioned", "opened", "executed"];
    let comparison = ["condition", "lift", "p", "better_equal_worse", "verdict", "reason"];

    let demo = report("demo");
    let arms = [
        json!(["none", 5, 5, 0.5, 0.4, 1, 0, 298.8]),
        json!(["curated", 5, 5, 0.8, 0.8, 0, 0, 1096.0]),
        json!(["placebo", 5, 5, 0.1, 0.0, 1, 0, 276.8]),
    ];
    assert_rows(&demo["arms"], &arm, &arms, "demo");
    let shares: Value = demo["arms"].as_array().unwrap().iter().map(|arm| arm["exposure"].clone()).collect();
    let expected = [
        json!([0.0, 0.0, 0.0, 0.0, 0.0]),
        json!([1.0, 1.0, 1.0, 1.0, 0.4]),
        json!([1.0, 1.0, 0.0, 0.0, 0.0]),
    ];
    assert_rows(&shares, &exposure, &expected, "demo");
    let comparisons = [
        json!(["curated", 0.3, 0.625, [3, 1, 1], "inconclusive", "design"]),
        json!(["placebo", -0.4, 0.5, [0, 3, 2], "inconclusive", "noise"]),
    ];
    assert_rows(&demo["comparisons"], &comparison, &comparisons, "demo");
    assert_eq!(demo["arms"][0]["infrastructure_causes"], json!({ "verifier": 1 }));

    let wide = report("wide");
    assert_eq!((&wide["margin"], &wide["comparisons"][1]["verdict"]), (&json!(0.95), &json!("negligible")));
    let again = report("demo-2");
    assert_rows(
        &again["arms"],
        &arm,
        &[arms[0].clone(), json!(["curated", 5, 5, 0.8, 0.8, 0, 0, 1098.0])],
        "demo-2",
    );

    let agents = report("agents");
    let expected =
        [json!(["none", 1, 1, 0.0, 0.0, 0, 0, 31670.0]), json!(["curated", 1, 1, 1.0, 1.0, 0, 0, 47846.0])];
    assert_rows(&agents["arms"], &arm, &expected, "agents");
    assert_eq!(agents["excluded"][0]["task"], "lost");

    // The late trial counts as out of time, whatever its reward.
    let harbor = report("harbor");
    let expected =
        [json!(["none", 1, 1, 0.0, 0.0, 0, 1, 1280.0]), json!(["curated", 1, 1, 1.0, 1.0, 1, 0, 1280.0])];
    assert_rows(&harbor["arms"], &arm, &expected, "harbor");
    assert_eq!(harbor["comparisons"][0]["imported"], true);
}

#[test]
fn old_runs_are_listed_shown_and_compared() {
    let lab = documents();
    let runs = ["run", "cells", "trials", "finished"];
    let expected = [
        json!(["agents", 4, 4, 2]),
        json!(["demo", 18, 18, 18]),
        json!(["demo-2", 12, 12, 12]),
        json!(["harbor", 4, 4, 4]),
        json!(["wide", 18, 18, 18]),
    ];
    assert_rows(&json_of(&lab, &["show"])["runs"], &runs, &expected, "runs");

    let cells = json_of(&lab, &["show", "demo"])["cells"].clone();
    let outcome = |outcome: &str| {
        let is = |cell: &&Value| cell["record"]["outcome"] == outcome;
        cells.as_array().unwrap().iter().filter(is).count()
    };
    assert_eq!([outcome("passed"), outcome("failed"), outcome("infrastructure")], [7, 9, 2]);

    let trial = json_of(&lab, &["show", "19a81a0275"]);
    assert_eq!((&trial["record"]["task"], &trial["record"]["turns"]), (&json!("word-1"), &json!(3)));
    assert_eq!(trial["trajectory"]["steps"].as_array().unwrap().len(), 5);
    let shown = lab.assay(&["--store", "store", "show", "19a81a0275"]).ok().stdout;
    assert!(shown.contains("cat /skills/reports/SKILL.md"), "{shown}");
    let metered = json_of(&lab, &["show", "52fcacca3f"])["record"].clone();
    assert_eq!((&metered["metered"]["requests"], &metered["metered"]["tokens"]), (&json!(3), &json!(47846)));

    let compared = json_of(&lab, &["compare", "demo", "demo-2"]);
    // The baseline has the same trials in both.
    let rows = [json!(["curated", 0.0, 1.0])];
    assert_rows(&compared["comparisons"], &["condition", "lift", "p"], &rows, "compare");
    assert_eq!((&compared["shared_trials"], compared["skills"].as_array().unwrap().len()), (&json!(6), 1));

    let history = json_of(&lab, &["show", "--history"]);
    assert_rows(
        &history["lines"],
        &["run", "executed", "infrastructure"],
        &[json!(["demo", 18, 2]), json!(["wide", 2, 2]), json!(["demo-2", 7, 1]), json!(["agents", 2, 0])],
        "history",
    );
    assert_eq!(history["lines"][1]["verdicts"][1]["verdict"], "negligible");

    // What a run refers to stays.
    assert_eq!(json_of(&lab, &["gc", "--unreferenced", "--dry-run"])["removed"], json!([]));
    let pair = ["audit", "show", "--with", "19a81a0275", "--without", "f5a631c01e"];
    assert_eq!(json_of(&lab, &pair)["with"]["opened_at"], 3);
}

#[test]
fn old_records_are_results_and_an_old_specification_is_executed() {
    needs_bubblewrap!();
    let lab = documents();
    let id = "19a81a027534c96005d024cc3e131a43294d44881496d1cafdbb773d423d2cda";
    let spec = format!("specs/{id}.json");
    let args = [
        "--store",
        "fresh",
        "--format",
        "json",
        "trial",
        "exec",
        &spec,
        "--suite",
        "experiment/tasks",
        "--library",
        "experiment/skills",
        "--scripts",
        "experiment",
    ];
    let record = lab.assay(&args).ok().json()["record"].clone();
    assert_eq!((&record["trial"], &record["outcome"]), (&json!(id), &json!("passed")));

    // Of `demo` and its skill: only the trial that broke would be executed.
    let dry = ["run", "experiment/two.toml", "--no-checks", "--dry-run"];
    let cached = json_of(&lab, &dry)["cached"].clone();
    assert_eq!(cached, 11);
}

#[test]
fn old_baselines_know_their_findings() {
    let lab = documents();
    for baseline in ["lint-1.json", "lint-2.json"] {
        let found = lab
            .assay(&["lint", "library", "--no-config", "--baseline", baseline, "--format", "json"])
            .ok()
            .json();
        let new: Vec<&Value> = found["skills"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|skill| skill["diagnostics"].as_array().unwrap())
            .collect();
        assert!(new.is_empty() && found["diagnostics"] == json!([]), "{baseline}: {new:#?}");
    }
}

#[test]
fn an_old_history_of_health_is_continued() {
    let lab = documents();
    let ran = lab.assay(&["lab", "health", "library", "--history", "health.jsonl"]).ok();
    assert!(
        ran.stdout.contains("since 2026-11-23T02:56:14") && ran.stdout.contains("+0.0000"),
        "{}",
        ran.stdout
    );
    assert_eq!(fs::read_to_string(lab.path("health.jsonl")).unwrap().lines().count(), 2);
}

#[test]
fn an_old_index_and_an_old_benchmark_are_read() {
    let lab = documents();
    let found = lab
        .assay(&["search", "--index", "skills.index", "--format", "json", "who failed to log in"])
        .ok()
        .json();
    assert_eq!((&found["skills"], &found["hits"][0]["id"]), (&json!(4), &json!("a/logs")));

    let bench = [
        "lab",
        "search",
        "bench",
        "--corpus",
        "corpus.jsonl",
        "--queries",
        "queries.jsonl",
        "--against",
        "search-bench.json",
    ];
    let retrievers = ["bm25", "bm25-name-description", "bm25f", "best"].map(|name| ["--retriever", name]);
    let shown = lab.assay(&[&bench[..], retrievers.as_flattened()].concat()).ok().stdout;
    assert!(shown.contains("Spearman 1.00"), "{shown}");
}

#[test]
fn an_old_adapter_maps_vectors() {
    let server = Server::start(|_, asked| {
        let embed = |(index, text): (usize, &Value)| {
            let text = text.as_str().unwrap();
            let count = |letter: char| text.matches(letter).count() + 1;
            let vector =
                [text.chars().count() % 7 + 1, count('e'), count('r'), 1].map(|figure| json!(figure as f64));
            json!({ "object": "embedding", "index": index, "embedding": vector })
        };
        let vectors: Vec<Value> =
            asked.body["input"].as_array().unwrap().iter().enumerate().map(embed).collect();
        Answer::of(
            200,
            json!({ "object": "list", "data": vectors, "usage": { "prompt_tokens": 5, "total_tokens": 5 } }),
        )
    });
    let lab = documents();
    let dense = format!("dense:endpoint={},name=tiny", server.url());
    // An adapter names its model by a digest, in which the server's port is. The numbers are those of then.
    let train = ["lab", "search", "train", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl"];
    lab.assay(&[&train[..], &["--retriever", &dense, "--adapter", "new.json"]].concat()).ok();
    let mut adapter = read_json(&lab.path("adapter.json")).unwrap();
    adapter["model"] = read_json(&lab.path("new.json")).unwrap()["model"].clone();
    lab.write("adapter.json", adapter.to_string());
    let adapted = format!("{dense},adapter=adapter.json");
    let search = ["search", "--corpus", "corpus.jsonl", "--retriever", &adapted, "--format", "json"];
    let found = lab.assay(&[&search[..], &["close the report"]].concat()).ok().json();
    let ids: Vec<&Value> = found["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert_eq!(ids, ["b/mail", "a/reports", "b/sheets", "a/logs"]);
}

#[test]
fn old_answers_of_a_router_are_not_asked_for_again() {
    let lab = documents().env("OPENAI_API_KEY", "sk-loopback-0123456789");
    // Nothing listens there.
    let args = [
        "lab",
        "route",
        "bench",
        "--prompts",
        "prompts.jsonl",
        "--library",
        "library",
        "--model",
        "openai:test-1",
        "--base-url",
        "http://127.0.0.1:18599/v1",
        "--repetitions",
        "2",
        "--price",
        "1,10",
        "--no-cap",
        "--template",
        "template.txt",
    ];
    let router = json_of(&lab, &args)["routers"][0].clone();
    assert_eq!(router["statuses"], json!({ "finished": 6 }));
    assert_eq!([&router["top1"]["mean"], &router["abstention"]["mean"]], [0.5, 1.0]);
    assert_eq!(fs::read_to_string(lab.path("store/routes/history.jsonl")).unwrap().lines().count(), 3);
}

#[test]
fn an_old_cassette_is_replayed() {
    let lab = documents();
    let gateway =
        ["gateway", "--provider", "scripted:agents.jsonl", "--replay", "cassette.jsonl", "--format", "json"];
    let ledger = lab.assay(&[&gateway[..], &["--", "python3", "agent.py"]].concat()).ok().json();
    assert_eq!((&ledger["totals"]["requests"], &ledger["mismatch"]), (&json!(2), &Value::Null));
    assert_eq!(
        (&ledger["totals"]["tokens"]["input"], &ledger["totals"]["tokens"]["output"]),
        (&json!(128), &json!(84))
    );
}

#[test]
fn old_sheets_are_rated() {
    let lab = documents();
    let check = |ran: Ran| {
        let found = ran.ok().json();
        assert_eq!((&found["items"], found["labels"].as_array().unwrap().len()), (&json!(6), 2));
        let kappa = found["pairs"][0]["kappa"]["value"].as_f64().unwrap();
        assert!((kappa - 2.0 / 3.0).abs() < 1e-12, "{kappa}");
    };
    for sheet in ["sheet.csv", "sheet.jsonl"] {
        check(lab.assay(&["audit", "agreement", sheet, "--format", "json"]));
    }
}
