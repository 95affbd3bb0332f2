//! Abstention on public skills, which are outside the project.

use assay_lab::retrieval::abstention::{OffTopic, Share, abstention, read_off_topic};
use assay_lab::retrieval::queries::read_query;
use assay_retrieval::queries::Query;
use assay_retrieval::{Document, read_document};
use assay_test::{find_shared_skills, shared};

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
    let repositories: Vec<String> =
        repositories.into_iter().map(|name| format!("\"repo\": \"{name}\"")).collect();
    let skills = find_shared_skills(&repositories);
    let documents: Vec<Document> = skills.iter().filter_map(|line| read_document(line).unwrap()).collect();
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
