//! Queries over one set of skills, and means over them.

use assay_stats::stratified_cluster_bootstrap;
use serde::Serialize;

use super::metrics::{Metric, RelevantSets, score};
use super::{Negative, Query, Run, grouped};

/// Of every interval.
const LEVEL: f64 = 0.95;

/// The primary measure.
pub(super) const PRIMARY: Metric = Metric::Ndcg(10);

/// Queries over one set of skills, by several retrievers.
pub(crate) struct Pool<'a> {
    /// `all`, or `repositories`.
    pub(crate) name: &'static str,
    /// Skills in it.
    pub(crate) documents: usize,
    /// The queries, which are the same for every run.
    pub(crate) queries: &'a [Query],
    /// Requests that must not lead to certain skills.
    pub(crate) negatives: &'a [Negative],
    /// The results of each retriever.
    pub(crate) runs: &'a [Run],
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// The mean.
    pub(crate) mean: f64,
    /// By drawing gold skills; `null` if there are fewer than two.
    pub(crate) ci95: Option<[f64; 2]>,
}

/// The primary measure of a ranking.
pub(super) fn ndcg(ranking: &[&str], query: &Query) -> f64 {
    let relevant = query.gold.iter().map(String::as_str).collect();
    score(ranking, &RelevantSets { relevant, ..RelevantSets::default() })[metric_index(PRIMARY)]
}

/// A mean over queries, with its interval by drawing gold skills.
pub(super) fn by_gold(values: &[(&Query, f64)], seed: u64) -> Estimate {
    let clusters = grouped(values, |(query, _)| &query.gold).into_values();
    let clusters = clusters.map(|own| own.into_iter().map(|(_, value)| *value).collect()).collect();
    estimate(&[clusters], seed)
}

/// The mean over strata of the means over their values, which come in clusters.
pub(super) fn estimate(strata: &[Vec<Vec<f64>>], seed: u64) -> Estimate {
    let mean = |clusters: &Vec<Vec<f64>>| {
        let own: Vec<f64> = clusters.iter().flatten().copied().collect();
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    let interval = stratified_cluster_bootstrap(strata, LEVEL, seed);
    Estimate {
        mean: strata.iter().map(mean).sum::<f64>() / strata.len().max(1) as f64,
        ci95: interval.map(|interval| [interval.low, interval.high]),
    }
}

pub(super) fn metric_index(metric: Metric) -> usize {
    Metric::ALL.iter().position(|other| *other == metric).unwrap_or(0)
}
