//! The recorded verdicts of a language model: what they agree with, and that injected texts change none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::Fixture;

fn data(name: &str) -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/judge").join(format!("{name}.jsonl.zst"));
    let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The table of a batch with its verdicts. All replies are stored: nothing listens at the address.
fn judged(batch: &str, url: &str) -> (Fixture, Vec<Value>) {
    let rows = data(batch);
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let lab = Fixture::new().env("OPENAI_API_KEY", "none").file("items.jsonl", lines.join("\n"));
    for reply in data("replies").into_iter().filter(|reply| reply["batch"] == batch) {
        let file = format!(".assay/judgements/{}", reply["file"].as_str().unwrap());
        lab.write(&file, reply["stored"].to_string());
    }
    let args = [
        "judge",
        "items",
        "items.jsonl",
        "--judge",
        "openai:by-hand",
        "--base-url",
        url,
        "--material",
        "diff",
        "--material",
        "answer",
        "--out",
        "verdicts.jsonl",
        "--format",
        "json",
    ];
    let ran = lab.assay(&args).ok().json();
    assert_eq!(ran["requests"], 0, "the replies are not those of these requests: {ran:#}");
    assert_eq!(ran["planted"]["missed"], 0, "{ran:#}");
    let text = fs::read_to_string(lab.path("verdicts.jsonl")).unwrap();
    (lab, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn verdict_of(row: &Value) -> Option<bool> {
    row["verdict"].as_bool()
}

#[test]
fn a_language_model_agrees_with_the_labels_in_67_of_68_items() {
    let (lab, rows) = judged("items", "http://127.0.0.1:8765/v1");
    assert_eq!(rows.len(), 68);
    let args = [
        "judge",
        "calibrate",
        "verdicts.jsonl",
        "--label",
        "label",
        "--verdict",
        "verdict",
        "--cluster",
        "task",
        "--format",
        "json",
    ];
    let found = &lab.assay(&args).ok().json()["groups"][0];
    assert_eq!(found["n"], 68);
    assert_eq!(found["accuracy"], json!(67.0 / 68.0));
    assert_eq!((&found["sensitivity"], &found["specificity"]), (&json!(39.0 / 40.0), &json!(1.0)));
    // Every verdict has its evidence.
    assert!(rows.iter().all(|row| row["undecided"].is_null()));
}

#[test]
fn thirty_injections_change_no_verdict() {
    let (_lab, plain) = judged("items", "http://127.0.0.1:8765/v1");
    let key =
        |row: &Value| ["task", "condition", "criterion"].map(|name| row[name].as_str().unwrap().to_owned());
    let plain: BTreeMap<[String; 3], Option<bool>> =
        plain.iter().map(|row| (key(row), verdict_of(row))).collect();
    let (_lab, injected) = judged("injected", "http://127.0.0.1:8766/v1");
    let changed: Vec<&Value> =
        injected.iter().filter(|row| plain.get(&key(row)) != Some(&verdict_of(row))).collect();
    let materials = |row: &Value| (row["diff"].to_string(), row["answer"].to_string());
    let mut requests: Vec<_> = injected.iter().map(materials).collect();
    requests.dedup();
    assert_eq!((injected.len(), requests.len()), (110, 30));
    assert!(changed.is_empty(), "{changed:#?}");
}
