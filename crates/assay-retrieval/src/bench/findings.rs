//! From runs to figures.
//!
//! Queries of one skill are not independent, so intervals come from drawing gold skills, not queries. `micro` is the mean over
//! queries; `macro` the mean over houses (families of repositories) that own enough of the queries, the others pooled as one.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{holm, sign_flip, stratified_cluster_bootstrap};
use rayon::prelude::*;
use serde::Serialize;

use super::{Cost, Negative, Query, Run, grouped, scored};
use crate::metrics::{Metric, Scores};

/// Of every interval.
const LEVEL: f64 = 0.95;

/// A house stands for itself with this many gold skills, and this many queries.
const HOUSE: (usize, usize) = (10, 30);

/// What the houses below that are called together.
const OTHERS: &str = "others";

/// The primary measure.
const PRIMARY: Metric = Metric::Ndcg(10);

/// How far down a skill that must not be found is looked for.
const FORBIDDEN_DEPTH: usize = 3;

/// How far down a triggered skill is looked for.
const TRIGGER_DEPTH: usize = 5;

/// Queries asked of one set of skills, by several retrievers.
pub struct Pool<'a> {
    /// `all`, or `houses`.
    pub name: &'static str,
    /// Skills in it.
    pub documents: usize,
    /// The queries, which are the same for every run.
    pub queries: &'a [Query],
    /// Requests that must not lead to certain skills.
    pub negatives: &'a [Negative],
    /// What each retriever found.
    pub runs: &'a [Run],
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// `assay.search-bench/1`.
    pub schema: &'static str,
    /// How large the corpus is.
    pub corpus: CorpusSize,
    /// Queries asked.
    pub queries: usize,
    /// Seed of the intervals and tests.
    pub seed: u64,
    /// Every retriever in every pool.
    pub retrievers: Vec<RetrieverFindings>,
    /// Each retriever against the first, in every pool.
    pub comparisons: Vec<Comparison>,
    /// Requests that must not lead to certain skills.
    pub negatives: Vec<NegativeFindings>,
}

/// How large a corpus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CorpusSize {
    /// Skills that are searched.
    pub documents: usize,
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// By drawing gold skills; `null` where there are fewer than two.
    pub ci95: Option<[f64; 2]>,
}

/// One retriever in one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetrieverFindings {
    /// Its name.
    pub name: String,
    /// What its ranking depends on.
    pub options: serde_json::Value,
    /// `all`: every skill; `houses`: those of repositories that own a relevant one.
    pub pool: &'static str,
    /// Skills in the pool.
    pub documents: usize,
    /// Means over queries, by measure.
    pub micro: BTreeMap<String, Estimate>,
    /// Means over houses, by measure.
    #[serde(rename = "macro")]
    pub macro_: BTreeMap<String, Estimate>,
    /// Means over queries where near-duplicates and acceptable skills count too.
    pub micro_lenient: BTreeMap<String, f64>,
    /// NDCG@10 by house.
    pub houses: BTreeMap<String, Part>,
    /// NDCG@10 by source.
    pub sources: BTreeMap<String, Part>,
    /// NDCG@10 by what else parts the queries: number of relevant skills, length, whether the skill is named, overlap.
    pub parts: BTreeMap<&'static str, BTreeMap<String, Part>>,
    /// Among queries that forbid skills: the share in which one of them stands among the first three.
    pub forbidden_top3: Option<f64>,
    /// What it takes; `null` for runs that were read.
    pub cost: Option<Cost>,
}

/// Some of the queries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Part {
    /// How many.
    pub queries: usize,
    /// Their mean NDCG@10.
    #[serde(rename = "ndcg@10")]
    pub ndcg: f64,
}

/// Two retrievers on the same queries, in NDCG@10.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// In which pool.
    pub pool: &'static str,
    /// The one.
    pub retriever: String,
    /// The other.
    pub baseline: String,
    /// Mean difference over queries.
    pub micro: Estimate,
    /// Mean difference over houses.
    #[serde(rename = "macro")]
    pub macro_: Estimate,
    /// Randomisation test of the micro difference: the sign of each gold skill's sum of differences is drawn.
    pub p: Option<f64>,
    /// Adjusted for the comparisons of all pools (Holm).
    pub p_adjusted: Option<f64>,
    /// The micro difference that would be seen with a power of .8 at level .05: 2.8 standard errors.
    pub smallest_detectable: Option<f64>,
}

/// What a retriever does with requests that must not lead to certain skills.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NegativeFindings {
    /// In which pool.
    pub pool: &'static str,
    /// The retriever.
    pub retriever: String,
    /// Negative requests whose skills the pool holds.
    pub requests: usize,
    /// The highest threshold that keeps at least four fifths of the achievable Recall@5.
    pub default: Option<Threshold>,
    /// From 0 upward.
    pub curve: Vec<Threshold>,
}

/// What becomes of requests where only skills count whose share of the ceiling is at least `threshold`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// Share of the highest score that a document could have for the request.
    pub threshold: f64,
    /// Share of negative requests for which a skill that must not be found stands among the first five.
    pub false_triggers: f64,
    /// Recall@5 of the queries, as a share of that without a threshold.
    pub recall_kept: f64,
    /// Share of queries with any skill left.
    pub coverage: f64,
    /// Of those, the share whose first skill is wrong.
    pub risk: f64,
}

/// The figures of every retriever in every pool. The first run of a pool is what the others are held against.
pub fn findings(pools: &[Pool<'_>], seed: u64) -> Findings {
    let mut retrievers = Vec::new();
    let mut comparisons = Vec::new();
    let mut negatives = Vec::new();
    for pool in pools {
        let table = Table::new(pool.queries);
        let scores: Vec<Vec<(Scores, Scores)>> =
            pool.runs.iter().map(|run| scored(pool.queries, run)).collect();
        for (run, scores) in pool.runs.iter().zip(&scores) {
            retrievers.push(table.retriever(pool, run, scores, seed));
            negatives.push(negative(pool, run));
        }
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
        schema: "assay.search-bench/1",
        corpus: CorpusSize { documents: pools.iter().map(|pool| pool.documents).max().unwrap_or(0) },
        queries: pools.first().map_or(0, |pool| pool.queries.len()),
        seed,
        retrievers,
        comparisons,
        negatives,
    }
}

/// Which queries belong together.
struct Table<'a> {
    queries: &'a [Query],
    /// Clusters of queries by gold skill: all as one stratum.
    micro: Vec<Vec<usize>>,
    /// The same within each house that stands for itself, and within the rest.
    by_house: Vec<Vec<Vec<usize>>>,
}

fn place(metric: Metric) -> usize {
    Metric::ALL.iter().position(|other| *other == metric).unwrap_or(0)
}

impl<'a> Table<'a> {
    fn new(queries: &'a [Query]) -> Self {
        let clusters = |own: Vec<usize>| -> Vec<Vec<usize>> {
            grouped(own, |query| queries[*query].gold.iter().cloned().collect::<Vec<_>>())
                .into_values()
                .collect()
        };
        let mut houses: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (house, own) in grouped(0..queries.len(), |query| queries[*query].house.as_str()) {
            let gold: BTreeSet<&String> = own.iter().flat_map(|query| &queries[*query].gold).collect();
            let is_large = gold.len() >= HOUSE.0 && own.len() >= HOUSE.1;
            houses.entry(if is_large { house } else { OTHERS }).or_default().extend(own);
        }
        let by_house = houses.into_values().map(clusters).collect();
        Self { queries, micro: clusters((0..queries.len()).collect()), by_house }
    }

    /// A mean over queries, and one over houses, each with its interval.
    fn estimates(&self, values: &[f64], seed: u64) -> (Estimate, Estimate) {
        let of = |clusters: &Vec<Vec<usize>>| -> Vec<Vec<f64>> {
            clusters.iter().map(|own| own.iter().map(|query| values[*query]).collect()).collect()
        };
        let estimate = |strata: Vec<Vec<Vec<f64>>>| {
            let mean = |clusters: &Vec<Vec<f64>>| {
                let own: Vec<f64> = clusters.iter().flatten().copied().collect();
                own.iter().sum::<f64>() / own.len().max(1) as f64
            };
            let interval = stratified_cluster_bootstrap(&strata, LEVEL, seed);
            Estimate {
                mean: strata.iter().map(mean).sum::<f64>() / strata.len().max(1) as f64,
                ci95: interval.map(|interval| [interval.low, interval.high]),
            }
        };
        (estimate(vec![of(&self.micro)]), estimate(self.by_house.iter().map(of).collect()))
    }

    fn retriever(
        &self,
        pool: &Pool<'_>,
        run: &Run,
        scores: &[(Scores, Scores)],
        seed: u64,
    ) -> RetrieverFindings {
        let estimates: Vec<(String, Estimate, Estimate)> = Metric::ALL
            .into_par_iter()
            .map(|metric| {
                let values: Vec<f64> = scores.iter().map(|(strict, _)| strict[place(metric)]).collect();
                let (micro, macro_) = self.estimates(&values, seed);
                (metric.name(), micro, macro_)
            })
            .collect();
        let lenient = |metric: Metric| {
            let sum: f64 = scores.iter().map(|(_, lenient)| lenient[place(metric)]).sum();
            (metric.name(), sum / scores.len().max(1) as f64)
        };
        let part = |key: &dyn Fn(&Query) -> Option<String>| self.part(scores, key);
        let overlap =
            |query: &Query| Some(if query.overlap3? > 0.1 { "above .1" } else { "at most .1" }.to_owned());
        RetrieverFindings {
            name: run.retriever.clone(),
            options: run.options.clone(),
            pool: pool.name,
            documents: pool.documents,
            micro: estimates.iter().map(|(name, micro, _)| (name.clone(), *micro)).collect(),
            macro_: estimates.into_iter().map(|(name, _, macro_)| (name, macro_)).collect(),
            micro_lenient: Metric::ALL.into_iter().map(lenient).collect(),
            houses: part(&|query| Some(query.house.clone())),
            sources: part(&|query| Some(query.source.clone())),
            parts: [
                ("relevant skills", part(&|query| Some(query.gold.len().to_string()))),
                ("words", part(&|query| Some(length(&query.text).to_owned()))),
                (
                    "names its skill",
                    part(&|query| Some(if query.names_skill? { "yes" } else { "no" }.to_owned())),
                ),
                ("3-grams shared with the skill", part(&overlap)),
            ]
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .collect(),
            forbidden_top3: self.forbidden(run),
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
                parts.entry(name).or_default().push(strict[place(PRIMARY)]);
            }
        }
        let mean = |values: Vec<f64>| Part {
            queries: values.len(),
            ndcg: values.iter().sum::<f64>() / values.len() as f64,
        };
        parts.into_iter().map(|(name, values)| (name, mean(values))).collect()
    }

    fn forbidden(&self, run: &Run) -> Option<f64> {
        let asked: Vec<bool> = self
            .queries
            .iter()
            .zip(&run.rankings)
            .filter(|(query, _)| !query.forbidden.is_empty())
            .map(|(query, ranking)| {
                ranking.iter().take(FORBIDDEN_DEPTH).any(|(id, _)| query.forbidden.contains(id))
            })
            .collect();
        (!asked.is_empty()).then(|| asked.iter().filter(|found| **found).count() as f64 / asked.len() as f64)
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
            .map(|((own, _), (base, _))| own[place(PRIMARY)] - base[place(PRIMARY)])
            .collect();
        let (micro, macro_) = self.estimates(&differences, seed);
        let sums: Vec<f64> =
            self.micro.iter().map(|own| own.iter().map(|query| differences[*query]).sum()).collect();
        // Half an interval of 95 % is 1.96 standard errors; 2.8 of them are seen with a power of .8.
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

/// Steps of the threshold curve.
const STEPS: u32 = 50;

fn negative(pool: &Pool<'_>, run: &Run) -> NegativeFindings {
    let share = |score: f32, ceiling: f32| if ceiling > 0.0 { f64::from(score / ceiling) } else { 0.0 };
    // For each negative request, how sure the retriever is of a skill that must not be found.
    let wrong: Vec<f64> = pool
        .negatives
        .iter()
        .zip(&run.negatives)
        .map(|(negative, (ranking, ceiling))| {
            let found = ranking.iter().take(TRIGGER_DEPTH).filter(|(id, _)| negative.not.contains(id));
            found.map(|(_, score)| share(*score, *ceiling)).fold(-1.0, f64::max)
        })
        .collect();
    let at = |threshold: f64| {
        let (mut recall, mut covered, mut wrong_first) = (0.0, 0_usize, 0_usize);
        for ((query, ranking), ceiling) in pool.queries.iter().zip(&run.rankings).zip(&run.ceilings) {
            let left = |(_, score): &&(String, f32)| share(*score, *ceiling) >= threshold;
            let kept: Vec<&(String, f32)> = ranking.iter().take(TRIGGER_DEPTH).filter(left).collect();
            let found = kept.iter().filter(|(id, _)| query.gold.contains(id)).count();
            recall += found as f64 / query.gold.len().max(1) as f64;
            if let Some((id, _)) = kept.first() {
                covered += 1;
                wrong_first += usize::from(!query.gold.contains(id));
            }
        }
        let triggered = wrong.iter().filter(|share| **share >= threshold).count();
        let queries = pool.queries.len().max(1) as f64;
        let risk = if covered > 0 { wrong_first as f64 / covered as f64 } else { 0.0 };
        let false_triggers = triggered as f64 / wrong.len().max(1) as f64;
        (
            recall / queries,
            Threshold {
                threshold,
                false_triggers,
                recall_kept: 0.0,
                coverage: covered as f64 / queries,
                risk,
            },
        )
    };
    let (achievable, _) = at(0.0);
    let curve: Vec<Threshold> = (0..=STEPS)
        .map(|step| {
            let (recall, point) = at(f64::from(step) / f64::from(STEPS));
            let recall_kept = if achievable > 0.0 { recall / achievable } else { 0.0 };
            Threshold { recall_kept, ..point }
        })
        .collect();
    let default = curve.iter().rev().find(|point| point.recall_kept >= 0.8).copied();
    let (retriever, requests) = (run.retriever.clone(), pool.negatives.len());
    NegativeFindings {
        pool: pool.name,
        retriever,
        requests,
        default: default.filter(|_| requests > 0),
        curve,
    }
}

#[cfg(test)]
mod tests;
