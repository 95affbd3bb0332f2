//! Answers requests of the command line, HTTP and MCP.

use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_retrieval::{HitExplanation, SearchError, Searcher};
use serde::Serialize;

/// Longest request in bytes; the rest is ignored.
pub(super) const REQUEST_CAP: usize = 64 << 10;

/// Most skills of one answer.
pub(super) const MOST: usize = 1000;

/// Answers requests from one library.
pub struct SearchService {
    searcher: Searcher,
    index: Option<PathBuf>,
}

/// `assay.search/1`.
#[derive(Debug, Serialize)]
pub struct SearchResponse {
    /// The format, `assay.search/1`.
    pub schema: &'static str,
    /// The request.
    pub request: String,
    /// Skills that were searched.
    pub skills: usize,
    /// The index file, where one was used.
    pub index: Option<PathBuf>,
    /// The name of the retriever.
    pub retriever: String,
    /// The confidence from which a skill fits that is not the first; `null` for retrievers without
    /// one.
    pub threshold: Option<f64>,
    /// The probability that some skill serves the request: it is answered from 0.5; `null` for
    /// retrievers without one.
    pub answerable: Option<f64>,
    /// Whether any skill fits.
    pub fits: bool,
    /// Distinct words of the request that are not stop words.
    pub words: usize,
    /// Those of them that occur in any skill.
    pub known_words: usize,
    /// The closest skills, best first.
    pub hits: Vec<SearchHit>,
    /// How long the search took.
    pub seconds: f64,
}

/// A skill that was found.
#[derive(Debug, Serialize)]
pub struct SearchHit {
    /// Its place, from 1.
    pub rank: usize,
    /// The id of the skill in the library.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The probability that it is right, from 0 to 1; the score of other retrievers than `best`.
    pub confidence: f32,
    /// Whether it fits the request.
    pub fits: bool,
    /// What it was found by.
    pub why: HitExplanation,
}

impl SearchService {
    /// A service of a library, from an index file if there is one.
    pub fn new(searcher: Searcher, index: Option<&Path>) -> Self {
        Self { searcher, index: index.map(Path::to_owned) }
    }

    /// Skills that are searched.
    pub fn skills(&self) -> usize {
        self.searcher.index().len()
    }

    /// The skills for a request, at most so many.
    ///
    /// # Errors
    /// The retriever fails, such as one behind an endpoint.
    pub fn answer(&self, request: &str, most: usize) -> Result<SearchResponse, SearchError> {
        let clock = Instant::now();
        let end = (0..=REQUEST_CAP.min(request.len())).rev().find(|end| request.is_char_boundary(*end));
        let request = &request[..end.unwrap_or(0)];
        let answer = self.searcher.search(request, most.min(MOST))?;
        let hits: Vec<SearchHit> = (1..)
            .zip(answer.hits)
            .map(|(rank, found)| SearchHit {
                rank,
                id: found.document.id,
                name: found.document.name,
                description: found.document.description,
                confidence: found.confidence,
                fits: found.fits,
                why: found.why,
            })
            .collect();
        Ok(SearchResponse {
            schema: "assay.search/1",
            request: request.to_owned(),
            skills: self.skills(),
            index: self.index.clone(),
            retriever: self.searcher.retriever().to_owned(),
            threshold: self.searcher.threshold(),
            answerable: answer.answerable,
            fits: hits.iter().any(|hit| hit.fits),
            words: answer.words,
            known_words: answer.known,
            hits,
            seconds: clock.elapsed().as_secs_f64(),
        })
    }
}
