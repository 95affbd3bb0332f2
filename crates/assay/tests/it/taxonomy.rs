//! `assay lab taxonomy`: from a corpus to categories, with a server in place of a model.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, read_json};
use crate::server::{Answer, Request, Server};

const KINDS: [(&str, &str); 3] = [("ledger", "finance"), ("chart", "design"), ("deploy", "operations")];

/// Eight skills of each of three kinds.
fn lab() -> Fixture {
    let record = |kind: &str, at: usize| {
        let text =
            format!("---\nname: {kind}-{at}\ndescription: Does {kind}.\n---\nAbout {kind} number {at}.\n");
        json!({"id": format!("{kind}-{at}"), "name": format!("{kind}-{at}"), "description": format!("Does {kind}."), "skill_md": text}).to_string()
    };
    let lines: Vec<String> =
        KINDS.iter().flat_map(|(kind, _)| (0..8).map(move |at| record(kind, at))).collect();
    Fixture::new().env("OPENAI_API_KEY", "k").file("corpus.jsonl", lines.join("\n"))
}

/// The numbers of a request's skills, with their kinds.
fn numbered(text: &str) -> Vec<(usize, &'static str)> {
    let part = text.split("\nSKILLS ").nth(1).unwrap();
    let skills = part.split("\n--- ").skip(1);
    skills
        .map(|skill| {
            let number = skill.split(' ').next().unwrap().parse().unwrap();
            let kind = KINDS.iter().find(|(kind, _)| skill.contains(&format!("name: {kind}-"))).unwrap();
            (number, kind.0)
        })
        .collect()
}

fn text_of(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.iter().rfind(|message| message["role"] == "user").unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Tags by kind; votes for the category with the kind's tag, but one of five for none.
fn model(request: &Request) -> Answer {
    let text = text_of(request);
    let entries: Vec<Value> = if text.starts_with("Tag the skills") {
        numbered(&text)
            .into_iter()
            .map(|(number, kind)| {
                let domain = KINDS.iter().find(|(own, _)| *own == kind).unwrap().1;
                json!({"number": number, "domain": [domain], "activity": ["Writing Down"], "artifact": [kind]})
            })
            .collect()
    } else {
        let system = request.body["messages"][0]["content"].as_str().unwrap();
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("- ")?.split(" (tags").next()).collect();
        numbered(&text)
            .into_iter()
            .map(|(number, kind)| {
                let own = names.iter().find(|name| name.contains(kind)).unwrap();
                let vote = if system.contains("vote 5") { "none" } else { own };
                json!({"number": number, "category": vote})
            })
            .collect()
    };
    Answer::done(&json!({ "skills": entries }).to_string())
}

#[test]
fn a_corpus_gets_categories_whose_accuracy_people_measure() {
    let server = Server::start(|_, request| model(request));
    let lab = lab();
    let url = server.url();
    let ask = ["--model", "openai:gpt-5", "--base-url", &url];
    let discover = ["lab", "taxonomy", "discover", "corpus.jsonl", "--out", "tags.jsonl", "--format", "json"];
    let found = lab.assay(&[&discover[..], &ask].concat()).ok().json();
    assert_eq!((&found["skills"], &found["requests"]), (&json!(24), &json!(2)), "{found:#}");
    let again = lab.assay(&[&discover[..], &ask].concat()).ok().json();
    assert_eq!((&again["requests"], &again["cached"]), (&json!(0), &json!(2)));
    let first: Value =
        serde_json::from_str(fs::read_to_string(lab.path("tags.jsonl")).unwrap().lines().next().unwrap())
            .unwrap();
    assert_eq!(first["tags"]["activity"], json!(["writing-down"]));

    let printed =
        lab.assay(&["lab", "taxonomy", "cluster", "tags.jsonl", "--out", "taxonomy.json"]).ok().stdout;
    assert!(printed.contains("3 categories of 24 skills; 0 in none"), "{printed}");
    let taxonomy = read_json(&lab.path("taxonomy.json")).unwrap();
    for category in taxonomy["categories"].as_array().unwrap() {
        assert_eq!((&category["skills"], &category["stability"]), (&json!(8), &json!(1.0)), "{category:#}");
    }

    let assign = [
        "lab",
        "taxonomy",
        "assign",
        "corpus.jsonl",
        "--taxonomy",
        "taxonomy.json",
        "--out",
        "categories.jsonl",
    ];
    lab.assay(&[&assign[..], &ask].concat()).ok();
    let text = fs::read_to_string(lab.path("categories.jsonl")).unwrap();
    let assigned: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(assigned.len(), 24);
    for one in &assigned {
        let kind = one["id"].as_str().unwrap().split('-').next().unwrap();
        let category = one["category"].as_str().unwrap();
        assert!(category.contains(kind), "{one}");
        assert_eq!((&one["votes"][category], &one["votes"]["none"]), (&json!(4), &json!(1)));
    }

    check_accuracy(&lab);
    check_bench(&lab, &assigned);
}

fn check_accuracy(lab: &Fixture) {
    // A sample for people; nine of twelve labels are right, one is undecided.
    let sheet = [
        "lab",
        "taxonomy",
        "sheet",
        "categories.jsonl",
        "--corpus",
        "corpus.jsonl",
        "--taxonomy",
        "taxonomy.json",
        "--n",
        "12",
        "--out",
        "topics.jsonl",
    ];
    lab.assay(&sheet).ok();
    lab.assay(&["judge", "sheet", "topics.jsonl"]).ok();
    let rows: Vec<Value> = fs::read_to_string(lab.path("topics.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |name: &str| rows.iter().filter(|row| row["cluster"].as_str().unwrap().contains(name)).count();
    assert_eq!(KINDS.map(|(kind, _)| of(kind)), [4, 4, 4]);
    let labels: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            json!({"item": row["item"], "label": if at == 0 { Value::Null } else { json!(at > 2) }})
                .to_string()
        })
        .collect();
    lab.write("labels.jsonl", labels.join("\n"));
    let accuracy = ["lab", "taxonomy", "accuracy", "labels.jsonl", "--categories", "categories.jsonl"];
    let found = lab.assay(&[&accuracy[..], &["--format", "json"]].concat()).ok().json();
    assert_eq!(
        (&found["labelled"], &found["right"], &found["undecided"]),
        (&json!(11), &json!(9), &json!(1)),
        "{found:#}"
    );
    // By hand: the first row of each category comes first, so that one has 3 of 3 and two have 3 of 4.
    assert!((found["accuracy"].as_f64().unwrap() - (1.0 + 0.75 + 0.75) / 3.0).abs() < 1e-12, "{found:#}");
    assert!(lab.assay(&accuracy).ok().stdout.contains("83.3% (9 of 11 labelled skills right, 1 undecided)"));
}

fn check_bench(lab: &Fixture, assigned: &[Value]) {
    // The categories divide the benchmark of retrieval.
    let query = |kind: &str, at: usize| {
        json!({"qid": format!("{kind}{at}"), "query": format!("do {kind} {at}"), "gold_ids": [format!("{kind}-{at}")]}).to_string()
    };
    let queries: Vec<String> =
        ["chart", "ledger"].iter().flat_map(|kind| (0..8).map(move |at| query(kind, at))).collect();
    lab.write("queries.jsonl", queries.join("\n"));
    let bench = [
        "lab",
        "search",
        "bench",
        "--corpus",
        "corpus.jsonl",
        "--queries",
        "queries.jsonl",
        "--retriever",
        "bm25",
        "--categories",
        "categories.jsonl",
    ];
    let printed = lab.assay(&bench).ok().stdout;
    let category = assigned.iter().find(|one| one["id"] == "chart-1").unwrap()["category"].as_str().unwrap();
    assert!(printed.contains("category of the skill") && printed.contains(category), "{printed}");
}

#[test]
fn bad_files_are_refused() {
    let lab = lab().file("empty.jsonl", "").file("bad.jsonl", "{\"id\": 1}\n").file(
        "twice.json",
        json!({"schema": "assay.taxonomy/1", "skills": 1, "unclustered": 0, "rounds": 1, "categories": [
            {"name": "a", "tags": [], "skills": 1, "stability": 1.0, "examples": []},
            {"name": "A", "tags": [], "skills": 1, "stability": 1.0, "examples": []}]})
        .to_string(),
    );
    let check = |args: &[&str], expected: &str| {
        let ran = lab.assay(&[&["lab", "taxonomy"], args].concat()).ended(2);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["cluster", "empty.jsonl", "--out", "x.json"], "has 0 skills");
    check(&["cluster", "bad.jsonl", "--out", "x.json"], "bad.jsonl:1");
    check(&["cluster", "absent.jsonl", "--out", "x.json"], "absent.jsonl");
    let assign = [
        "assign",
        "corpus.jsonl",
        "--taxonomy",
        "twice.json",
        "--model",
        "openai:m",
        "--no-cap",
        "--out",
        "x",
    ];
    check(&assign, "is empty, `none`, or the name of two categories");
    check(&["discover", "corpus.jsonl", "--model", "openai:m", "--out", "x"], "no cap");
    check(&["accuracy", "empty.jsonl", "--categories", "empty.jsonl"], "decides no skill");
}
