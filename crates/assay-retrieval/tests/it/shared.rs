//! The documented example on public skills, which are outside the project:
//! `ASSAY_SHARED` names their folder. Without it these tests report that they were skipped, and
//! with `ASSAY_REQUIRE_SHARED=1` they fail.

use std::io::{BufRead, BufReader};

use assay_retrieval::{Document, Searcher, read_document};
use assay_test::shared;
use serde_json::Value;

/// The skills of some repositories, those that the corpus's own funnel removed too if `all`.
fn skills(repositories: &[&str], all: bool) -> Vec<Document> {
    let file = std::fs::File::open(shared("skills/corpus_raw.jsonl.zst")).unwrap();
    let mut reader = zstd::Decoder::new(file).unwrap();
    reader.window_log_max(27).unwrap();
    let wanted: Vec<String> = repositories.iter().map(|name| format!("\"repo\": \"{name}\"")).collect();
    let mut found = Vec::new();
    for line in BufReader::new(reader).lines() {
        let line = line.unwrap();
        // Searching the text is a hundred times as fast as parsing the line.
        if !wanted.iter().any(|name| line.contains(name)) {
            continue;
        }
        let mut value: Value = serde_json::from_str(&line).unwrap();
        if repositories.iter().any(|name| value["repo"] == *name) {
            if all {
                value.as_object_mut().unwrap().remove("filter_stage");
            }
            found.extend(read_document(&value.to_string()).unwrap());
        }
    }
    found
}

/// Requests that no skill serves.
fn off_topic() -> Vec<String> {
    let query = |line: &str| -> Value { serde_json::from_str::<Value>(line).unwrap()["query"].clone() };
    let lines = include_str!("../data/off-topic-reporting.jsonl").lines();
    lines.map(|line| query(line).as_str().unwrap().to_owned()).collect()
}

/// The request that the documentation begins with.
const EXAMPLE: &str = "make a pivot table from this export";

#[test]
#[ignore = "needs shared data"]
fn the_documented_example_finds_its_skill() {
    let documents = skills(&["anthropics/skills"], true);
    assert!(documents.len() >= 10, "{}", documents.len());
    let searcher = Searcher::build(documents, &[]).unwrap();
    let answer = searcher.search(EXAMPLE, 5).unwrap();
    let first = &answer.hits[0];
    assert_eq!((first.document.name.as_str(), first.fits), ("xlsx", true), "{answer:#?}");
    for query in off_topic() {
        let answer = searcher.search(&query, 5).unwrap();
        let fitting = answer.hits.iter().filter(|hit| hit.fits).count();
        assert_eq!(answer.answerable.unwrap() >= 0.5, fitting > 0, "{query}");
    }
}
