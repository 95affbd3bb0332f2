//! Sentence erasure: how much of a retriever's quality depends on one sentence of the request.
//!
//! Each sentence of a request is masked in turn, and the search is repeated. The sentence without
//! which the gold skill's score falls most is the most important one. The analysis uses only the
//! public interface of a retriever, so lexical and dense ones are treated alike.

use rayon::prelude::*;
use serde::Serialize;

use super::Query;
use super::pool::{Estimate, by_gold, ndcg};
use assay_retrieval::{Index, Retriever, RetrieverError, sentences};

/// The mark shown in place of a masked sentence.
const MASK: &str = "[…]";

/// Sentences of one request that are masked at most; the rest of a longer request stays.
const SENTENCES: usize = 50;

/// Requests that are shown: those that lose most.
const SHOWN: usize = 20;

/// The depth of NDCG.
const DEPTH: usize = 10;

/// What masking does to one retriever.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Erasure {
    /// In which pool.
    pub(crate) pool: &'static str,
    /// The retriever.
    pub(crate) retriever: String,
    /// Requests of two sentences or more: the others cannot lose one.
    pub(crate) queries: usize,
    /// Of these, those whose gold skill has a score that can fall.
    pub(crate) scored: usize,
    /// By what share the gold skill's score falls without the most important sentence, over those
    /// that are scored.
    pub(crate) score_drop: Estimate,
    /// The same, without any one sentence, on average.
    pub(crate) score_drop_any: Estimate,
    /// NDCG@10 of the complete requests.
    #[serde(rename = "ndcg@10")]
    pub(crate) ndcg: Estimate,
    /// By how much it falls without the most important sentence.
    #[serde(rename = "ndcg@10_drop")]
    pub(crate) ndcg_drop: Estimate,
    /// By how much it falls without any one sentence, on average.
    #[serde(rename = "ndcg@10_drop_any")]
    pub(crate) ndcg_drop_any: Estimate,
    /// The requests whose NDCG@10 falls most, then those whose score does.
    pub(crate) examples: Vec<MaskedQuery>,
}

/// A request without its most important sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MaskedQuery {
    /// The request.
    pub(crate) query: String,
    /// The sentence that was masked.
    pub(crate) sentence: String,
    /// The query, with a mark in place of the sentence. The retriever got a space there.
    pub(crate) text: String,
    /// Sentences of the request.
    pub(crate) sentences: usize,
    /// Score of the gold skill, before and after.
    pub(crate) score: [f32; 2],
    /// NDCG@10, before and after.
    #[serde(rename = "ndcg@10")]
    pub(crate) ndcg: [f64; 2],
}

/// A request, complete and with one sentence masked after another.
struct Erased<'a> {
    query: &'a Query,
    whole: (f32, f64),
    /// By sentence: the sentence, and the remaining score and NDCG.
    without: Vec<(&'a str, f32, f64)>,
    /// The place of the most important sentence.
    most: usize,
}

/// Masks the sentences of every request of two or more, one at a time.
///
/// # Errors
/// The retriever failed.
pub(crate) fn erase(
    pool: &'static str,
    retriever: &dyn Retriever,
    index: &Index,
    queries: &[Query],
    seed: u64,
) -> Result<Erasure, RetrieverError> {
    let erased: Vec<Erased<'_>> = queries
        .par_iter()
        .filter_map(|query| masked(retriever, index, query).transpose())
        .collect::<Result<_, _>>()?;
    let estimate = |of: &dyn Fn(&Erased<'_>) -> Option<f64>| {
        let values: Vec<(&Query, f64)> =
            erased.iter().filter_map(|own| Some((own.query, of(own)?))).collect();
        by_gold(&values, seed)
    };
    let mean = |own: &Erased<'_>, of: &dyn Fn(&(&str, f32, f64)) -> f64| {
        own.without.iter().map(of).sum::<f64>() / own.without.len() as f64
    };
    let fallen = |own: &Erased<'_>, score: f32| {
        (own.whole.0 > 0.0).then(|| f64::from(own.whole.0 - score) / f64::from(own.whole.0))
    };
    Ok(Erasure {
        pool,
        retriever: retriever.name().to_owned(),
        queries: erased.len(),
        scored: erased.iter().filter(|own| own.whole.0 > 0.0).count(),
        score_drop: estimate(&|own| fallen(own, own.without[own.most].1)),
        score_drop_any: estimate(&|own| {
            (own.whole.0 > 0.0).then(|| mean(own, &|(_, score, _)| fallen(own, *score).unwrap_or(0.0)))
        }),
        ndcg: estimate(&|own| Some(own.whole.1)),
        ndcg_drop: estimate(&|own| Some(own.whole.1 - own.without[own.most].2)),
        ndcg_drop_any: estimate(&|own| Some(mean(own, &|(_, _, ndcg)| own.whole.1 - ndcg))),
        examples: examples(&erased),
    })
}

fn masked<'a>(
    retriever: &dyn Retriever,
    index: &Index,
    query: &'a Query,
) -> Result<Option<Erased<'a>>, RetrieverError> {
    let parts: Vec<&str> = sentences(&query.text).take(SENTENCES).collect();
    if parts.len() < 2 {
        return Ok(None);
    }
    let asked = |text: &str| -> Result<(f32, f64), RetrieverError> {
        let hits = retriever.search(text, index.len())?;
        let is_gold = |document: u32| query.gold.contains(index.id(document));
        let score = hits.iter().find(|(document, _)| is_gold(*document)).map_or(0.0, |(_, score)| *score);
        let ranking: Vec<&str> = hits.iter().take(DEPTH).map(|(document, _)| index.id(*document)).collect();
        Ok((score, ndcg(&ranking, query)))
    };
    let without: Vec<(&str, f32, f64)> = parts
        .iter()
        .map(|sentence| {
            let (score, ndcg) = asked(&replaced(&query.text, sentence, " "))?;
            Ok((*sentence, score, ndcg))
        })
        .collect::<Result<_, RetrieverError>>()?;
    let lower = |one: usize, other: usize| if without[other].1 < without[one].1 { other } else { one };
    let most = (1..without.len()).fold(0, lower);
    Ok(Some(Erased { query, whole: asked(&query.text)?, without, most }))
}

/// A text with one part of it, a slice of the text itself, replaced.
fn replaced(text: &str, part: &str, by: &str) -> String {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    format!("{}{by}{}", &text[..start], &text[start + part.len()..])
}

fn examples(erased: &[Erased<'_>]) -> Vec<MaskedQuery> {
    let mut all: Vec<MaskedQuery> = erased
        .iter()
        .map(|own| {
            let (sentence, score, ndcg) = own.without[own.most];
            MaskedQuery {
                query: own.query.id.clone(),
                sentence: sentence.to_owned(),
                text: replaced(&own.query.text, sentence, MASK),
                sentences: own.without.len(),
                score: [own.whole.0, score],
                ndcg: [own.whole.1, ndcg],
            }
        })
        .collect();
    let fallen = |own: &MaskedQuery| {
        let score = f64::from(own.score[0] - own.score[1]) / f64::from(own.score[0].max(f32::MIN_POSITIVE));
        (own.ndcg[0] - own.ndcg[1], score)
    };
    all.sort_by(|one, other| {
        let (one_falls, other_falls) = (fallen(one), fallen(other));
        other_falls
            .0
            .total_cmp(&one_falls.0)
            .then(other_falls.1.total_cmp(&one_falls.1))
            .then(one.query.cmp(&other.query))
    });
    all.truncate(SHOWN);
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use assay_retrieval::Document;
    use assay_retrieval::Field;
    use assay_retrieval::Lexical;
    use assay_retrieval::analysis::Stemmer;

    #[test]
    fn the_sentence_that_names_the_skill_is_the_most_important() {
        let document = |id: &str, text: &str| Document {
            id: id.to_owned(),
            description: text.to_owned(),
            ..Document::default()
        };
        let documents = vec![
            document("tables", "make pivot tables"),
            document("logs", "audit logs"),
            document("mail", "write letters quickly"),
        ];
        let index = Arc::new(Index::build(documents, Stemmer::None));
        let bm25 = Lexical::bm25("bm25", &index, &[Field::Description], 1.5, 0.75);
        let query = |id: &str, text: &str, gold: &str| Query {
            id: id.to_owned(),
            text: text.to_owned(),
            gold: BTreeSet::from([gold.to_owned()]),
            ..Query::default()
        };
        let queries = [
            query("one", "I am in a hurry. Please make pivot tables! Answer quickly.", "tables"),
            query("short", "audit logs", "logs"),
            query("lost", "Nothing here. Nor here.", "mail"),
            query("twice", "audit\naudit logs", "logs"),
        ];
        let found = erase("all", &bm25, &index, &queries, 1).unwrap();
        assert_eq!((found.queries, found.scored), (3, 2));
        let first = &found.examples[0];
        assert_eq!((first.query.as_str(), first.sentence.as_str()), ("one", "Please make pivot tables!"));
        assert_eq!(first.text, "I am in a hurry. […] Answer quickly.");
        assert_eq!((first.ndcg, first.score[1], first.sentences), ([1.0, 0.0], 0.0, 3));
        let twice = found.examples.iter().find(|own| own.query == "twice").unwrap();
        assert_eq!((twice.sentence.as_str(), twice.text.as_str()), ("audit logs", "audit\n[…]"));
        // `one` loses everything; `twice` keeps one of three equal parts of its score: `audit` and
        // `logs` have equal weights.
        let third = 2.0 / 3.0;
        assert!((found.score_drop.mean - f64::midpoint(1.0, third)).abs() < 1e-6, "{found:#?}");
        // Any one sentence: a third of 1, and the mean of 1/3 and 2/3.
        assert!((found.score_drop_any.mean - f64::midpoint(1.0 / 3.0, 0.5)).abs() < 1e-6, "{found:#?}");
        // NDCG of the three is 1, 0 and 1; only `one` loses it, and only without one of its three
        // sentences.
        assert!((found.ndcg.mean - 2.0 / 3.0).abs() < 1e-12);
        assert!((found.ndcg_drop.mean - 1.0 / 3.0).abs() < 1e-12);
        assert!((found.ndcg_drop_any.mean - 1.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn sentence_is_masked_in_place() {
        let text = "a b. a b. c";
        let parts: Vec<&str> = sentences(text).collect();
        assert_eq!(replaced(text, parts[1], "-"), "a b. - c");
        assert_eq!(replaced(text, parts[2], ""), "a b. a b. ");
    }
}
