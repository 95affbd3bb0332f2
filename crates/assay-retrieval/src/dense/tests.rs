//! Vectors from a model that counts words.

use std::ops::Range;
use std::sync::Mutex;

use super::*;

/// A model whose vector is a count of words by length, so that it is easily computed by hand. It
/// records its input.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) digest: String,
}

/// Words of one letter, of two, and so on.
const WIDTH: usize = 6;

impl Embedder for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn digest(&self) -> String {
        self.digest.clone()
    }

    fn max_tokens(&self) -> usize {
        100
    }

    fn options(&self) -> Value {
        json!({ "model": "words" })
    }

    fn embed(
        &self,
        texts: &[&str],
        _: Kind,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, RetrieverError> {
        self.asked.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        progress(texts.len());
        let of = |text: &&str| {
            let mut counts = vec![0.0; if text.contains("narrow") { 2 } else { WIDTH }];
            for word in text.split_whitespace() {
                let place = (word.len() - 1).min(counts.len() - 1);
                counts[place] += if word == "broken" { f32::NAN } else { 1.0 };
            }
            counts
        };
        Ok(texts.iter().map(of).collect())
    }

    fn chunks(&self, text: &str, tokens: usize, overlap: usize) -> Vec<Range<usize>> {
        let words: Vec<Range<usize>> = text
            .split_whitespace()
            .map(|word| {
                let start = word.as_ptr() as usize - text.as_ptr() as usize;
                start..start + word.len()
            })
            .collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let end = (at + tokens).min(words.len());
            found.push(words[at].start..words[end - 1].end);
            if end == words.len() {
                break;
            }
            at = end - overlap;
        }
        found
    }
}

fn document(id: &str, name: &str, description: &str, document: &str) -> Document {
    let [id, name, description, document] = [id, name, description, document].map(str::to_owned);
    Document { id, name, description, document, ..Document::default() }
}

pub(crate) fn documents() -> Vec<Document> {
    vec![
        document("a", "a", "a a", "a bb ccc"),
        document("b", "bb", "bb bb", "bb bb"),
        document("c", "a", "bb", "---\nname: a\n---\nccc ccc dddd"),
        document("d", "", "", ""),
    ]
}

fn embed_all(documents: &[Document], texts: Texts) -> Vectors {
    build(documents, &Words::default(), texts, None, &|_, _| ()).unwrap().vectors
}

#[test]
fn cosines_match_hand_computation() {
    let check = |texts: Texts, query: &str, expected: &[(u32, f32)]| {
        let dense = Dense::new("dense", Arc::new(Words::default()), texts, embed_all(&documents(), texts));
        let hits = dense.search(query, 10).unwrap();
        let is_close = hits.len() == expected.len()
            && hits
                .iter()
                .zip(expected)
                .all(|(one, other)| one.0 == other.0 && (one.1 - other.1).abs() < 1e-6);
        assert!(is_close, "{texts} {query}: {hits:?} is not {expected:?}");
        assert!(dense.search("  ", 10).unwrap().is_empty() && dense.search(query, 0).unwrap().is_empty());
        assert_eq!(dense.search(query, 1).unwrap(), hits[..hits.len().min(1)]);
    };
    let half = 0.5_f32.sqrt();
    check(Texts::NameDescription, "x", &[(0, 1.0), (2, half)]);
    check(Texts::NameDescription, "xx", &[(1, 1.0), (2, half)]);
    check(Texts::NameDescription, "xxxx", &[]);
    // (4, 1, 1), (0, 5), (1, 1, 2, 1)
    check(Texts::Full, "x", &[(0, 4.0 / 18.0_f32.sqrt()), (2, 1.0 / 7.0_f32.sqrt())]);
    let chunks = |pooling| Texts::Chunks { tokens: Some(2), overlap: 0, pooling };
    // a a | a a | bb ccc; bb …; a bb | ccc ccc | dddd
    check(chunks(Pooling::Max), "xxxx", &[(2, 1.0)]);
    check(chunks(Pooling::Max), "xxx", &[(2, 1.0), (0, half)]);
    check(chunks(Pooling::Mean), "xxxx", &[(2, 1.0 / 3.0_f32.sqrt())]);
    let third = 1.0 / 3.0;
    let weights = Texts::Fields { weights: [0.5, 0.25, 0.25] };
    check(weights, "x", &[(0, 0.5 + 0.25 + 0.25 / 3.0_f32.sqrt()), (2, 0.5)]);
    check(Texts::Fields { weights: [third; 3] }, "xxxx", &[(2, third / 5.0_f32.sqrt())]);
}

#[test]
fn equal_cosines_are_ordered_by_id() {
    let documents: Vec<Document> =
        ["e", "b", "d", "a"].iter().map(|id| document(id, "a", "bb", "")).collect();
    let documents = crate::index::ordered(documents);
    let dense = Dense::new("d", Arc::new(Words::default()), Texts::Full, embed_all(&documents, Texts::Full));
    let hits: Vec<u32> = dense.search("x", 3).unwrap().into_iter().map(|hit| hit.0).collect();
    assert_eq!(hits, [0, 1, 2]);
    let nothing = Dense::new("d", Arc::new(Words::default()), Texts::Full, embed_all(&[], Texts::Full));
    assert!(nothing.search("x", 3).unwrap().is_empty());
}

#[test]
fn invalid_vectors_are_rejected() {
    let check = |description: &str, expected: &str| {
        let mut documents = documents();
        documents[1].description = description.to_owned();
        let error = build(&documents, &Words::default(), Texts::NameDescription, None, &|_, _| ());
        let error = error.err().expect(description).to_string();
        assert_eq!(error, expected);
    };
    check("broken", "a vector of words has a value that is not a finite number");
    check("narrow", "words returned a vector of 2 numbers, expected 6");
    let texts = Texts::NameDescription;
    let dense = Dense::new("dense", Arc::new(Words::default()), texts, embed_all(&documents(), texts));
    let error = dense.search("broken", 3).unwrap_err().to_string();
    assert_eq!(error, "a vector of words has a value that is not a finite number");
    let error = dense.search("narrow", 3).unwrap_err().to_string();
    assert_eq!(error, "words returned a vector of 2 numbers, expected 6");
}

#[test]
fn only_changed_texts_are_embedded() {
    let folder = tempfile::tempdir().unwrap();
    let texts = Texts::NameDescription;
    let check = |documents: &[Document], digest: &str, expected: &[&str]| {
        let embedder = Words { digest: digest.to_owned(), ..Words::default() };
        let heard = Mutex::new(Vec::new());
        let progress = |done: usize, all: usize| heard.lock().unwrap().push((done, all));
        let built = build(documents, &embedder, texts, Some(folder.path()), &progress).unwrap();
        assert_eq!(*embedder.asked.lock().unwrap(), expected);
        assert!(built.unkept.is_none());
        let said = heard.lock().unwrap().last().copied();
        assert!(
            said.is_some() != expected.is_empty() && said.is_none_or(|(done, all)| done == all),
            "{said:?}"
        );
        // As without cached vectors.
        let anew = embed_all(documents, texts);
        assert_eq!((&built.vectors.numbers, &built.vectors.starts), (&anew.numbers, &anew.starts));
    };
    let mut all = documents();
    check(&all, "m", &["a\na a", "bb\nbb bb", "a\nbb"]);
    check(&all, "m", &[]);
    // Text that is not embedded may change.
    all[0].document = "another body".to_owned();
    check(&all, "m", &[]);
    all[1].description = "new".to_owned();
    all.push(document("e", "a", "a a", ""));
    check(&all, "m", &["bb\nnew"]);
    check(&all[1..3], "m", &[]);
    check(&documents(), "m", &[]);
    // Another model has no cached vectors.
    check(&documents(), "other", &["a\na a", "bb\nbb bb", "a\nbb"]);
}

#[test]
fn interrupted_embedding_keeps_finished_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let of = |number: usize| document(&format!("{number:05}"), "a", &"b ".repeat(number), "");
    let mut documents: Vec<Document> = (0..BLOCK + 500).map(of).collect();
    let made = |documents: &[Document]| {
        let embedder = Words::default();
        let built = build(documents, &embedder, Texts::NameDescription, Some(folder.path()), &|_, _| ());
        (built.map(|built| built.embedded), embedder.asked.into_inner().unwrap().len())
    };
    documents.push(document("broken", "broken", "", ""));
    let (failed, asked) = made(&documents);
    assert!(failed.is_err() && asked == BLOCK + 501, "{asked}");
    documents.pop();
    assert!(matches!(made(&documents), (Ok(500), 500)), "the first block is known");
    let inner = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_dir(inner).unwrap().count(), 1, "the part is gone");
}

#[test]
fn uncacheable_vectors_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("file");
    std::fs::write(&place, "no folder").unwrap();
    let built = build(&documents(), &Words::default(), Texts::Full, Some(&place), &|_, _| ()).unwrap();
    assert_eq!(built.embedded, 4);
    assert!(built.unkept.unwrap().to_string().starts_with("cannot write the vectors"));
}

#[test]
fn files_are_of_one_model_and_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("skills.vectors");
    let vectors = embed_all(&documents(), Texts::Full);
    vectors.save(&path).unwrap();
    let origin = vectors.origin().clone();
    assert_eq!(Vectors::open(&path, &origin).unwrap(), vectors);
    let check = |origin: &Origin, expected: &str| {
        let error = Vectors::open(&path, origin).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    };
    check(&Origin { corpus: "x".to_owned(), ..origin.clone() }, "are of other skills");
    check(&Origin { model_digest: "x".to_owned(), ..origin.clone() }, "were made by words (…) over full");
    let text = Texts::NameDescription.to_string();
    check(&Origin { text, ..origin.clone() }, "expected words (…) over name-description");

    let bytes = std::fs::read(&path).unwrap();
    let spoiled = |change: &dyn Fn(&mut Vec<u8>), expected: &str| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        let error = Vectors::open(&path, &origin).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    };
    spoiled(&|bytes| bytes[8] = 2, "have format 2; this version of assay reads format 1");
    spoiled(&|bytes| bytes[0] = b'X', "is not an assay vectors file");
    spoiled(&|bytes| bytes.truncate(10), "it ends too early");
    spoiled(&|bytes| bytes.truncate(bytes.len() - 4), "its length differs from its header");
    spoiled(&|bytes| bytes.clear(), "is not an assay vectors file");
    spoiled(&|bytes| *bytes.last_mut().unwrap() ^= 1, "vectors digest mismatch");
    spoiled(&|bytes| bytes[40] ^= 1, "header digest mismatch");
    let mut broken = vectors.clone();
    broken.numbers[0] = f32::NAN;
    broken.save(&path).unwrap();
    assert!(Vectors::read(&path).unwrap_err().to_string().contains("a value is not a finite number"));
    broken.save(&path.join("below a file")).unwrap_err();
    assert!(Vectors::read(&folder.path().join("none")).unwrap_err().to_string().starts_with("cannot read"));
}

#[test]
fn damaged_cached_vectors_are_recomputed() {
    let folder = tempfile::tempdir().unwrap();
    let built = |expected: usize| {
        let built =
            build(&documents(), &Words::default(), Texts::Full, Some(folder.path()), &|_, _| ()).unwrap();
        assert_eq!(built.embedded, expected);
        built.vectors
    };
    let vectors = built(4);
    let inner = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(inner).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(built(4), vectors);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn vector_cache_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..12 {
        let documents = vec![document("a", "a", &"b ".repeat(round), "")];
        build(&documents, &Words::default(), Texts::Full, Some(folder.path()), &|_, _| ()).unwrap();
    }
    let inner = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_dir(inner).unwrap().count(), 8);
}
