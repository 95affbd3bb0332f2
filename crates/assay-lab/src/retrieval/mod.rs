//! The benchmark: retrieval quality on labelled queries, with confidence intervals and costs.

pub mod abstention;
mod adapt;
mod depths;
mod erase;
mod findings;
mod metrics;
mod negatives;
mod orders;
mod pool;
pub mod queries;
mod ranking;
mod render;
mod train;
mod trec;

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use assay_retrieval::queries::Query;
use assay_retrieval::{Document, Index, Retriever, RetrieverError};
use rayon::prelude::*;

use metrics::{RelevantSets, Scores, score};
use queries::Negative;
use ranking::{Context, Cost};

pub(crate) use abstention::{OffTopic, abstention, fit_abstention, read_off_topic, render_abstention};
pub(crate) use adapt::{AdapterEvaluation, adapt};
pub(crate) use depths::Reranked;
pub(crate) use erase::{Erasure, erase};
pub(crate) use findings::{Comparison, Findings, Part, RetrieverFindings, findings};
pub(crate) use negatives::NegativeFindings;
pub(crate) use orders::{Agreement, Correlation, Ordered, agreement};
pub(crate) use pool::{Estimate, Pool};
pub(crate) use ranking::Run;
pub(crate) use render::render;
pub(crate) use train::{Trained, train};
pub(crate) use trec::{Rankings, read_qrels, read_run, write_qrels, write_run};

/// Stored results of a query; as deep as SkillRet reranks, and more.
pub(crate) const DEPTH: usize = 100;

/// Hits that are shown to a model.
const CONTEXT: usize = 5;

/// Counts the tokens of results by a counter of tokens.
pub(crate) fn context(run: &Run, documents: &[Document], tokens: impl Fn(&str) -> usize + Sync) -> Context {
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
pub(crate) fn run(
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
