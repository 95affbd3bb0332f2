//! Answers requests of the command line, HTTP and MCP.

use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_retrieval::{HitExplanation, SearchError, Searcher};
use serde::Serialize;

/// Longest request in bytes; the rest is ignored.
pub(super) const REQUEST_CAP: usize = 64 << 10;

/// Most skills of one answer.
pub(super) const MOST: usize = 1000;

/// Answers requests.
pub(super) struct Service {
    searcher: Searcher,
    index: Option<PathBuf>,
}

/// `assay.search/1`.
#[derive(Debug, Serialize)]
pub(super) struct Response {
    pub(super) schema: &'static str,
    pub(super) request: String,
    /// Skills that were searched.
    pub(super) skills: usize,
    /// The index file, where one was used.
    pub(super) index: Option<PathBuf>,
    pub(super) retriever: String,
    /// The confidence from which a skill fits that is not the first; `null` for retrievers without
    /// one.
    pub(super) threshold: Option<f64>,
    /// The probability that some skill serves the request: it is answered from 0.5; `null` for
    /// retrievers without one.
    pub(super) answerable: Option<f64>,
    /// Whether any skill fits.
    pub(super) fits: bool,
    /// Distinct words of the request that are not stop words.
    pub(super) words: usize,
    /// Those of them that occur in any skill.
    pub(super) known_words: usize,
    pub(super) hits: Vec<Hit>,
    pub(super) seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Hit {
    pub(super) rank: usize,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    /// The probability that it is right, from 0 to 1; the score of other retrievers than `best`.
    pub(super) confidence: f32,
    pub(super) fits: bool,
    pub(super) why: HitExplanation,
}

impl Service {
    pub(super) fn new(searcher: Searcher, index: Option<&Path>) -> Self {
        Self { searcher, index: index.map(Path::to_owned) }
    }

    /// Skills that are searched.
    pub(super) fn skills(&self) -> usize {
        self.searcher.index().len()
    }

    pub(super) fn answer(&self, request: &str, most: usize) -> Result<Response, SearchError> {
        let clock = Instant::now();
        let end = (0..=REQUEST_CAP.min(request.len())).rev().find(|end| request.is_char_boundary(*end));
        let request = &request[..end.unwrap_or(0)];
        let answer = self.searcher.search(request, most.min(MOST))?;
        let hits: Vec<Hit> = (1..)
            .zip(answer.hits)
            .map(|(rank, found)| Hit {
                rank,
                id: found.document.id,
                name: found.document.name,
                description: found.document.description,
                confidence: found.confidence,
                fits: found.fits,
                why: found.why,
            })
            .collect();
        Ok(Response {
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
