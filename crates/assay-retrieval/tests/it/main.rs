//! Scores against an independent program: bm25s 0.3.16.
//!
//! `scripts/retrieval-reference` made the values, over texts and rankings that it drew.

#![expect(clippy::unwrap_used, reason = "a panic fails the test at its line")]

mod shared;

use std::sync::Arc;

use assay_retrieval::analysis::Stemmer;
use assay_retrieval::{Document, Field, Index, Lexical, Retriever, RetrieverContext, RetrieverSpec};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../data/reference.json")).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn documents(reference: &Value) -> Vec<Document> {
    let document = |value: &Value| Document {
        id: text(&value["id"]),
        name: text(&value["name"]),
        description: text(&value["description"]),
        document: text(&value["document"]),
        ..Document::default()
    };
    reference["documents"].as_array().unwrap().iter().map(document).collect()
}

#[test]
fn scores_equal_those_of_bm25s() {
    let reference = reference();
    let opened =
        RetrieverSpec::parse("bm25").unwrap().open(documents(&reference), &RetrieverContext::none()).unwrap();
    let queries = reference["queries"].as_array().unwrap();
    let mut found = 0;
    for (query, expected) in queries.iter().zip(reference["scores"].as_array().unwrap()) {
        let hits = opened.retriever.search(&text(query), 1_000).unwrap();
        let mut scores = vec![0.0; expected.as_array().unwrap().len()];
        for (document, score) in &hits {
            scores[*document as usize] = f64::from(*score);
        }
        for (score, expected) in scores.iter().zip(expected.as_array().unwrap()) {
            let expected = expected.as_f64().unwrap();
            // Both add up in single precision.
            assert!(
                (score - expected).abs() <= 2e-6 * expected.max(1.0),
                "{query}: {score} is not {expected}"
            );
        }
        found += hits.len();
        let falls =
            |pair: &[(u32, f32)]| pair[0].1 > pair[1].1 || pair[0].1 >= pair[1].1 && pair[0].0 < pair[1].0;
        assert!(hits.windows(2).all(falls), "{query}: equal scores come in order of ids");
    }
    assert!(found > 500, "{found}");
}

/// Only texts matter: not the order of documents, their ids, or their origin.
#[test]
fn order_and_repository_do_not_change_scores() {
    let reference = reference();
    let plain = documents(&reference);
    let moved: Vec<Document> = plain
        .iter()
        .rev()
        .map(|own| Document { repo: format!("somebody/{}", own.id), ..own.clone() })
        .collect();
    for name in assay_retrieval::NAMES {
        let wanted = RetrieverSpec::parse(name).unwrap();
        let open = |documents| wanted.open(documents, &RetrieverContext::none()).unwrap();
        let (one, other) = (open(plain.clone()), open(moved.clone()));
        for query in reference["queries"].as_array().unwrap() {
            let query = text(query);
            assert_eq!(
                one.retriever.search(&query, 20).unwrap(),
                other.retriever.search(&query, 20).unwrap(),
                "{name}: {query}"
            );
        }
    }
}

/// A single field is searched, and words of one stem match if stemming is on.
#[test]
fn fields_and_stemmer_are_chosen() {
    let document = |id: &str, name: &str, body: &str| Document {
        id: id.to_owned(),
        name: name.to_owned(),
        document: format!("# Steps\n{body}"),
        ..Document::default()
    };
    let documents = vec![document("a", "deploy", "plans"), document("b", "plan", "deploying")];
    let check = |wanted: &str, request: &str, expected: &[u32]| {
        let opened =
            RetrieverSpec::parse(wanted).unwrap().open(documents.clone(), &RetrieverContext::none()).unwrap();
        let mut found: Vec<u32> =
            opened.retriever.search(request, 9).unwrap().into_iter().map(|hit| hit.0).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{wanted}: {request}");
    };
    check("bm25", "deploy", &[0]);
    check("bm25:stemmer=english", "deploy", &[0, 1]);
    check("bm25:fields=body,stemmer=english", "deploy", &[1]);
    check("bm25:fields=name", "plan", &[1]);
    check("bm25:fields=headings", "steps", &[0, 1]);
    check("bm25:fields=body", "steps", &[]);
}

#[test]
fn empty_corpus_has_no_answers() {
    let index = Arc::new(Index::build(Vec::new(), Stemmer::English));
    let bm25 = Lexical::bm25("bm25", &index, &[Field::Document], 1.5, 0.75);
    assert!(bm25.rank("anything", 10).is_empty());
    assert!(bm25.ceiling("anything").is_finite());
}
