//! Answers a request with the skills that serve it.

use std::sync::Arc;

use serde::Serialize;

use crate::analysis::{Stemmer, is_stop_word};
use crate::best::{Best, DEFAULT_STEMMER, DEFAULT_THRESHOLD, FIRST};
use crate::catalogue::{self, OpenError, RetrieverContext, RetrieverSpec};
use crate::corpus::Document;
use crate::index::{FIELDS, Index, split};
use crate::index_file::{IndexError, IndexFile, Stamp};
use crate::related::related;
use crate::retriever::{Retriever, RetrieverError, Weighting};
use crate::sentences::sentences;

/// Most characters of a sentence that is shown.
const SENTENCE: usize = 240;

/// Answers requests from an index.
pub struct Searcher {
    file: IndexFile,
    /// The retriever, if it is not `best`.
    other: Option<Box<dyn Retriever>>,
}

/// Why a request cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A retriever cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A model call failed.
    #[error(transparent)]
    Retriever(#[from] RetrieverError),
}

/// The result of a request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The probability that the library contains a skill that serves the request; `None` for other
    /// retrievers than `best`.
    pub answerable: Option<f64>,
    /// The best skills, whether they fit or not.
    pub hits: Vec<SearchHit>,
    /// Distinct words of the request that are not stop words.
    pub words: usize,
    /// Those of them that occur in any skill.
    pub known: usize,
}

/// A skill that was found.
#[derive(Debug, Clone)]
pub struct SearchHit {
    /// The skill.
    pub document: Document,
    /// The probability that it is right; the score of other retrievers than `best`.
    pub confidence: f32,
    /// Whether it is offered: the request is answered, and the skill is the first or reaches the
    /// threshold. Other retrievers than `best` offer all hits.
    pub fits: bool,
    /// The explanation of the hit.
    pub why: HitExplanation,
}

/// Which text of a skill matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HitExplanation {
    /// The field that gave most of the score: `name`, `description`, `headings` or `body`.
    pub field: &'static str,
    /// Its sentence with most of the request's information.
    pub sentence: String,
    /// The words of the request in that sentence.
    pub terms: Vec<String>,
}

impl Searcher {
    /// Indexes documents in memory.
    pub fn build(documents: Vec<Document>, stamps: &[Stamp]) -> Result<Self, IndexError> {
        Ok(Self::from_index(IndexFile::build(documents, DEFAULT_STEMMER, stamps)?))
    }

    /// Answers from an index that exists.
    pub fn from_index(file: IndexFile) -> Self {
        Self { file, other: None }
    }

    /// Ranks by another retriever, which is opened over the documents of the index. Also returns
    /// its notes.
    pub fn with_retriever(
        self,
        wanted: &RetrieverSpec,
        around: &RetrieverContext<'_>,
    ) -> Result<(Self, Vec<String>), SearchError> {
        let opened = wanted.open(self.file.documents()?, around)?;
        Ok((Self { other: Some(opened.retriever), ..self }, opened.notes))
    }

    /// The name of the retriever.
    pub fn retriever(&self) -> &str {
        self.other.as_ref().map_or(catalogue::DEFAULT, |other| other.name())
    }

    /// The confidence from which a skill other than the first is suitable, if the retriever has
    /// one.
    pub fn threshold(&self) -> Option<f64> {
        self.other.is_none().then_some(DEFAULT_THRESHOLD)
    }

    /// The index.
    pub fn index(&self) -> &IndexFile {
        &self.file
    }

    /// The best skills for a request, at most `most`. `best` never returns a skill without a common
    /// word.
    pub fn search(&self, request: &str, most: usize) -> Result<Answer, SearchError> {
        let index = Arc::new(self.file.restricted_to(request)?);
        let terms = Terms::of(request, &index);
        let (ranked, hits) = if let Some(other) = &self.other {
            (None, other.search(request, most)?)
        } else {
            let ranked = Best::new(catalogue::DEFAULT, &index, &self.file).answer(request, most);
            let hits = ranked.hits.clone();
            (Some(ranked), hits)
        };
        let found = |(place, (number, confidence)): (usize, (u32, f32))| {
            let document = self.file.document(number)?;
            let fits = ranked.as_ref().is_none_or(|ranked| ranked.is_offered(place, confidence));
            let why = terms.why(&index, &FIRST, number, &document);
            Ok(SearchHit { document, confidence, fits, why })
        };
        let hits = hits.into_iter().enumerate().map(found).collect::<Result<_, IndexError>>()?;
        let answerable = ranked.map(|ranked| ranked.answerable);
        Ok(Answer { answerable, hits, words: terms.words, known: terms.asked })
    }
}

/// The words of a request.
struct Terms {
    stemmer: Stemmer,
    /// As the request has it, its stem, its number in the index, and its information.
    known: Vec<(String, String, u32, f64)>,
    words: usize,
    /// Words of the request itself among the known: the others replace unknown words.
    asked: usize,
}

impl Terms {
    fn of(request: &str, index: &Index) -> Self {
        let stemmer = index.stemmer();
        let mut words: Vec<(String, String)> = Vec::new();
        stemmer.each_word(&request.to_lowercase(), |word| {
            let stem = stemmer.stem(word);
            if !is_stop_word(word) && words.iter().all(|(_, known)| known != stem) {
                words.push((word.to_owned(), stem.to_owned()));
            }
        });
        let all = words.len();
        let is_known = |stem: &str| index.number(stem).is_some();
        let asked = words.iter().filter(|(_, stem)| is_known(stem)).count();
        for word in related(&request.to_lowercase(), stemmer, is_known) {
            let stem = stemmer.stem(word);
            if words.iter().all(|(_, known)| known != stem) {
                words.push((word.to_owned(), stem.to_owned()));
            }
        }
        let known = words
            .into_iter()
            .filter_map(|(word, stem)| {
                let number = index.number(&stem)?;
                Some((word, stem, number, index.idf(number)))
            })
            .collect();
        Self { stemmer, known, words: all, asked }
    }

    fn why(&self, index: &Index, weighting: &Weighting, number: u32, document: &Document) -> HitExplanation {
        let mut shares = [0.0; FIELDS];
        for (_, _, word, idf) in &self.known {
            let Some(counts) = index.counts_in(*word, number) else { continue };
            let of = |field: usize| weighting.weights[field] * f64::from(counts[field]);
            let all: f64 = (0..FIELDS).map(of).sum();
            for (field, share) in shares.iter_mut().enumerate() {
                *share += if all > 0.0 { idf * of(field) / all } else { 0.0 };
            }
        }
        let (headings, body) = split(&document.document);
        let fields = [
            ("name", document.name.as_str()),
            ("description", &document.description),
            ("headings", &headings),
            ("body", &body),
        ];
        let first = |best: usize, other: usize| if shares[other] > shares[best] { other } else { best };
        let (field, text) = fields[(1..fields.len()).fold(0, first)];
        let (sentence, terms) = self.best_sentence(text);
        HitExplanation { field, sentence, terms }
    }

    fn best_sentence(&self, text: &str) -> (String, Vec<String>) {
        let mut best = (0.0, "", Vec::new());
        for sentence in sentences(text) {
            let mut held: Vec<&(String, String, u32, f64)> = Vec::new();
            self.stemmer.each_word(&sentence.to_lowercase(), |word| {
                let stem = self.stemmer.stem(word);
                let term = self.known.iter().find(|(_, known, _, _)| known == stem);
                if let Some(term) = term.filter(|term| held.iter().all(|other| other.2 != term.2)) {
                    held.push(term);
                }
            });
            let weight: f64 = held.iter().map(|term| term.3).sum();
            if weight > best.0 {
                best = (weight, sentence, held.iter().map(|term| term.0.clone()).collect());
            }
        }
        let clipped: String = best.1.chars().take(SENTENCE).collect();
        let sentence = if clipped.len() < best.1.len() { clipped + "…" } else { clipped };
        (sentence, best.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searcher() -> Searcher {
        let document = |id: &str, name: &str, description: &str, document: &str| Document {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            document: document.to_owned(),
            ..Document::default()
        };
        let documents = vec![
            document(
                "a",
                "spreadsheets",
                "Works with tables. Makes a pivot table from an export! And charts.",
                "Sum up.",
            ),
            document(
                "b",
                "log-audit",
                "Audits logs.",
                "---\nname: log-audit\n---\n# Counting\nCount errors by hour. Then stop.",
            ),
            document("c", "letters", "Writes letters.", "Be short."),
        ];
        Searcher::build(documents, &[]).unwrap()
    }

    #[test]
    fn hits_are_explained() {
        let searcher = searcher();
        let check = |request: &str, id: &str, field: &str, sentence: &str, terms: &[&str]| {
            let answer = searcher.search(request, 2).unwrap();
            let hit = &answer.hits[0];
            assert_eq!(hit.document.id, id, "{request}");
            let terms = terms.iter().map(|term| (*term).to_owned()).collect();
            assert_eq!(
                hit.why,
                HitExplanation { field: hit.why.field, sentence: sentence.to_owned(), terms },
                "{request}"
            );
            assert_eq!(hit.why.field, field, "{request}");
            assert!(hit.confidence > 0.0 && hit.confidence <= 1.0, "{}", hit.confidence);
        };
        check(
            "make a pivot table from this export",
            "a",
            "description",
            "Makes a pivot table from an export!",
            &["make", "pivot", "table", "from", "export"],
        );
        check(
            "error counts for each hour",
            "b",
            "body",
            "Count errors by hour.",
            &["counts", "error", "hour"],
        );
        check("letter", "c", "name", "letters", &["letter"]);
        check("counting", "b", "headings", "# Counting", &["counting"]);
    }

    #[test]
    fn unknown_words_find_nothing() {
        let searcher = searcher();
        let check = |request: &str, words: usize, known: usize, hits: usize| {
            let answer = searcher.search(request, 5).unwrap();
            assert_eq!((answer.words, answer.known, answer.hits.len()), (words, known, hits), "{request}");
        };
        check("", 0, 0, 0);
        check("the of", 0, 0, 0);
        check("xylophone quartet", 2, 0, 0);
        check("audit the xylophone audits", 2, 1, 1);
    }

    #[test]
    fn unknown_words_lower_the_confidence() {
        let searcher = searcher();
        let first = |request: &str| {
            let answer = searcher.search(request, 3).unwrap();
            (answer.answerable.unwrap(), answer.hits[0].confidence, answer.hits[0].fits)
        };
        let (likely, confidence, fits) = first("make a pivot table");
        assert!(likely > 0.8 && confidence > 0.5 && fits, "{likely} {confidence}");
        let mut before = (likely, confidence);
        for request in [
            "make a pivot table of my xylophone",
            "make a pivot table of my xylophone, my harp and my bassoon",
            "make a table for the xylophone, the harp, the bassoon, four violins and my grandmother",
        ] {
            let (likely, confidence, _) = first(request);
            assert!(likely < before.0 && confidence < before.1, "{request}: {likely} {confidence}");
            before = (likely, confidence);
        }
        // Function words are rare in so small a library, and carry no information.
        let (likely, confidence, fits) = first("what about my export of bananas from here to the moon");
        assert!(likely < 0.5 && f64::from(confidence) < DEFAULT_THRESHOLD && !fits, "{likely} {confidence}");
    }

    #[test]
    fn unknown_word_is_replaced_by_related_ones() {
        let document = |id: &str, name: &str, description: &str| Document {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            ..Document::default()
        };
        let documents = vec![
            document("a", "xlsx", "Reads and writes Excel workbooks."),
            document("b", "pdf", "Reads tables of PDF files."),
            document("c", "mail", "Writes mail."),
        ];
        let searcher = Searcher::build(documents, &[]).unwrap();
        let answer = searcher.search("a pivot table in a spreadsheet", 3).unwrap();
        let first = &answer.hits[0];
        assert_eq!((first.document.name.as_str(), first.fits), ("xlsx", true), "{answer:#?}");
        assert_eq!((answer.words, answer.known), (3, 1), "only words of the request are counted");
    }

    #[test]
    fn sentences_are_lines_and_parts_of_lines() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text:?}");
        };
        check("One. Two!  Three? v1.2 is four", &["One.", "Two!", "Three?", "v1.2 is four"]);
        check("a\n\n  b. \nc", &["a", "b.", "c"]);
        check("…", &["…"]);
        check("", &[]);
        let long = "word ".repeat(100);
        let searcher = Searcher::build(
            vec![Document { id: "x".to_owned(), description: long, ..Document::default() }],
            &[],
        )
        .unwrap();
        let sentence = searcher.search("word", 1).unwrap().hits[0].why.sentence.clone();
        assert_eq!((sentence.chars().count(), sentence.ends_with('…')), (SENTENCE + 1, true));
    }
}
