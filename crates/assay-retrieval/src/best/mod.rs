//! `best`: the first hundred of BM25F, put in a new order by a linear model of what they share with the request.
//!
//! The model is a conditional logit (McFadden 1974): among the candidates of a request, the right one has the probability softmax(w · x).
//! [`train`](mod@train) fits it; docs/RETRIEVAL.md says how well it does on repositories that it was not fitted to, and what was
//! tried without gain. Nothing but name, description and SKILL.md takes part.

mod features;
pub mod train;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::corpus::Document;
use crate::index::{FIELDS, Field, Index};
use crate::index_file::IndexFile;
use crate::retriever::{Hit, Lexical, Retriever, RetrieverError, Weighting};

pub use features::{FEATURES, Features, NAMES};

/// A skill that the first ranking found.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) number: u32,
    pub(crate) features: Features,
    /// Whether the request names it as what it is not about.
    pub(crate) declined: bool,
}

/// Candidates that the first ranking gives.
const CANDIDATES: usize = 100;

/// Weights of the features, in the order of [`NAMES`]: `assay search train` over the 1,526 requests of docs/RETRIEVAL.md.
pub const WEIGHTS: Features =
    [4.6573, 1.8424, 0.4165, 2.1953, -1.9406, 0.6031, 2.3416, 0.3242, 3.8592, 5.5656, 1.2994, 1.0325, 0.2556];

/// From a candidate's share of the probability to how likely it is right at all ([`confidence`]).
const CALIBRATION: [f64; 3] = [2.0824, 1.7179, -0.6347];

/// Share of a request's information below which a candidate's confidence falls with what it shares. In a small library one word in
/// common can be all that any skill has; the probability alone, which is shared out among candidates, would be sure of it.
const COVER: f64 = 0.25;

/// What is left of the confidence in a skill that the request says it is not about. Small enough that it is never offered.
const DECLINED: f64 = 1e-6;

/// Where the texts of documents are.
pub(crate) trait Texts: Send + Sync {
    /// A document, by its number; `None` where it cannot be read.
    fn text(&self, number: u32) -> Option<Cow<'_, Document>>;
}

impl Texts for Arc<Vec<Document>> {
    fn text(&self, number: u32) -> Option<Cow<'_, Document>> {
        self.get(number as usize).map(Cow::Borrowed)
    }
}

impl Texts for &IndexFile {
    fn text(&self, number: u32) -> Option<Cow<'_, Document>> {
        self.document(number).ok().map(Cow::Owned)
    }
}

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
pub(crate) struct Best<T> {
    name: String,
    index: Arc<Index>,
    first: Lexical,
    texts: T,
}

impl<T: Texts> Best<T> {
    /// Over an index of stems, and the texts it was made of.
    pub(crate) fn new(name: &str, index: &Arc<Index>, texts: T) -> Self {
        let first = Lexical::bm25f(name, index, &FIRST);
        Self { name: name.to_owned(), index: Arc::clone(index), first, texts }
    }

    /// The candidates of a request and their features.
    pub(crate) fn candidates(&self, request: &str) -> Vec<Candidate> {
        let hits = self.first.rank(request, CANDIDATES);
        features::features(&self.index, &self.texts, request, &hits)
    }

    /// The best skills for a request.
    pub(crate) fn rank(&self, request: &str, most: usize) -> Vec<Hit> {
        let mut hits = confidence(&self.candidates(request), &WEIGHTS, &CALIBRATION);
        hits.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        hits.truncate(most);
        hits
    }
}

/// How likely each candidate is right: the logistic function of its log share of the probability, and of the share of the request's
/// information that the most covering candidate holds. Within a request the order is
/// that of the model, but for skills that the request declines.
fn confidence(candidates: &[Candidate], weights: &Features, calibration: &[f64; 3]) -> Vec<Hit> {
    let covered = candidates.iter().map(|own| own.features[features::COVERED]).fold(0.0, f64::max);
    let [constant, share, cover] = calibration;
    let likely = |log_share: f64, declined: bool| {
        let kept = if declined { DECLINED } else { 1.0 };
        let odds = constant + share * log_share + cover * covered;
        #[expect(clippy::cast_possible_truncation, reason = "scores are in single precision")]
        let likely = (kept * (covered / COVER).min(1.0) / (1.0 + (-odds).exp())) as f32;
        likely.max(f32::MIN_POSITIVE)
    };
    let shares = log_shares(candidates, weights);
    candidates.iter().zip(shares).map(|(own, share)| (own.number, likely(share, own.declined))).collect()
}

/// The logarithm of every candidate's share of the probability.
fn log_shares(candidates: &[Candidate], weights: &Features) -> Vec<f64> {
    let sums: Vec<f64> = candidates.iter().map(|own| dot(weights, &own.features)).collect();
    let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all = sums.iter().map(|sum| (sum - most).exp()).sum::<f64>().ln() + most;
    sums.into_iter().map(|sum| sum - all).collect()
}

pub(crate) fn dot(one: &Features, other: &Features) -> f64 {
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
            "weights": weights, "calibration": CALIBRATION, "cover": COVER, "dense": null,
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
