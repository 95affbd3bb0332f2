//! `rerank`: the first hits of a retriever, reordered by a model that reads request and skill
//! together.

mod chat;
#[cfg(feature = "local-models")]
mod local;
mod remote;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::corpus::Document;
use crate::dense::full;
use crate::retriever::{Hit, Retriever, RetrieverError};

pub use chat::YesNo;
#[cfg(feature = "local-models")]
pub use local::Local;
pub use remote::{Remote, Scale};

/// How many hits are reranked by default; as deep as SkillRet reranks.
pub const DEPTH: usize = 20;

/// Most bytes of a skill that a model reads.
const READ: usize = 8 << 10;

/// The least score. A hit has a score above 0, however little a model thinks of it.
const LEAST: f32 = 1e-6;

/// Scores the relevance of skills to a request.
pub trait Reranker: Send + Sync {
    /// What its scores depend on, for reports.
    fn options(&self) -> Value;

    /// For each document how likely it serves the request, from 0 to 1.
    fn scores(&self, query: &str, documents: &[&str]) -> Result<Vec<f32>, RetrieverError>;
}

/// Puts the first hits of a retriever in a new order.
pub struct Rerank {
    name: String,
    first: Box<dyn Retriever>,
    documents: Arc<Vec<Document>>,
    reranker: Box<dyn Reranker>,
    depth: usize,
}

impl Rerank {
    /// Over the documents that the first retriever ranks, by its numbers.
    pub fn new(
        name: &str,
        first: Box<dyn Retriever>,
        documents: Arc<Vec<Document>>,
        reranker: Box<dyn Reranker>,
        depth: usize,
    ) -> Self {
        Self { name: name.to_owned(), first, documents, reranker, depth }
    }
}

/// The new order: by the model's scores, ties in the old order; then the hits that were not
/// rescored, unchanged. A hit's score is the model's, reduced slightly where needed to keep the
/// scores falling.
fn reordered(hits: &[Hit], scores: &[f32]) -> Vec<Hit> {
    let mut judged: Vec<Hit> =
        hits.iter().zip(scores).map(|((number, _), score)| (*number, *score)).collect();
    judged.sort_by(|one, other| other.1.total_cmp(&one.1));
    let rest = hits.iter().skip(judged.len()).map(|(number, _)| (*number, 1.0));
    let mut before = f32::INFINITY;
    let mut falling = |(number, score): Hit| {
        before = score.max(LEAST).min(before.next_down());
        (number, before)
    };
    judged.iter().copied().chain(rest).map(&mut falling).collect()
}

impl Retriever for Rerank {
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> Value {
        json!({
            "method": "rerank", "depth": self.depth, "bytes": READ, "first": self.first.name(),
            "first_options": self.first.options(), "reranker": self.reranker.options(),
        })
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError> {
        let mut hits = self.first.search(query, most.max(self.depth))?;
        let text = |(number, _): &Hit| {
            self.documents.get(*number as usize).map(|own| full(own, READ)).unwrap_or_default()
        };
        let texts: Vec<String> = hits.iter().take(self.depth).map(text).collect();
        if !texts.is_empty() {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let scores = self.reranker.scores(query, &texts)?;
            if scores.len() != texts.len() {
                let what = format!("a reranker gave {} scores for {} skills", scores.len(), texts.len());
                return Err(RetrieverError::Unusable { what });
            }
            if !scores.iter().all(|score| score.is_finite()) {
                return Err(RetrieverError::NotANumber { what: "a reranker's answer".to_owned() });
            }
            hits = reordered(&hits, &scores);
        }
        hits.truncate(most);
        Ok(hits)
    }

    /// A score is a probability.
    fn ceiling(&self, _: &str) -> f32 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::tests::documents;
    use crate::retriever::Lexical;
    use crate::{Field, Index, analysis::Stemmer};

    /// Scores texts by how often they contain a word, in tenths.
    struct KeywordReranker(&'static str, usize);

    impl Reranker for KeywordReranker {
        fn options(&self) -> Value {
            json!(self.0)
        }

        fn scores(&self, _: &str, documents: &[&str]) -> Result<Vec<f32>, RetrieverError> {
            let of =
                |text: &&str| if text.contains("NaN") { f32::NAN } else { f32::from(text.contains(self.0)) };
            Ok(documents.iter().take(self.1).map(of).collect())
        }
    }

    fn rerank(documents: &[Document], reranker: KeywordReranker, depth: usize) -> Rerank {
        let index = Arc::new(Index::build(documents.to_vec(), Stemmer::None));
        let first =
            Lexical::bm25("bm25", &index, &[Field::Name, Field::Description, Field::Document], 1.5, 0.75);
        Rerank::new("rerank", Box::new(first), Arc::new(documents.to_vec()), Box::new(reranker), depth)
    }

    #[test]
    fn first_hits_are_reranked() {
        let check = |liked: &'static str, depth: usize, most: usize, expected: &[u32]| {
            let hits = rerank(&documents(), KeywordReranker(liked, 99), depth).search("bb", most).unwrap();
            assert_eq!(hits.iter().map(|hit| hit.0).collect::<Vec<_>>(), expected, "{liked} {depth} {most}");
            assert!(hits.windows(2).all(|pair| pair[0].1 > pair[1].1) && hits.iter().all(|hit| hit.1 > 0.0));
        };
        // `bb` occurs most often in b, then in a, then in the longer c.
        check("unknown", 20, 9, &[1, 0, 2]);
        check("ccc", 20, 9, &[0, 2, 1]);
        check("dddd", 20, 9, &[2, 1, 0]);
        check("dddd", 2, 9, &[1, 0, 2]);
        check("bb ccc", 2, 9, &[0, 1, 2]);
        check("dddd", 20, 1, &[2]);
        check("ccc", 0, 9, &[1, 0, 2]);
        assert!(rerank(&documents(), KeywordReranker("a", 99), 20).search("  ", 9).unwrap().is_empty());
        assert!(rerank(&[], KeywordReranker("a", 99), 20).search("bb", 9).unwrap().is_empty());
    }

    #[test]
    fn invalid_scores_are_rejected() {
        let mut documents = documents();
        let error = rerank(&documents, KeywordReranker("a", 2), 20).search("bb", 9).unwrap_err().to_string();
        assert_eq!(error, "a reranker gave 2 scores for 3 skills");
        documents[0].description = "NaN".to_owned();
        let error = rerank(&documents, KeywordReranker("a", 99), 20).search("bb", 9).unwrap_err().to_string();
        assert_eq!(error, "a reranker's answer has a value that is not a finite number");
    }
}
