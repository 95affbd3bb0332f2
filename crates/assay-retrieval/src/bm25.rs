//! BM25 in the form Lucene computes it.
//!
//! score(d, q) = Σ over the words t of q: idf(t) · tf / (tf + k₁ · (1 − b + b · |d| / avgdl)), with
//! idf(t) = ln(1 + (N − df + ½) / (df + ½)). Source: Robertson & Zaragoza 2009, "The Probabilistic
//! Relevance Framework: BM25 and Beyond", in the variant that Kamphuis, de Vries, Boytsov & Lin
//! 2020, "Which BM25 do you mean?", call Lucene (accurate).

use std::collections::BTreeMap;

use crate::index::idf;
use crate::words;

/// k₁ and b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// How fast further occurrences of a word stop counting.
    pub k1: f64,
    /// How much a document's length counts, from 0 to 1.
    pub b: f64,
}

impl Default for Parameters {
    /// The defaults of bm25s and other BM25 libraries.
    fn default() -> Self {
        Self { k1: 1.5, b: 0.75 }
    }
}

/// Length normalization; `length` is relative to the mean.
pub(crate) fn length_norm(b: f64, length: f64) -> f64 {
    1.0 - b + b * length
}

/// The score of a word that occurs `tf` times: further occurrences count less and less.
pub(crate) fn saturated(idf: f64, tf: f64, norm: f64) -> f64 {
    idf * tf / (tf + norm)
}

/// An index over a collection of texts.
#[derive(Debug, Clone)]
pub struct Bm25 {
    parameters: Parameters,
    /// For each word, the documents that contain it and how often.
    postings: BTreeMap<String, Vec<(u32, u32)>>,
    lengths: Vec<u32>,
    mean_length: f64,
}

impl Bm25 {
    /// Indexes texts; they are named by their place.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>, parameters: Parameters) -> Self {
        let mut postings: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (place, text) in (0_u32..).zip(texts) {
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            let words = words(text);
            lengths.push(u32::try_from(words.len()).unwrap_or(u32::MAX));
            for word in words {
                *counts.entry(word).or_default() += 1;
            }
            for (word, count) in counts {
                postings.entry(word).or_default().push((place, count));
            }
        }
        let total: f64 = lengths.iter().map(|length| f64::from(*length)).sum();
        let mean_length = if lengths.is_empty() { 0.0 } else { total / lengths.len() as f64 };
        Self { parameters, postings, lengths, mean_length }
    }

    /// Every text that shares a word with the query, best first; equal scores in the order of the
    /// texts. A word that occurs twice in the query counts twice.
    pub fn rank(&self, query: &str) -> Vec<(usize, f64)> {
        let Parameters { k1, b } = self.parameters;
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for word in words(query) {
            let Some(holders) = self.postings.get(&word) else { continue };
            let idf = idf(self.lengths.len(), holders.len());
            for &(place, count) in holders {
                let place = place as usize;
                let length = f64::from(self.lengths[place]) / self.mean_length;
                *scores.entry(place).or_default() +=
                    saturated(idf, f64::from(count), k1 * length_norm(b, length));
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 4] =
        ["export the ledger in minor units", "audit the log", "the ledger and the log", "migrate schema"];

    #[test]
    fn scores_match_the_formula() {
        let index = Bm25::new(TEXTS, Parameters { k1: 1.2, b: 0.5 });
        let ranked = index.rank("ledger");
        // N = 4, df = 2: idf = ln(1 + 2.5/2.5) = ln 2. Lengths 6, 3, 5, 2, mean 4. Text 2: 1 / (1 +
        // 1.2 (.5 + .5 · 5/4)) = 1 / 2.35; text 0: 1 / (1 + 1.2 (.5 + .5 · 6/4)) = 1 / 2.5.
        let expected = [(2, 2.0_f64.ln() / 2.35), (0, 2.0_f64.ln() / 2.5)];
        assert_eq!(ranked.len(), 2);
        for (found, expected) in ranked.iter().zip(expected) {
            assert_eq!(found.0, expected.0);
            assert!((found.1 - expected.1).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn ranks_are_valid_at_the_edges() {
        let index = Bm25::new(TEXTS, Parameters::default());
        assert_eq!(index.rank(""), []);
        assert_eq!(index.rank("nothing here matches"), []);
        assert_eq!(Bm25::new([], Parameters::default()).rank("ledger"), []);
        assert_eq!(Bm25::new(["", "."], Parameters::default()).rank("ledger"), []);
        // Equal texts come in their order.
        let same = Bm25::new(["one two", "one two"], Parameters::default());
        assert_eq!(same.rank("two").iter().map(|hit| hit.0).collect::<Vec<_>>(), [0, 1]);
    }

    proptest::proptest! {
        #[test]
        fn a_further_occurrence_never_lowers_a_score(query in "[a-d]{2}( [a-d]{2}){0,4}", text in "[a-d]{2}( [a-d]{2}){0,8}") {
            let parameters = Parameters { k1: 1.5, b: 0.0 };
            let word = query.split(' ').next().unwrap();
            let longer = format!("{text} {word}");
            let index = Bm25::new([text.as_str(), longer.as_str(), "zz"], parameters);
            let scores: BTreeMap<usize, f64> = index.rank(&query).into_iter().collect();
            proptest::prop_assert!(scores[&1] >= scores.get(&0).copied().unwrap_or(0.0));
        }
    }
}
