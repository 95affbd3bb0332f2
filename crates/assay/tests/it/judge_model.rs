//! The recorded verdicts of a language model: what they agree with, and that injected texts change none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::server::{Answer, Server};

fn data(name: &str) -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/judge").join(format!("{name}.jsonl.zst"));
    let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a request asks, without what delimits its parts: the task with the requirements, and the material.
fn subject(request: &str) -> (String, String) {
    let (question, rest) =
        request.split_once("\n\nThe material is all that stands between the lines").unwrap();
    let (mark, rest) = rest.split_once("\nMATERIAL ").unwrap().1.split_once('\n').unwrap();
    let (material, _) = rest.rsplit_once(&format!("END OF MATERIAL {mark}")).unwrap();
    // Since protocol 2, a line with the mark begins a part.
    let begins_part = |line: &str| line.starts_with("--- ") && line.trim_end().ends_with(&format!(" {mark}"));
    let material = material.split_inclusive('\n').filter(|line| !begins_part(line));
    (question.to_owned(), material.collect())
}

/// The table of a batch with its verdicts. The replies were recorded under protocol 1: each answers the request with
/// the same task, requirements and material. What was two parts then is one now, so that a quotation need not name it.
fn judged(batch: &'static str) -> (Fixture, Vec<Value>) {
    let rows = data(batch);
    let lines: Vec<String> = rows
        .into_iter()
        .map(|mut row| {
            let [diff, answer] = ["diff", "answer"].map(|name| row[name].as_str().unwrap().to_owned());
            row["left"] = json!(format!("--- diff\n{diff}\n--- answer\n{answer}"));
            row.to_string()
        })
        .collect();
    let recorded = data("replies").into_iter().filter(|reply| reply["batch"] == batch);
    let replies: BTreeMap<(String, String), String> = recorded
        .map(|reply| {
            let text = |name: &str| reply["stored"][name].as_str().unwrap().to_owned();
            (subject(&text("request")), text("reply"))
        })
        .collect();
    let expected = replies.len();
    let server = Server::start(move |_, request| {
        let messages = request.body["messages"].as_array().unwrap();
        let asked = messages.iter().find(|message| message["role"] == "user").unwrap();
        match replies.get(&subject(asked["content"].as_str().unwrap())) {
            Some(reply) => Answer::done(reply),
            None => Answer::of(400, json!({"error": {"message": "no reply to this was recorded"}})),
        }
    });
    let lab = Fixture::new().env("OPENAI_API_KEY", "none").file("items.jsonl", lines.join("\n"));
    let url = server.url();
    let args = [
        "judge",
        "items",
        "items.jsonl",
        "--judge",
        "openai:by-hand",
        "--base-url",
        &url,
        "--material",
        "left",
        "--out",
        "verdicts.jsonl",
        "--format",
        "json",
    ];
    let ran = lab.assay(&args).ok().json();
    assert_eq!(ran["requests"], json!(expected), "{ran:#}");
    assert_eq!(ran["planted"]["missed"], 0, "{ran:#}");
    let text = fs::read_to_string(lab.path("verdicts.jsonl")).unwrap();
    (lab, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn verdict_of(row: &Value) -> Option<bool> {
    row["verdict"].as_bool()
}

#[test]
fn a_language_model_agrees_with_the_labels_in_67_of_68_items() {
    let (lab, rows) = judged("items");
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
    let (_lab, plain) = judged("items");
    let key =
        |row: &Value| ["task", "condition", "criterion"].map(|name| row[name].as_str().unwrap().to_owned());
    let plain: BTreeMap<[String; 3], Option<bool>> =
        plain.iter().map(|row| (key(row), verdict_of(row))).collect();
    let (_lab, injected) = judged("injected");
    let changed: Vec<&Value> =
        injected.iter().filter(|row| plain.get(&key(row)) != Some(&verdict_of(row))).collect();
    let materials = |row: &Value| (row["diff"].to_string(), row["answer"].to_string());
    let mut requests: Vec<_> = injected.iter().map(materials).collect();
    requests.dedup();
    assert_eq!((injected.len(), requests.len()), (110, 30));
    assert!(changed.is_empty(), "{changed:#?}");
}
