//! The benchmark: retrieval quality on labelled queries, with confidence intervals and costs.

mod abstention;
mod depths;
mod erase;
mod findings;
mod leakage;
mod negatives;
mod orders;
mod pool;
mod queries;
mod render;
mod trec;

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use rayon::prelude::*;

use crate::corpus::Document;
use crate::index::Index;
use crate::metrics::{RelevantSets, Scores, score};
use crate::retriever::{Retriever, RetrieverError};

pub use abstention::{
    Abstention, OffTopic, Share, SizeBand, abstention, fit_abstention, read_off_topic, render_abstention,
};
pub use depths::Reranked;
pub use erase::{Erasure, MaskedQuery, erase};
pub use findings::{Comparison, CorpusSize, Findings, Leakage, Part, RetrieverFindings, findings};
pub use leakage::annotate;
pub use negatives::{NegativeFindings, Threshold};
pub use orders::{Agreement, AgreementError, Correlation, Covariance, Ordered, agreement};
pub use pool::{Estimate, Pool};
pub use queries::{CheckedQueries, Negative, Query, check, read_negative, read_query};
pub use render::render;
pub use trec::{BadLine, Judgements, Rankings, read_qrels, read_run, write_qrels, write_run};

/// Stored results of a query; as deep as SkillRet reranks, and more.
pub const DEPTH: usize = 100;

/// What one retriever found.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name.
    pub retriever: String,
    /// What its ranking depends on.
    pub options: serde_json::Value,
    /// By query: ids with their scores, the best first.
    pub rankings: Vec<Vec<(String, f32)>>,
    /// By query: the highest possible score of a document.
    pub ceilings: Vec<f32>,
    /// The same for the negative requests.
    pub negatives: Vec<(Vec<(String, f32)>, f32)>,
    /// The cost.
    pub cost: Option<Cost>,
}

/// The cost of a retriever.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Cost {
    /// From documents in memory to the first query.
    pub index_seconds: f64,
    /// Processor time of all threads in it, which other programs do not lengthen.
    pub index_cpu_seconds: Option<f64>,
    /// Documents over the seconds of the clock.
    pub documents_per_second: f64,
    /// All queries on all threads.
    pub queries_per_second: f64,
    /// One query alone, the middle one.
    pub p50_seconds: f64,
    /// One query alone, the hundredth slowest of a hundred.
    pub p99_seconds: f64,
    /// Resident memory of the process after the queries.
    pub rss_bytes: Option<u64>,
    /// What a result adds to the context of a model.
    pub context: Option<Context>,
}

/// Tokens that results put into a context, mean over queries.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Context {
    /// Hits whose names and descriptions are counted.
    pub hits: usize,
    /// Tokens of their names and descriptions.
    pub description_tokens: f64,
    /// Tokens of the first hit's SKILL.md.
    pub skill_tokens: f64,
}

/// Hits that are shown to a model.
const CONTEXT: usize = 5;

/// Counts the tokens of results by a counter of tokens.
pub fn context(run: &Run, documents: &[Document], tokens: impl Fn(&str) -> usize + Sync) -> Context {
    let by_id: HashMap<&str, &Document> = documents.iter().map(|own| (own.id.as_str(), own)).collect();
    let mut wanted: BTreeMap<&str, bool> = BTreeMap::new();
    for ranking in &run.rankings {
        for (place, (id, _)) in ranking.iter().take(CONTEXT).enumerate() {
            *wanted.entry(id).or_default() |= place == 0;
        }
    }
    let counted: HashMap<&str, (usize, usize)> = wanted
        .into_par_iter()
        .filter_map(|(id, first)| {
            let own = by_id.get(id)?;
            let described = tokens(&own.name) + tokens(&own.description);
            Some((id, (described, if first { tokens(&own.document) } else { 0 })))
        })
        .collect();
    let of = |id: &String| counted.get(id.as_str()).copied().unwrap_or_default();
    let (mut described, mut skill) = (0, 0);
    for ranking in &run.rankings {
        described += ranking.iter().take(CONTEXT).map(|(id, _)| of(id).0).sum::<usize>();
        skill += ranking.first().map_or(0, |(id, _)| of(id).1);
    }
    let queries = run.rankings.len().max(1) as f64;
    Context {
        hits: CONTEXT,
        description_tokens: described as f64 / queries,
        skill_tokens: skill as f64 / queries,
    }
}

/// Runs every query twice: one at a time for latency, and all in parallel for throughput.
pub fn run(
    retriever: &dyn Retriever,
    index: &Index,
    queries: &[Query],
    negatives: &[Negative],
    index_seconds: f64,
) -> Result<Run, RetrieverError> {
    let mut seconds: Vec<f64> = queries
        .iter()
        .map(|query| {
            let clock = Instant::now();
            let hits = retriever.search(&query.text, DEPTH)?;
            let taken = clock.elapsed().as_secs_f64();
            std::hint::black_box(hits);
            Ok(taken)
        })
        .collect::<Result<_, RetrieverError>>()?;
    seconds.sort_by(f64::total_cmp);
    let named = |text: &str| -> Result<Vec<(String, f32)>, RetrieverError> {
        let hits = retriever.search(text, DEPTH)?.into_iter();
        Ok(hits.map(|(document, score)| (index.id(document).to_owned(), score)).collect())
    };
    let clock = Instant::now();
    let rankings: Vec<Vec<(String, f32)>> =
        queries.par_iter().map(|query| named(&query.text)).collect::<Result<_, _>>()?;
    let together = clock.elapsed().as_secs_f64();
    let at = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let place = (share * seconds.len() as f64).ceil() as usize;
        seconds.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    Ok(Run {
        retriever: retriever.name().to_owned(),
        options: retriever.options(),
        ceilings: queries.iter().map(|query| retriever.ceiling(&query.text)).collect(),
        negatives: negatives
            .par_iter()
            .map(|negative| Ok((named(&negative.text)?, retriever.ceiling(&negative.text))))
            .collect::<Result<_, RetrieverError>>()?,
        cost: Some(Cost {
            index_seconds,
            documents_per_second: if index_seconds > 0.0 { index.len() as f64 / index_seconds } else { 0.0 },
            queries_per_second: if together > 0.0 { queries.len() as f64 / together } else { 0.0 },
            p50_seconds: at(0.5),
            p99_seconds: at(0.99),
            index_cpu_seconds: None,
            rss_bytes: None,
            context: None,
        }),
        rankings,
    })
}

/// The measures of every query, strictly, and with acceptable skills and near-duplicates counted as
/// relevant.
pub(crate) fn scored(queries: &[Query], run: &Run) -> Vec<(Scores, Scores)> {
    let scored = |(query, ranking): (&Query, &Vec<(String, f32)>)| {
        let ranking: Vec<&str> = ranking.iter().map(|(id, _)| id.as_str()).collect();
        let relevant = query.gold.iter().map(String::as_str).collect();
        let strict = RelevantSets { relevant, ..RelevantSets::default() };
        let acceptable = query.lenient.iter().map(String::as_str).collect();
        let lenient = RelevantSets { acceptable, ..strict.clone() };
        (score(&ranking, &strict), score(&ranking, &lenient))
    };
    queries.par_iter().zip(&run.rankings).map(scored).collect()
}

/// Groups of things by a key, in order of the keys.
pub(crate) fn grouped<T, K: Ord>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for item in items {
        groups.entry(key(&item)).or_default().push(item);
    }
    groups
}
