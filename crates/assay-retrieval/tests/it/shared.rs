//! The documented example on public skills, which are outside the project:
//! `ASSAY_SHARED` names their folder. Without it these tests report that they were skipped, and
//! with `ASSAY_REQUIRE_SHARED=1` they fail.

use assay_retrieval::{Document, Searcher, read_document};
use assay_test::find_shared_skills;
use serde_json::Value;

/// The skills of a repository, those that the corpus's own funnel removed too.
fn read_skills(repository: &str) -> Vec<Document> {
    let lines = find_shared_skills(&[format!("\"repo\": \"{repository}\"")]);
    let read = |line: &String| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value.as_object_mut().unwrap().remove("filter_stage");
        read_document(&value.to_string()).unwrap()
    };
    lines.iter().filter_map(read).collect()
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
    let documents = read_skills("anthropics/skills");
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
