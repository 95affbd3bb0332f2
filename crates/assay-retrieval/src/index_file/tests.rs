use std::path::Path;

use super::*;
use crate::index::{FIELDS, Field};
use crate::retriever::{Lexical, Retriever};
use crate::{Index, Weighting};

fn documents() -> Vec<Document> {
    let texts = ["audit the log", "export a ledger ledger", "# Pivot tables\nGroup rows of the log.", ""];
    (0..40)
        .map(|n| Document {
            id: format!("{n:02}"),
            name: ["log-audit", "größe", "pivot"][n % 3].to_owned(),
            description: format!("Number {n} of all logs."),
            document: texts[n % 4].to_owned(),
            ..Document::default()
        })
        .collect()
}

fn stamps() -> Vec<Stamp> {
    vec![Stamp { path: "a/SKILL.md".to_owned(), size: 3, modified: -7 }]
}

fn retriever(index: Index) -> Lexical {
    let weighting = Weighting { k1: 1.5, weights: [3.0, 2.0, 1.5, 1.0, 0.0], b: [0.75; FIELDS] };
    Lexical::bm25f("bm25f", &std::sync::Arc::new(index), &weighting)
}

/// In memory, and from a file.
fn both(folder: &Path) -> [IndexFile; 2] {
    let built = IndexFile::build(documents(), Stemmer::English, &stamps()).unwrap();
    let path = folder.join("own.index");
    built.save(&path).unwrap();
    [built, IndexFile::open(&path).unwrap()]
}

#[test]
fn partial_index_scores_like_the_full_one() {
    let folder = tempfile::tempdir().unwrap();
    let whole = retriever(Index::build(documents(), Stemmer::English));
    for file in both(folder.path()) {
        for request in ["audit logs", "Pivot the ledger rows, pivot", "größe", "unknown", "", "the of"] {
            let part = retriever(file.restricted_to(request).unwrap());
            assert_eq!(part.rank(request, 50), whole.rank(request, 50), "{request}");
            assert!((part.ceiling(request) - whole.ceiling(request)).abs() < 1e-6, "{request}");
        }
        let expected = documents();
        assert_eq!((file.len(), file.stamps().unwrap()), (expected.len(), stamps()));
        for (number, document) in (0..).zip(expected) {
            assert_eq!(file.document(number).unwrap(), document);
        }
        assert_eq!(file.digest(), digest_of(documents()));
    }
}

#[test]
fn digests_cover_the_indexed_content() {
    let all = digest_of(documents());
    let mut turned = documents();
    turned.reverse();
    assert_eq!(digest_of(turned), all, "the order of reading does not count");
    for change in [
        |own: &mut Document| own.id.push('x'),
        |own: &mut Document| own.name.push('x'),
        |own: &mut Document| own.description.push('x'),
        |own: &mut Document| own.document.push('x'),
    ] {
        let mut other = documents();
        change(&mut other[7]);
        assert_ne!(digest_of(other), all);
    }
}

#[test]
fn invalid_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.index");
    IndexFile::build(documents(), Stemmer::None, &stamps()).unwrap().save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let check = |bytes: &[u8], expected: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = IndexFile::open(&path).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    };
    check(b"", "is not an assay index");
    check(b"{\"id\": \"something else\"}", "is not an assay index");
    let mut other = good.clone();
    other[8] = 9;
    check(&other, "has format 9; this version of assay reads format 2");
    check(&good[..good.len() - 1], "it ends before its last section");
    check(&good[..20], "it ends too early");
    let mut other = good.clone();
    other[20] ^= 1;
    check(&other, "header digest mismatch");
    let error = IndexFile::open(&folder.path().join("none")).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot read the index"));
    assert!(IndexFile::open(folder.path()).is_err());
    let gone = folder.path().join("no/such/folder/x");
    let built = IndexFile::build(documents(), Stemmer::None, &[]).unwrap();
    assert!(matches!(built.save(&gone), Err(IndexError::Write { .. })));
}

/// Any changed byte gives an error or an answer, and no panic.
#[test]
fn damaged_index_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.index");
    IndexFile::build(documents(), Stemmer::English, &stamps()).unwrap().save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let mut errors = 0;
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x91;
        let Ok(file) = IndexFile::read(&path, Bytes::Memory(bytes)) else {
            errors += 1;
            continue;
        };
        match file.restricted_to("audit the logs of größe") {
            Ok(index) => drop(retriever(index).rank("audit the logs of größe", 5)),
            Err(_) => errors += 1,
        }
        let texts: Vec<_> = (0..40).map(|number| file.document(number)).collect();
        errors += usize::from(texts.iter().any(Result::is_err)) + usize::from(file.stamps().is_err());
    }
    assert!(errors > good.len() / 14, "{errors} of {}", good.len());
}

#[test]
fn empty_corpus_can_be_indexed() {
    let file = IndexFile::build(Vec::new(), Stemmer::English, &[]).unwrap();
    assert!(file.is_empty());
    let index = std::sync::Arc::new(file.restricted_to("anything").unwrap());
    assert!(Lexical::bm25("bm25", &index, &[Field::Name], 1.5, 0.75).rank("anything", 5).is_empty());
    assert!(file.document(0).is_err());
}
