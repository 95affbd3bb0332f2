//! Retrievers: they rank skills for a request.

use std::sync::Arc;

use assay_model::ModelError;
use serde_json::{Value, json};

use crate::bm25::{length_norm, saturated};
use crate::index::{Counts, FIELDS, Field, Index, Lengths, idf};

/// A document's number in its index, and its score.
pub type Hit = (u32, f32);

/// Ranks documents for a query.
pub trait Retriever: Send + Sync {
    /// Its name on the command line and in reports.
    fn name(&self) -> &str;

    /// What its ranking depends on, for reports.
    fn options(&self) -> Value;

    /// The best documents, at most `most`: higher scores first, equal ones in order of their ids. A
    /// document with the score 0 is not a hit.
    ///
    /// # Errors
    /// Its model does not answer. Retrievers without a model never fail.
    fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError>;

    /// The highest possible score for a query: scores of different queries are comparable as shares
    /// of it.
    fn ceiling(&self, query: &str) -> f32;
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieverError {
    /// A vector or a score has a value that is not finite.
    #[error("{what} has a value that is not a finite number")]
    NotANumber {
        /// The source of the value.
        what: String,
    },
    /// A model's answer cannot be used.
    #[error("{what}")]
    Unusable {
        /// The received and expected values.
        what: String,
    },
    /// A model in a folder cannot be read or run.
    #[cfg(feature = "local-models")]
    #[error(transparent)]
    Encoder(assay_encoder::Error),
    /// A model in a folder, and a build that cannot run one.
    #[error("cannot run the model in {}: this assay was built without the feature `local-models`", folder.display())]
    NoLocalModels {
        /// The folder.
        folder: std::path::PathBuf,
    },
    /// A model behind an address gave no answer.
    #[error(transparent)]
    Model(ModelError),
}

/// A retriever that adds up one number for each word of the query.
pub struct Lexical {
    name: String,
    options: Value,
    index: Arc<Index>,
    weights: Vec<f32>,
    /// Whether a word that occurs twice in the query counts twice.
    repeats: bool,
}

/// k₁ and b of BM25, and the weight and b of every field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighting {
    /// How fast further occurrences of a word stop counting.
    pub k1: f64,
    /// By [`Field`]: how much an occurrence counts there.
    pub weights: [f64; FIELDS],
    /// By [`Field`]: how much the field's length counts, from 0 to 1.
    pub b: [f64; FIELDS],
}

impl Lexical {
    /// BM25 over one text made of fields, in Lucene's variant: idf · tf/(tf + k₁(1 − b +
    /// b·|d|/avgdl)).
    ///
    /// Source: Kamphuis, de Vries, Boytsov & Lin 2020, "Which BM25 do you mean?"; parameters by
    /// default as bm25s has them, k₁ 1.5 and b .75.
    pub fn bm25(name: &str, index: &Arc<Index>, fields: &[Field], k1: f64, b: f64) -> Self {
        let length = |lengths: &Lengths| fields.iter().map(|field| lengths[*field as usize]).sum::<u32>();
        let means = index.mean_lengths();
        let mean: f64 = fields.iter().map(|field| means[*field as usize]).sum();
        // Words outside these fields score nothing and do not count in document frequencies.
        let holds = |counts: &Counts| fields.iter().any(|field| counts[*field as usize] > 0);
        let holders = index.document_frequencies(holds);
        let weights = index.compute_weights(&holders, |holders, counts, lengths| {
            let tf: f64 = fields.iter().map(|field| f64::from(counts[*field as usize])).sum();
            if tf == 0.0 {
                return 0.0;
            }
            let norm = k1 * length_norm(b, f64::from(length(lengths)) / mean);
            single(saturated(idf(index.len(), holders), tf, norm))
        });
        let options = json!({
            "method": "bm25", "variant": "lucene", "k1": k1, "b": b,
            "fields": fields.iter().map(|field| format!("{field:?}").to_lowercase()).collect::<Vec<_>>(),
            "stemmer": index.stemmer(), "stop_words": "english (33)", "pattern": r"\b\w\w+\b",
        });
        Self { name: name.to_owned(), options, index: Arc::clone(index), weights, repeats: true }
    }

    /// BM25F: the occurrences of a word in each field, each divided by the field's length norm and
    /// weighed, are added before they saturate: tf̃ = Σ w·tf/(1 − b + b·|f|/avg|f|), score idf ·
    /// tf̃/(tf̃ + k₁).
    ///
    /// Source: Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework", §3.6.
    pub fn bm25f(name: &str, index: &Arc<Index>, weighting: &Weighting) -> Self {
        let means = index.mean_lengths();
        let holds =
            |counts: &Counts| (0..FIELDS).any(|field| weighting.weights[field] > 0.0 && counts[field] > 0);
        let holders = index.document_frequencies(holds);
        let weights = index.compute_weights(&holders, |holders, counts, lengths| {
            let tf: f64 = (0..FIELDS)
                .filter(|field| weighting.weights[*field] > 0.0 && counts[*field] > 0)
                .map(|field| {
                    let b = weighting.b[field];
                    let norm = length_norm(b, f64::from(lengths[field]) / means[field]);
                    weighting.weights[field] * f64::from(counts[field]) / norm
                })
                .sum();
            if tf == 0.0 { 0.0 } else { single(saturated(idf(index.len(), holders), tf, weighting.k1)) }
        });
        let by_field = |values: &[f64; FIELDS]| json!({ "name": values[0], "description": values[1], "headings": values[2], "body": values[3], "document": values[4] });
        let options = json!({
            "method": "bm25f", "k1": weighting.k1, "weights": by_field(&weighting.weights), "b": by_field(&weighting.b),
            "stemmer": index.stemmer(), "stop_words": "english (33)", "pattern": r"\b\w\w+\b",
        });
        Self { name: name.to_owned(), options, index: Arc::clone(index), weights, repeats: false }
    }

    /// The best documents, as [`Retriever::search`] gives them; it uses no model and so never
    /// fails.
    pub fn rank(&self, query: &str, most: usize) -> Vec<Hit> {
        best_hits(&self.scores(query), most)
    }

    /// The sums of all documents for the words of a query.
    fn scores(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.index.len()];
        let mut words = self.index.words_of(query);
        if !self.repeats {
            words.sort_unstable();
            words.dedup();
        }
        for word in words {
            let entries = self.index.entries(word);
            let weights = &self.weights[entries.clone()];
            for (document, weight) in self.index.documents(entries).iter().zip(weights) {
                scores[*document as usize] += weight;
            }
        }
        scores
    }
}

impl Retriever for Lexical {
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> Value {
        self.options.clone()
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError> {
        Ok(self.rank(query, most))
    }

    fn ceiling(&self, query: &str) -> f32 {
        self.index.information(query, self.repeats)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "weights are kept in single precision, as bm25s keeps them"
)]
fn single(weight: f64) -> f32 {
    weight as f32
}

/// The documents with the highest scores above 0, equal ones in order of their numbers, which is
/// that of their ids.
pub fn best_hits(scores: &[f32], most: usize) -> Vec<Hit> {
    ranked((0_u32..).zip(scores.iter().copied()), most)
}

/// The same of documents with their scores, in order of their numbers.
pub(crate) fn ranked(scores: impl Iterator<Item = Hit>, most: usize) -> Vec<Hit> {
    let order = |one: &Hit, other: &Hit| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
    let mut hits: Vec<Hit> = Vec::new();
    // The score to exceed: kept documents have smaller numbers, so a tie is not enough.
    let mut least = 0.0;
    for (number, score) in scores {
        if score > least {
            hits.push((number, score));
            if hits.len() > 2 * most {
                hits.select_nth_unstable_by(most.saturating_sub(1), order);
                hits.truncate(most);
                least = hits.last().map_or(f32::INFINITY, |hit| hit.1);
            }
        }
    }
    hits.sort_unstable_by(order);
    hits.truncate(most);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Stemmer;
    use crate::corpus::Document;

    fn index() -> Arc<Index> {
        let document = |id: &str, name: &str, description: &str| Document {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            ..Document::default()
        };
        let documents = vec![
            document("d", "log", "audit ledger"),
            document("c", "ledger", "log log log"),
            document("b", "mail", "letters"),
            document("a", "log", "audit ledger"),
        ];
        Arc::new(Index::build(documents, Stemmer::None))
    }

    #[test]
    fn scores_match_the_formula() {
        let index = index();
        let bm25 = Lexical::bm25("bm25", &index, &[Field::Name, Field::Description], 1.5, 0.75);
        // Lengths 3, 2, 4, 3 in order of ids; mean 3. `log` occurs in 3 of 4: idf = ln(1 +
        // 1.5/3.5).
        let idf = (1.0_f64 + 1.5 / 3.5).ln();
        let score = |tf: f64, length: f64| idf * tf / (tf + 1.5 * (0.25 + 0.75 * length / 3.0));
        let hits = bm25.rank("the LOG", 10);
        let expected = [(2, score(3.0, 4.0)), (0, score(1.0, 3.0)), (3, score(1.0, 3.0))];
        assert_eq!(hits.len(), 3);
        for (hit, (document, score)) in hits.iter().zip(expected) {
            assert!(
                hit.0 == document && (f64::from(hit.1) - score).abs() < 1e-6,
                "{hit:?} {document} {score}"
            );
        }
        assert_eq!(bm25.rank("log", 1), hits[..1]);
        assert!((bm25.rank("log log", 1)[0].1 - 2.0 * hits[0].1).abs() < 1e-6);
        assert_eq!(bm25.rank("", 5), []);
        assert_eq!(bm25.rank("unknown", 5), []);
    }

    #[test]
    fn fields_have_the_given_weights() {
        let index = index();
        let weighting = Weighting { k1: 1.0, weights: [4.0, 1.0, 0.0, 0.0, 0.0], b: [0.0; FIELDS] };
        let hits = Lexical::bm25f("bm25f", &index, &weighting).rank("ledger ledger", 10);
        // tf̃ is 4 for the name and 1 for a description; 3 of 4 documents contain the word.
        let idf = (1.0_f64 + 1.5 / 3.5).ln();
        for (hit, (document, tf)) in hits.iter().zip([(2, 4.0), (0, 1.0), (3, 1.0)]) {
            assert!(hit.0 == document && (f64::from(hit.1) - idf * tf / (tf + 1.0)).abs() < 1e-6, "{hit:?}");
        }
    }

    #[test]
    fn best_results_are_sorted() {
        let check = |scores: &[f32], most: usize, expected: &[u32]| {
            let found: Vec<u32> = best_hits(scores, most).into_iter().map(|hit| hit.0).collect();
            assert_eq!(found, expected);
        };
        check(&[1.0, 3.0, 0.0, 3.0, 2.0], 3, &[1, 3, 4]);
        check(&[1.0, 1.0, 1.0], 2, &[0, 1]);
        check(&[0.0, -1.0], 5, &[]);
        check(&[1.0], 0, &[]);
        check(&[1.0, 1.0, 1.0, 1.0, 2.0, 1.0], 2, &[4, 0]);
    }

    proptest::proptest! {
        #[test]
        fn best_results_match_a_full_sort(scores in proptest::collection::vec(0_u8..20, 0..200), most in 0_usize..30) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let mut all: Vec<Hit> = (0_u32..).zip(scores.iter().copied()).filter(|hit| hit.1 > 0.0).collect();
            all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            all.truncate(most);
            proptest::prop_assert_eq!(best_hits(&scores, most), all);
        }
    }
}
