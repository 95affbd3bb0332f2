//! `best`: the first hundred of BM25F, reordered by a linear model of their overlap with the
//! request.
//!
//! The model is a conditional logit (McFadden 1974): among the candidates of a request, the right
//! one has the probability softmax(w · x). `assay lab search train` fits it; docs/lab/RETRIEVAL.md has
//! its quality on repositories that it was not fitted to, and what was tried without gain. It uses
//! name, description and SKILL.md only.

mod answerable;
mod candidate;
mod features;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::analysis::Stemmer;
use crate::index::{FIELDS, Field, Index};
use crate::related::related;
use crate::retriever::{Hit, Lexical, Retriever, RetrieverError, Weighting};

pub use answerable::{SIGNAL_NAMES, SIGNALS, Signals};
pub use candidate::{Candidate, Coverage, FEATURES, Features, Texts};
pub use features::NAMES;

use answerable::{ABSTENTION, ANSWERED};

/// How its index makes words.
pub(crate) const DEFAULT_STEMMER: Stemmer = Stemmer::English;

/// The confidence from which a skill after the first is suitable.
pub const DEFAULT_THRESHOLD: f64 = 0.26;

/// Candidates that the first ranking gives.
const CANDIDATES: usize = 100;

/// Weights of the features, in the order of [`NAMES`]: `assay lab search train` over the 1,526
/// requests of docs/lab/RETRIEVAL.md.
pub const WEIGHTS: Features =
    [4.6573, 1.8424, 0.4165, 2.1953, -1.9406, 0.6031, 2.3416, 0.3242, 3.8592, 5.5656, 1.2994, 1.0325, 0.2556];

/// From a candidate's share of the probability to how likely it is right at all ([`rate_candidates`]).
const CALIBRATION: [f64; 2] = [1.5697, 1.7094];

/// Factor on the confidence of a skill that the request excludes by name. Small enough that it is
/// never offered.
const DECLINED: f64 = 1e-6;

/// The weights of the first ranking's fields.
pub(crate) const FIRST: Weighting = {
    let mut weights = [0.0; FIELDS];
    weights[Field::Name as usize] = 3.0;
    weights[Field::Description as usize] = 3.0;
    weights[Field::Headings as usize] = 1.5;
    weights[Field::Body as usize] = 1.0;
    Weighting { k1: 2.5, weights, b: [0.75; FIELDS] }
};

/// The retriever.
pub struct Best<T> {
    name: String,
    index: Arc<Index>,
    first: Lexical,
    texts: T,
}

impl<T: Texts> Best<T> {
    /// Over an index of stems, and its documents.
    pub fn new(name: &str, index: &Arc<Index>, texts: T) -> Self {
        let first = Lexical::bm25f(name, index, &FIRST);
        Self { name: name.to_owned(), index: Arc::clone(index), first, texts }
    }

    /// The candidates of a request and their features.
    pub fn candidates(&self, request: &str) -> Vec<Candidate> {
        let is_known = |stem: &str| self.index.number(stem).is_some();
        let related = related(&request.to_lowercase(), self.index.stemmer(), is_known);
        let hits = if related.is_empty() {
            self.first.rank(request, CANDIDATES)
        } else {
            self.first.rank(&format!("{request} {}", related.join(" ")), CANDIDATES)
        };
        features::features(&self.index, &self.texts, request, &related, &hits)
    }

    /// The best skills for a request.
    pub fn rank(&self, request: &str, most: usize) -> Vec<Hit> {
        self.answer(request, most).hits
    }

    /// The best skills for a request, and whether there is any that serves it.
    pub fn answer(&self, request: &str, most: usize) -> Ranked {
        let mut ranked = rate_candidates(&self.candidates(request), &WEIGHTS, &CALIBRATION, self.index.len());
        ranked.hits.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked.hits.truncate(most);
        ranked
    }
}

/// Skills by how likely they are right.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The probability that the library contains a skill that serves the request.
    pub answerable: f64,
    /// The signals of that probability.
    pub signals: Option<Signals>,
    /// Skills with their confidences.
    pub hits: Vec<Hit>,
}

impl Ranked {
    /// Whether the request is answered.
    pub fn is_answered(&self) -> bool {
        self.answerable >= ANSWERED
    }

    /// Whether a hit is offered, by its place and confidence: if the request is answered, the first
    /// is, and others that are likely enough. Where many skills resemble each other, each of them
    /// may be unlikely, and the request still has an answer.
    pub(crate) fn is_offered(&self, place: usize, confidence: f32) -> bool {
        let confidence = f64::from(confidence);
        self.is_answered() && (confidence >= DEFAULT_THRESHOLD || (place == 0 && confidence > 2.0 * DECLINED))
    }
}

/// How likely each candidate is right: how likely it is that any skill serves the request, times
/// the logistic function of the candidate's log share of the probability. Within a request the
/// order is that of the model, but for skills that the request declines.
pub fn rate_candidates(
    candidates: &[Candidate],
    weights: &Features,
    calibration: &[f64; 2],
    documents: usize,
) -> Ranked {
    let [constant, share] = calibration;
    let shares = log_shares(candidates, weights);
    let signals = answerable::signals(candidates, &shares, documents);
    let answerable = answerable::answerable(signals, &ABSTENTION);
    // Hits of a declined request never reach the threshold.
    let any = if answerable >= ANSWERED { answerable } else { answerable / ANSWERED * DEFAULT_THRESHOLD };
    let likely = |log_share: f64, declined: bool| {
        let kept = if declined { DECLINED } else { 1.0 };
        let odds = constant + share * log_share;
        #[expect(clippy::cast_possible_truncation, reason = "scores are in single precision")]
        let likely = (kept * any / (1.0 + (-odds).exp())) as f32;
        likely.max(f32::MIN_POSITIVE)
    };
    let hits = candidates.iter().zip(shares).map(|(own, share)| (own.number, likely(share, own.declined)));
    Ranked { answerable, signals, hits: hits.collect() }
}

/// The logarithm of every candidate's share of the probability.
pub fn log_shares(candidates: &[Candidate], weights: &Features) -> Vec<f64> {
    let sums: Vec<f64> = candidates.iter().map(|own| dot(weights, &own.features)).collect();
    let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all = sums.iter().map(|sum| (sum - most).exp()).sum::<f64>().ln() + most;
    sums.into_iter().map(|sum| sum - all).collect()
}

/// The sum of products.
pub fn dot(one: &Features, other: &Features) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

impl<T: Texts> Retriever for Best<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> Value {
        let weights: serde_json::Map<String, Value> =
            NAMES.iter().zip(WEIGHTS).map(|(name, weight)| ((*name).to_owned(), json!(weight))).collect();
        json!({
            "method": "conditional logit over the first of bm25f", "candidates": CANDIDATES, "first": self.first.options(),
            "weights": weights, "calibration": CALIBRATION, "abstention": ABSTENTION, "dense": null,
        })
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError> {
        Ok(self.rank(query, most))
    }

    /// A score is a probability.
    fn ceiling(&self, _: &str) -> f32 {
        1.0
    }
}

#[cfg(test)]
mod tests;
