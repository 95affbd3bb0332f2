//! Abstention on public skills, which are outside the project.

use std::io::{BufRead, BufReader};

use assay_lab::retrieval::abstention::{OffTopic, Share, abstention, read_off_topic};
use assay_lab::retrieval::queries::read_query;
use assay_retrieval::queries::Query;
use assay_retrieval::{Document, read_document};
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

fn off_topic() -> Vec<OffTopic> {
    let lines = include_str!("../../../assay-retrieval/tests/data/off-topic-reporting.jsonl").lines();
    lines.map(|line| read_off_topic(line).unwrap()).collect()
}

/// The constants were fitted to none of these repositories' requests and to none of these off-topic
/// ones. The limits are those of docs/lab/RETRIEVAL.md.
#[test]
#[ignore = "needs shared data"]
fn off_topic_requests_are_declined_and_others_answered() {
    let mut queries: Vec<Query> = include_str!("../../../assay-retrieval/tests/data/short-reporting.jsonl")
        .lines()
        .map(|line| read_query(line).unwrap())
        .collect();
    let long = shared("retrieval/dev_queries.jsonl");
    let repositories =
        ["roapple10/Agent-Skills-for-Context-Engineering", "maybeanns/context-management-for-antigravity"];
    let long = std::fs::read_to_string(long).unwrap();
    queries.extend(
        long.lines()
            .map(|line| read_query(line).unwrap())
            .filter(|own| repositories.contains(&own.repository.as_str())),
    );
    let repositories: std::collections::BTreeSet<&str> =
        queries.iter().map(|own| own.repository.as_str()).collect();
    let repositories: Vec<&str> = repositories.into_iter().collect();
    let documents = skills(&repositories, false);
    let found = abstention(documents, &queries, &off_topic());
    assert_eq!(found.sizes.len(), 3, "{found:#?}");
    for size in &found.sizes {
        assert!(size.declined.right * 100 >= size.declined.of * 90, "{size:#?}");
        assert!(size.answered.of >= 20 && size.answered.right * 100 >= size.answered.of * 90, "{size:#?}");
    }
    let sum = |shares: &mut dyn Iterator<Item = Share>| {
        shares.fold((0, 0), |sum, own| (sum.0 + own.right, sum.1 + own.of))
    };
    let declined = sum(&mut found.sizes.iter().map(|size| size.declined));
    let answered = sum(&mut found.sizes.iter().map(|size| size.answered));
    assert!(
        declined.0 * 100 >= declined.1 * 95 && answered.0 * 100 >= answered.1 * 95,
        "{declined:?} {answered:?}"
    );
    let mut languages =
        found.kinds.iter().filter(|(kind, _)| kind.starts_with("language:")).map(|(_, own)| *own);
    let languages = sum(&mut languages);
    assert!(languages.0 * 100 >= languages.1 * 90, "{languages:?}");
}
