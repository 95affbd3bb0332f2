//! Rerank depth: the quality of a retriever that only reorders the first hits of another.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;

use super::pool::{Estimate, Pool, by_gold, ndcg};
use super::{DEPTH, Query, Run};

/// The compared depths; the last is also the length of a stored ranking.
const DEPTHS: [usize; 4] = [10, 20, 50, DEPTH];

/// A retriever as the second stage of another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Reranked {
    /// In which pool.
    pub(crate) pool: &'static str,
    /// The first stage.
    pub(crate) first: String,
    /// What puts its hits in a new order.
    pub(crate) retriever: String,
    /// NDCG@10, by how many of the first stage's hits are reranked.
    #[serde(rename = "ndcg@10")]
    pub(crate) ndcg: Vec<(usize, Estimate)>,
}

/// Every run of a pool but the first, as a second stage of the first. A hit that the second does
/// not have within its own first hundred comes after those that it has, in the order of the first
/// stage.
pub(super) fn reranked(pool: &Pool<'_>, seed: u64) -> Vec<Reranked> {
    let Some((first, others)) = pool.runs.split_first() else { return Vec::new() };
    let at = |other: &Run, depth: usize| {
        let value = |place: usize| {
            let query: &Query = &pool.queries[place];
            (query, ndcg(&reorder(&first.rankings[place], &other.rankings[place], depth), query))
        };
        let values: Vec<(&Query, f64)> = (0..pool.queries.len()).into_par_iter().map(value).collect();
        (depth, by_gold(&values, seed))
    };
    let stage = |other: &Run| Reranked {
        pool: pool.name,
        first: first.retriever.clone(),
        retriever: other.retriever.clone(),
        ndcg: DEPTHS.into_par_iter().map(|depth| at(other, depth)).collect(),
    };
    others.iter().map(stage).collect()
}

fn reorder<'a>(base: &'a [(String, f32)], own: &[(String, f32)], depth: usize) -> Vec<&'a str> {
    let places: HashMap<&str, usize> =
        own.iter().enumerate().map(|(place, (id, _))| (id.as_str(), place)).collect();
    let mut ids: Vec<&str> = base.iter().map(|(id, _)| id.as_str()).collect();
    let head = depth.min(ids.len());
    ids[..head].sort_by_key(|id| places.get(id).copied().unwrap_or(usize::MAX));
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_head_is_reordered() {
        let ranking = |ids: &str| -> Vec<(String, f32)> {
            ids.chars().zip([9.0, 8.0, 7.0, 6.0, 5.0]).map(|(id, score)| (id.to_string(), score)).collect()
        };
        let check = |base: &str, own: &str, depth: usize, expected: &str| {
            assert_eq!(
                reorder(&ranking(base), &ranking(own), depth).concat(),
                expected,
                "{base} {own} {depth}"
            );
        };
        check("abcde", "edcba", 3, "cbade");
        check("abcde", "edcba", 9, "edcba");
        check("abcde", "e", 5, "eabcd");
        check("abcde", "", 5, "abcde");
        check("", "abc", 5, "");
    }
}
