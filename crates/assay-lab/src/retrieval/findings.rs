//! From runs to figures.
//!
//! Queries of one skill are not independent, so intervals come from drawing gold skills, not
//! queries. `micro` is the mean over queries; `macro` the mean over repositories that own enough of
//! the queries, the others pooled as one.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{holm, sign_flip};
use rayon::prelude::*;
use serde::Serialize;

use super::depths::{Reranked, reranked};
use super::erase::Erasure;
use super::metrics::{Metric, Scores};
use super::negatives::{NegativeFindings, negative};
use super::orders::{Agreement, Covariance, covariance};
use super::pool::{Estimate, PRIMARY, Pool, estimate, metric_index};
use super::{Cost, Query, Run, grouped, scored};

/// Fewest gold skills and queries of a repository that is a separate group.
const MIN_REPOSITORY: (usize, usize) = (10, 30);

/// The name of the group of smaller repositories.
const OTHERS: &str = "others";

/// Share of a query's 3-grams above which it is taken to copy its skill.
const OVERLAP: f64 = 0.1;

/// The depth to which forbidden skills are counted.
const FORBIDDEN_DEPTH: usize = 3;

/// The report of the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Findings {
    /// `assay.search-bench/2`.
    pub(crate) schema: &'static str,
    /// How large the corpus is.
    pub(crate) corpus: CorpusSize,
    /// The number of queries.
    pub(crate) queries: usize,
    /// Seed of the intervals and tests.
    pub(crate) seed: u64,
    /// How much of the skills' text the queries repeat.
    pub(crate) leakage: Leakage,
    /// Every retriever in every pool.
    pub(crate) retrievers: Vec<RetrieverFindings>,
    /// Each retriever against the first, in every pool.
    pub(crate) comparisons: Vec<Comparison>,
    /// Requests that must not lead to certain skills.
    pub(crate) negatives: Vec<NegativeFindings>,
    /// Every retriever as the second stage of the first.
    pub(crate) reranked: Vec<Reranked>,
    /// Covariances of the retrievers' means, for comparing their order with that of another
    /// benchmark.
    pub(crate) covariances: Vec<Covariance>,
    /// The effect of masking a sentence, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) erasure: Vec<Erasure>,
    /// Whether another benchmark ranks the retrievers in the same order, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agreement: Option<Agreement>,
}

/// How much queries repeat of the skills that they need.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Leakage {
    /// Queries that share more than a tenth of their 3-grams with their skill.
    pub(crate) overlap3_above_10: usize,
    /// Queries that name their skill.
    pub(crate) names_skill: usize,
    /// Queries that do neither.
    pub(crate) neither: usize,
}

impl Leakage {
    fn of(queries: &[Query]) -> Self {
        let copies = |query: &&Query| query.overlap3.is_some_and(|share| share > OVERLAP);
        let names = |query: &&Query| query.names_skill == Some(true);
        Self {
            overlap3_above_10: queries.iter().filter(copies).count(),
            names_skill: queries.iter().filter(names).count(),
            neither: queries.iter().filter(|query| !copies(query) && !names(query)).count(),
        }
    }
}

/// How large a corpus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct CorpusSize {
    /// Skills that are searched.
    pub(crate) documents: usize,
}

/// One retriever in one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RetrieverFindings {
    /// Its name.
    pub(crate) name: String,
    /// What its ranking depends on.
    pub(crate) options: serde_json::Value,
    /// `all`: every skill; `repositories`: those of repositories that own a relevant one.
    pub(crate) pool: &'static str,
    /// Skills in the pool.
    pub(crate) documents: usize,
    /// Means over queries, by measure.
    pub(crate) micro: BTreeMap<String, Estimate>,
    /// Means over repositories, by measure.
    #[serde(rename = "macro")]
    pub(crate) macro_: BTreeMap<String, Estimate>,
    /// Means over sources, by measure, if there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) macro_sources: BTreeMap<String, Estimate>,
    /// Means over queries where near-duplicates and acceptable skills count too.
    pub(crate) micro_lenient: BTreeMap<String, f64>,
    /// NDCG@10 by repository.
    pub(crate) repositories: BTreeMap<String, Part>,
    /// NDCG@10 by source.
    pub(crate) sources: BTreeMap<String, Part>,
    /// NDCG@10 by what else parts the queries: number of relevant skills, length, whether the skill
    /// is named, overlap, category.
    pub(crate) parts: BTreeMap<&'static str, BTreeMap<String, Part>>,
    /// Among queries that forbid skills: the share with one of them among the first three.
    pub(crate) forbidden_top3: Option<f64>,
    /// Among the same queries: the share with one of them before every relevant skill.
    pub(crate) forbidden_before_gold: Option<f64>,
    /// Its cost; `null` for runs read from a file.
    pub(crate) cost: Option<Cost>,
}

/// Some of the queries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Part {
    /// How many.
    pub(crate) queries: usize,
    /// Their mean NDCG@10.
    #[serde(rename = "ndcg@10")]
    pub(crate) ndcg: f64,
}

/// Two retrievers on the same queries, in NDCG@10.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// In which pool.
    pub(crate) pool: &'static str,
    /// The one.
    pub(crate) retriever: String,
    /// The other.
    pub(crate) baseline: String,
    /// Mean difference over queries.
    pub(crate) micro: Estimate,
    /// Mean difference over repositories.
    #[serde(rename = "macro")]
    pub(crate) macro_: Estimate,
    /// Randomisation test of the micro difference: the sign of each gold skill's sum of differences
    /// is drawn.
    pub(crate) p: Option<f64>,
    /// Adjusted for the comparisons of all pools (Holm).
    pub(crate) p_adjusted: Option<f64>,
    /// Minimum detectable effect of the micro difference (power 0.8, level 0.05): 2.8 standard
    /// errors.
    pub(crate) smallest_detectable: Option<f64>,
}

/// The figures of every retriever in every pool. The first run of a pool is the baseline of the
/// others.
pub(crate) fn findings(pools: &[Pool<'_>], seed: u64) -> Findings {
    let mut retrievers = Vec::new();
    let mut comparisons = Vec::new();
    let (mut negatives, mut second, mut covariances) = (Vec::new(), Vec::new(), Vec::new());
    for pool in pools {
        let table = Table::new(pool.queries);
        let scores: Vec<Vec<(Scores, Scores)>> =
            pool.runs.iter().map(|run| scored(pool.queries, run)).collect();
        for (run, scores) in pool.runs.iter().zip(&scores) {
            retrievers.push(table.retriever(pool, run, scores, seed));
            negatives.push(negative(pool, run));
        }
        covariances.push(covariance(pool, &table.micro, &primary(&scores)));
        second.extend(reranked(pool, seed));
        if let Some(((base, others), (run, runs))) = scores.split_first().zip(pool.runs.split_first()) {
            for (scores, other) in others.iter().zip(runs) {
                comparisons.push(table.comparison(pool.name, (other, scores), (run, base), seed));
            }
        }
    }
    let p: Vec<f64> = comparisons.iter().filter_map(|comparison| comparison.p).collect();
    let mut adjusted = holm(&p).into_iter();
    for comparison in &mut comparisons {
        comparison.p_adjusted = comparison.p.and_then(|_| adjusted.next());
    }
    Findings {
        schema: "assay.search-bench/2",
        corpus: CorpusSize { documents: pools.iter().map(|pool| pool.documents).max().unwrap_or(0) },
        queries: pools.first().map_or(0, |pool| pool.queries.len()),
        seed,
        leakage: Leakage::of(pools.first().map_or(&[], |pool| pool.queries)),
        retrievers,
        comparisons,
        negatives,
        reranked: second,
        covariances,
        erasure: Vec::new(),
        agreement: None,
    }
}

/// By run and query: the primary measure.
fn primary(scores: &[Vec<(Scores, Scores)>]) -> Vec<Vec<f64>> {
    scores.iter().map(|own| own.iter().map(|(strict, _)| strict[metric_index(PRIMARY)]).collect()).collect()
}

/// Clusters of queries.
struct Table<'a> {
    queries: &'a [Query],
    /// Clusters of queries by gold skill: all as one stratum.
    micro: Vec<Vec<usize>>,
    /// The same within each large repository, and within the rest.
    by_repository: Vec<Vec<Vec<usize>>>,
    /// The same within each source.
    by_source: Vec<Vec<Vec<usize>>>,
}

impl<'a> Table<'a> {
    fn new(queries: &'a [Query]) -> Self {
        let clusters = |own: Vec<usize>| -> Vec<Vec<usize>> {
            grouped(own, |query| queries[*query].gold.iter().cloned().collect::<Vec<_>>())
                .into_values()
                .collect()
        };
        let mut repositories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (repository, own) in grouped(0..queries.len(), |query| queries[*query].repository.as_str()) {
            let gold: BTreeSet<&String> = own.iter().flat_map(|query| &queries[*query].gold).collect();
            let is_large = gold.len() >= MIN_REPOSITORY.0 && own.len() >= MIN_REPOSITORY.1;
            repositories.entry(if is_large { repository } else { OTHERS }).or_default().extend(own);
        }
        let sources = grouped(0..queries.len(), |query| queries[*query].source.as_str());
        Self {
            queries,
            micro: clusters((0..queries.len()).collect()),
            by_repository: repositories.into_values().map(clusters).collect(),
            by_source: sources.into_values().map(clusters).collect(),
        }
    }

    /// A mean over queries, one over repositories, and one over sources, each with its interval.
    fn estimates(&self, values: &[f64], seed: u64) -> [Estimate; 3] {
        let of = |clusters: &Vec<Vec<usize>>| -> Vec<Vec<f64>> {
            clusters.iter().map(|own| own.iter().map(|query| values[*query]).collect()).collect()
        };
        let over = |strata: &[Vec<Vec<usize>>]| estimate(&strata.iter().map(of).collect::<Vec<_>>(), seed);
        [over(std::slice::from_ref(&self.micro)), over(&self.by_repository), over(&self.by_source)]
    }

    fn retriever(
        &self,
        pool: &Pool<'_>,
        run: &Run,
        scores: &[(Scores, Scores)],
        seed: u64,
    ) -> RetrieverFindings {
        let estimates: Vec<(String, [Estimate; 3])> = Metric::ALL
            .into_par_iter()
            .map(|metric| {
                let values: Vec<f64> =
                    scores.iter().map(|(strict, _)| strict[metric_index(metric)]).collect();
                (metric.name(), self.estimates(&values, seed))
            })
            .collect();
        let over = |which: usize| -> BTreeMap<String, Estimate> {
            estimates.iter().map(|(name, own)| (name.clone(), own[which])).collect()
        };
        let lenient = |metric: Metric| {
            let sum: f64 = scores.iter().map(|(_, lenient)| lenient[metric_index(metric)]).sum();
            (metric.name(), sum / scores.len().max(1) as f64)
        };
        let part = |key: &dyn Fn(&Query) -> Option<String>| self.part(scores, key);
        let overlap = |query: &Query| {
            Some(if query.overlap3? > OVERLAP { "above .1" } else { "at most .1" }.to_owned())
        };
        let class = |query: &Query| match query.categories.len() {
            0 | 1 => query.categories.first().cloned(),
            _ => Some("several".to_owned()),
        };
        RetrieverFindings {
            name: run.retriever.clone(),
            options: run.options.clone(),
            pool: pool.name,
            documents: pool.documents,
            micro: over(0),
            macro_: over(1),
            macro_sources: if self.by_source.len() > 1 { over(2) } else { BTreeMap::new() },
            micro_lenient: Metric::ALL.into_iter().map(lenient).collect(),
            repositories: part(&|query| Some(query.repository.clone())),
            sources: part(&|query| Some(query.source.clone())),
            parts: [
                ("relevant skills", part(&|query| Some(query.gold.len().to_string()))),
                ("words", part(&|query| Some(length(&query.text).to_owned()))),
                (
                    "names its skill",
                    part(&|query| Some(if query.names_skill? { "yes" } else { "no" }.to_owned())),
                ),
                ("3-grams shared with the skill", part(&overlap)),
                ("category of the skill", part(&class)),
            ]
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .collect(),
            forbidden_top3: self.forbidden(run, |query, ranking| {
                ranking.iter().take(FORBIDDEN_DEPTH).any(|(id, _)| query.forbidden.contains(id))
            }),
            forbidden_before_gold: self.forbidden(run, |query, ranking| {
                let either =
                    |(id, _): &&(String, f32)| query.forbidden.contains(id) || query.gold.contains(id);
                ranking.iter().find(either).is_some_and(|(id, _)| query.forbidden.contains(id))
            }),
            cost: run.cost,
        }
    }

    fn part(
        &self,
        scores: &[(Scores, Scores)],
        key: &dyn Fn(&Query) -> Option<String>,
    ) -> BTreeMap<String, Part> {
        let mut parts: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (query, (strict, _)) in self.queries.iter().zip(scores) {
            if let Some(name) = key(query).filter(|name| !name.is_empty()) {
                parts.entry(name).or_default().push(strict[metric_index(PRIMARY)]);
            }
        }
        let mean = |values: Vec<f64>| Part {
            queries: values.len(),
            ndcg: values.iter().sum::<f64>() / values.len() as f64,
        };
        parts.into_iter().map(|(name, values)| (name, mean(values))).collect()
    }

    /// The share, among queries that forbid skills, of those whose ranking has something.
    fn forbidden(&self, run: &Run, has: impl Fn(&Query, &[(String, f32)]) -> bool) -> Option<f64> {
        let queries = self.queries.iter().zip(&run.rankings).filter(|(query, _)| !query.forbidden.is_empty());
        let found: Vec<bool> = queries.map(|(query, ranking)| has(query, ranking)).collect();
        (!found.is_empty()).then(|| found.iter().filter(|found| **found).count() as f64 / found.len() as f64)
    }

    fn comparison(
        &self,
        pool: &'static str,
        (run, scores): (&Run, &[(Scores, Scores)]),
        (base, base_scores): (&Run, &[(Scores, Scores)]),
        seed: u64,
    ) -> Comparison {
        let differences: Vec<f64> = scores
            .iter()
            .zip(base_scores)
            .map(|((own, _), (base, _))| own[metric_index(PRIMARY)] - base[metric_index(PRIMARY)])
            .collect();
        let [micro, macro_, _] = self.estimates(&differences, seed);
        let sums: Vec<f64> =
            self.micro.iter().map(|own| own.iter().map(|query| differences[*query]).sum()).collect();
        // Half a 95% interval is 1.96 standard errors; the MDE at a power of 0.8 is 2.8 of them.
        let smallest_detectable = micro.ci95.map(|[low, high]| (high - low) / 2.0 / 1.96 * 2.8);
        Comparison {
            pool,
            retriever: run.retriever.clone(),
            baseline: base.retriever.clone(),
            micro,
            macro_,
            p: sign_flip(&sums, seed),
            p_adjusted: None,
            smallest_detectable,
        }
    }
}

/// In which of four classes a query's length falls.
fn length(text: &str) -> &'static str {
    match text.split_whitespace().count() {
        0..=9 => "under 10",
        10..=24 => "10 to 24",
        25..=49 => "25 to 49",
        _ => "50 and more",
    }
}

#[cfg(test)]
mod tests;
