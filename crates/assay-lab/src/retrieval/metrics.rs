//! How good one ranking is.
//!
//! With binary judgements, as trec_eval and ranx compute them: the discounted gain of a document at
//! place i is 1/log₂(i + 1), the ideal ranking has all relevant documents first, and a query
//! without results has 0 everywhere.

use std::collections::BTreeSet;

use serde::Serialize;

/// A measure of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Metric {
    /// Normalised discounted cumulative gain at a depth (Järvelin & Kekäläinen 2002, with binary
    /// gains).
    Ndcg(usize),
    /// Share of the relevant documents within a depth.
    Recall(usize),
    /// 1 if all relevant documents are within a depth (SkillRet's Completeness).
    Completeness(usize),
    /// One over the place of the first relevant document.
    Mrr,
    /// 1 if the first hit is relevant.
    Hit,
    /// Mean over the relevant documents of the precision at their place (average precision).
    Map,
}

impl Metric {
    /// Those that are reported, in their order.
    pub(crate) const ALL: [Self; 12] = [
        Self::Ndcg(5),
        Self::Ndcg(10),
        Self::Ndcg(15),
        Self::Recall(5),
        Self::Recall(10),
        Self::Recall(15),
        Self::Completeness(5),
        Self::Completeness(10),
        Self::Completeness(15),
        Self::Mrr,
        Self::Hit,
        Self::Map,
    ];

    /// The name it has in reports: `ndcg@10`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Ndcg(depth) => format!("ndcg@{depth}"),
            Self::Recall(depth) => format!("recall@{depth}"),
            Self::Completeness(depth) => format!("completeness@{depth}"),
            Self::Mrr => "mrr".to_owned(),
            Self::Hit => "hit@1".to_owned(),
            Self::Map => "map".to_owned(),
        }
    }
}

/// The values of [`Metric::ALL`], in their order.
pub(crate) type Scores = [f64; Metric::ALL.len()];

/// The relevant documents of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RelevantSets<'a> {
    /// The documents that are relevant.
    pub(crate) relevant: BTreeSet<&'a str>,
    /// Documents any of which may replace a relevant one (near-duplicates, or declared acceptable).
    /// They count if the relevant documents are too few to fill the ranking: each replaces one
    /// relevant document not yet seen.
    pub(crate) acceptable: BTreeSet<&'a str>,
}

/// The measures of one ranking of ids, the best first. Without relevant documents all are 0.
pub(crate) fn score(ranking: &[&str], judged: &RelevantSets<'_>) -> Scores {
    let wanted = judged.relevant.len();
    // Places, from 1, at which one more relevant document is found.
    let mut places = Vec::new();
    for (place, id) in (1..).zip(ranking) {
        if places.len() < wanted && (judged.relevant.contains(id) || judged.acceptable.contains(id)) {
            places.push(place);
        }
    }
    // A sum of nothing is -0.0; adding 0 makes it 0.
    Metric::ALL.map(|metric| value(metric, &places, wanted) + 0.0)
}

fn value(metric: Metric, places: &[usize], wanted: usize) -> f64 {
    if wanted == 0 {
        return 0.0;
    }
    let within = |depth: usize| places.iter().take_while(move |place| **place <= depth);
    let gain = |place: usize| 1.0 / (place as f64 + 1.0).log2();
    match metric {
        Metric::Ndcg(depth) => {
            let ideal: f64 = (1..=wanted.min(depth)).map(gain).sum();
            within(depth).map(|place| gain(*place)).sum::<f64>() / ideal
        }
        Metric::Recall(depth) => within(depth).count() as f64 / wanted as f64,
        Metric::Completeness(depth) => f64::from(u8::from(within(depth).count() == wanted)),
        Metric::Mrr => places.first().map_or(0.0, |place| 1.0 / *place as f64),
        Metric::Hit => f64::from(u8::from(places.first() == Some(&1))),
        Metric::Map => {
            let found = (1..).zip(places).map(|(found, place)| f64::from(found) / *place as f64);
            found.sum::<f64>() / wanted as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn judged<'a>(relevant: &[&'a str], acceptable: &[&'a str]) -> RelevantSets<'a> {
        RelevantSets {
            relevant: relevant.iter().copied().collect(),
            acceptable: acceptable.iter().copied().collect(),
        }
    }

    fn of(metric: Metric, scores: &Scores) -> f64 {
        scores[Metric::ALL.iter().position(|other| *other == metric).unwrap()]
    }

    #[test]
    fn metrics_match_hand_computation() {
        let ranking = ["x", "a", "y", "b", "z", "c"];
        let scores = score(&ranking, &judged(&["a", "b", "q"], &[]));
        let log = |n: f64| n.log2();
        let expected = [
            (Metric::Ndcg(5), (1.0 / log(3.0) + 1.0 / log(5.0)) / (1.0 + 1.0 / log(3.0) + 1.0 / log(4.0))),
            (Metric::Recall(5), 2.0 / 3.0),
            (Metric::Completeness(15), 0.0),
            (Metric::Mrr, 0.5),
            (Metric::Hit, 0.0),
            (Metric::Map, (1.0 / 2.0 + 2.0 / 4.0) / 3.0),
        ];
        for (metric, expected) in expected {
            assert!((of(metric, &scores) - expected).abs() < 1e-12, "{}", metric.name());
        }
        let all = |scores: Scores, expected: f64| scores.iter().all(|score| (score - expected).abs() < 1e-12);
        assert!(all(score(&[], &judged(&["a"], &[])), 0.0));
        assert!(all(score(&ranking, &judged(&[], &["a"])), 0.0));
        assert!(all(score(&["a"], &judged(&["a"], &[])), 1.0));
    }

    #[test]
    fn acceptable_document_replaces_one_relevant() {
        let strict = score(&["b", "c", "a"], &judged(&["a"], &[]));
        let lenient = score(&["b", "c", "a"], &judged(&["a"], &["b", "c"]));
        assert!((of(Metric::Mrr, &strict) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(
            (of(Metric::Hit, &lenient), of(Metric::Map, &lenient), of(Metric::Recall(5), &lenient)),
            (1.0, 1.0, 1.0)
        );
    }

    /// pytrec_eval 0.5.11 on rankings that `scripts/retrieval-reference` drew.
    #[test]
    fn measures_equal_those_of_trec_eval() {
        let reference = include_str!("../../../assay-retrieval/tests/data/reference.json");
        let reference: Value = serde_json::from_str(reference).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        for case in reference["rankings"].as_array().unwrap() {
            let names =
                |key: &str| -> Vec<String> { case[key].as_array().unwrap().iter().map(text).collect() };
            let (relevant, ranking) = (names("relevant"), names("ranking"));
            let ranking: Vec<&str> = ranking.iter().map(String::as_str).collect();
            let judged = RelevantSets {
                relevant: relevant.iter().map(String::as_str).collect(),
                ..RelevantSets::default()
            };
            let scores = score(&ranking, &judged);
            for (metric, found) in Metric::ALL.into_iter().zip(scores) {
                let name = match metric {
                    Metric::Ndcg(depth) => format!("ndcg_cut_{depth}"),
                    Metric::Recall(depth) => format!("recall_{depth}"),
                    Metric::Mrr => "recip_rank".to_owned(),
                    Metric::Map => "map".to_owned(),
                    // trec_eval has neither; they are checked by hand beside their definition.
                    Metric::Completeness(_) | Metric::Hit => continue,
                };
                let expected = case["measures"][&name].as_f64().unwrap();
                assert!((found - expected).abs() < 1e-9, "{name}: {found} is not {expected} in {case}");
            }
        }
    }
}
