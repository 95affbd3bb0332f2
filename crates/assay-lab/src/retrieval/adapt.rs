//! Fits an adapter: it moves requests towards their skills and away from those of other requests
//! and hard negatives.

use std::collections::BTreeMap;

use assay_retrieval::dense::{Adapter, Dense, Kind, dot, embed, map_vector, normalized};
use assay_retrieval::queries::Query;
use assay_retrieval::{Document, RetrieverError, best_hits};
use rayon::prelude::*;
use serde::Serialize;

use super::metrics::{Metric, RelevantSets, score};

/// Of the softmax over cosines; that of SkillRet and of most contrastive training of encoders.
const TEMPERATURE: f32 = 0.05;

/// Of the squared map. Of .001, .01, .1 and .3, the first two were worse on held-out repositories;
/// see docs/lab/RETRIEVAL.md.
const RIDGE: f32 = 0.1;

/// Passes over the requests, requests of a step, and the step's length (Adam: Kingma & Ba 2015).
const EPOCHS: usize = 10;
const BATCH: usize = 64;
const RATE: f32 = 1e-3;

/// Hard negatives of a request in a step, and the ranks that they come from: not the first ones,
/// which often serve it too.
const HARD: usize = 8;
const MINED: std::ops::Range<usize> = 20..60;

/// Parts of the repositories, each of which is ranked by a map that was fitted to the others.
const FOLDS: usize = 6;

/// Fewest requests of a repository that is a separate group.
const MIN_REPOSITORY: usize = 30;

/// NDCG@10 over requests, and over repositories.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Quality {
    /// The mean over requests.
    pub(crate) micro: f64,
    /// The mean over repositories of at least 30 requests, the others as one.
    #[serde(rename = "macro")]
    pub(crate) by_repository: f64,
}

/// The quality of an adapter on repositories that it was not fitted to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AdapterEvaluation {
    /// Requests that it was fitted to.
    pub(crate) requests: usize,
    /// NDCG@10 without it.
    pub(crate) frozen: Quality,
    /// NDCG@10 with one that was fitted to other repositories.
    pub(crate) held_out: Quality,
}

struct Example<'a> {
    query: &'a Query,
    vector: Vec<f32>,
    gold: Vec<usize>,
    hard: Vec<usize>,
    weight: f32,
}

/// Fits an adapter to all requests, and one to all but each sixth of the repositories. `documents`
/// are those of the retriever, in order of their ids; each has to have one vector.
pub(crate) fn adapt(
    dense: &Dense,
    documents: &[Document],
    queries: &[Query],
) -> Result<(Adapter, AdapterEvaluation), RetrieverError> {
    let (vectors, width) = (&dense.vectors, dense.vectors.dimensions);
    if (0..vectors.len()).any(|document| vectors.of(document).len() != width) {
        let what =
            "an adapter is fitted to one vector a skill: not to text=fields, nor to chunks with pooling=max"
                .to_owned();
        return Err(RetrieverError::Unusable { what });
    }
    let places: BTreeMap<&str, usize> =
        documents.iter().enumerate().map(|(n, own)| (own.id.as_str(), n)).collect();
    let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let found = embed(&*dense.embedder, &texts, Kind::Query, &mut Some(width), &|_, _| ())?;
    let mut examples: Vec<Example> = queries
        .par_iter()
        .zip(found)
        .map(|(query, vector)| {
            let gold: Vec<usize> =
                query.gold.iter().filter_map(|id| places.get(id.as_str()).copied()).collect();
            let near = best_hits(&dense.scores(&vector), MINED.end);
            let far = near.iter().skip(MINED.start).map(|&(document, _)| document as usize);
            let hard = far.filter(|document| !gold.contains(document)).collect();
            Example { query, vector, gold, hard, weight: 1.0 }
        })
        .collect();
    weigh_examples(&mut examples);
    let folds = folds(queries);
    let all = |fold: Option<usize>| -> Vec<&Example> {
        let is_in =
            |own: &&Example| !own.gold.is_empty() && fold != Some(folds[own.query.repository.as_str()]);
        examples.iter().filter(is_in).collect()
    };
    let maps: Vec<Vec<f32>> = (0..FOLDS).map(|fold| fit_map(&all(Some(fold)), dense)).collect();
    let place = Metric::ALL.iter().position(|metric| *metric == Metric::Ndcg(10)).unwrap_or(0);
    let ndcg = |own: &Example, vector: &[f32]| {
        let ranking = best_hits(&dense.scores(vector), 10);
        let ids: Vec<&str> =
            ranking.iter().map(|&(document, _)| documents[document as usize].id.as_str()).collect();
        let relevant = own.query.gold.iter().map(String::as_str).collect();
        let acceptable = std::collections::BTreeSet::new();
        score(&ids, &RelevantSets { relevant, acceptable })[place]
    };
    let frozen: Vec<f64> = examples.par_iter().map(|own| ndcg(own, &own.vector)).collect();
    let held_out: Vec<f64> = examples
        .par_iter()
        .map(|own| ndcg(own, &adapted(&own.vector, &maps[folds[own.query.repository.as_str()]]).0))
        .collect();
    let every = all(None);
    let adapter = Adapter::new(dense.embedder.digest(), width, fit_map(&every, dense));
    let (frozen, held_out) = (quality(&examples, &frozen), quality(&examples, &held_out));
    Ok((adapter, AdapterEvaluation { requests: every.len(), frozen, held_out }))
}

/// The group of a repository: itself, or all small ones.
fn repository_group<'a>(counts: &BTreeMap<&'a str, usize>, repository: &'a str) -> &'a str {
    if counts[repository] >= MIN_REPOSITORY { repository } else { "" }
}

fn counts<'a>(queries: impl Iterator<Item = &'a Query>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for query in queries {
        *counts.entry(query.repository.as_str()).or_default() += 1;
    }
    counts
}

/// Half of a request's weight is the same for all, and half is an equal share of its repository's
/// weight, which is the same for all repositories.
fn weigh_examples(examples: &mut [Example]) {
    let repositories = counts(examples.iter().map(|own| own.query));
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for (repository, count) in &repositories {
        *groups.entry(repository_group(&repositories, repository)).or_default() += count;
    }
    let (all, kinds) = (examples.len() as f32, groups.len() as f32);
    for own in examples {
        own.weight =
            0.5 + 0.5 * all / (kinds * groups[repository_group(&repositories, &own.query.repository)] as f32);
    }
}

/// Shares the repositories out: the largest first, each to the fold that has fewest requests.
fn folds(queries: &[Query]) -> BTreeMap<&str, usize> {
    let mut repositories: Vec<(&str, usize)> = counts(queries.iter()).into_iter().collect();
    repositories.sort_by_key(|&(repository, count)| (std::cmp::Reverse(count), repository));
    let mut held = [0; FOLDS];
    let place = |(repository, count)| {
        let fold = (0..FOLDS).min_by_key(|&fold| held[fold]).unwrap_or(0);
        held[fold] += count;
        (repository, fold)
    };
    repositories.into_iter().map(place).collect()
}

fn quality(examples: &[Example], values: &[f64]) -> Quality {
    let repositories = counts(examples.iter().map(|own| own.query));
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (own, value) in examples.iter().zip(values) {
        groups.entry(repository_group(&repositories, &own.query.repository)).or_default().push(*value);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let means: Vec<f64> = groups.values().map(|values| mean(values)).collect();
    Quality { micro: mean(values), by_repository: mean(&means) }
}

/// The mapped vector of length 1, and the length that it had.
fn adapted(query: &[f32], rows: &[f32]) -> (Vec<f32>, f32) {
    let sum = map_vector(query, rows);
    let length = dot(&sum, &sum).sqrt().max(f32::MIN_POSITIVE);
    (normalized(sum).unwrap_or_else(|| query.to_vec()), length)
}

/// The map that makes each request's skill most likely among those of its batch and the hard
/// negatives, by Adam.
fn fit_map(examples: &[&Example], dense: &Dense) -> Vec<f32> {
    let width = dense.vectors.dimensions;
    let mut rows = vec![0.0_f32; width * width];
    let mut moments = vec![[0.0_f32; 2]; width * width];
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let (mut random, mut steps) = (SplitMix(0), 0);
    for _ in 0..EPOCHS {
        for place in (1..order.len()).rev() {
            order.swap(place, random.next_below(place + 1));
        }
        for batch in order.chunks(BATCH) {
            let batch: Vec<&Example> = batch.iter().map(|&place| examples[place]).collect();
            let mut documents: Vec<usize> =
                batch.iter().map(|own| own.gold[random.next_below(own.gold.len())]).collect();
            for own in batch.iter().filter(|own| !own.hard.is_empty()) {
                documents.extend((0..HARD).map(|_| own.hard[random.next_below(own.hard.len())]));
            }
            let share = 1.0 / (batch.len() as f32 * TEMPERATURE);
            let slopes: Vec<Vec<f32>> = batch
                .par_iter()
                .enumerate()
                .map(|(place, own)| slope(own, place, &documents, &rows, dense, share * own.weight))
                .collect();
            steps += 1;
            let corrections = [1.0 - 0.9_f32.powi(steps), 1.0 - 0.999_f32.powi(steps)];
            rows.par_chunks_mut(width).zip(moments.par_chunks_mut(width)).enumerate().for_each(
                |(line, (row, moments))| {
                    let mut gradient: Vec<f32> = row.iter().map(|number| 2.0 * RIDGE * number).collect();
                    for (own, slope) in batch.iter().zip(&slopes) {
                        for (sum, slope) in gradient.iter_mut().zip(slope) {
                            *sum += own.vector[line] * slope;
                        }
                    }
                    for ((number, [first, second]), gradient) in row.iter_mut().zip(moments).zip(gradient) {
                        *first = 0.9 * *first + 0.1 * gradient;
                        *second = 0.999 * *second + 0.001 * gradient * gradient;
                        *number -=
                            RATE * (*first / corrections[0]) / ((*second / corrections[1]).sqrt() + 1e-8);
                    }
                },
            );
        }
    }
    rows
}

/// The slope of a request's surprise at its skill, along its mapped vector. Other skills that serve
/// it count as nothing.
fn slope(
    own: &Example,
    place: usize,
    documents: &[usize],
    rows: &[f32],
    dense: &Dense,
    share: f32,
) -> Vec<f32> {
    let (vector, length) = adapted(&own.vector, rows);
    let logit = |(at, document): (usize, &usize)| {
        let counts = at == place || !own.gold.contains(document);
        if counts { dot(&vector, dense.vectors.of(*document)) / TEMPERATURE } else { f32::NEG_INFINITY }
    };
    let logits: Vec<f32> = documents.iter().enumerate().map(logit).collect();
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let likely: Vec<f32> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let total: f32 = likely.iter().sum();
    let mut slope = vec![0.0; vector.len()];
    for (at, (likely, document)) in likely.iter().zip(documents).enumerate() {
        let by = share * (likely / total - f32::from(u8::from(at == place)));
        for (sum, number) in slope.iter_mut().zip(dense.vectors.of(*document)) {
            *sum += by * number;
        }
    }
    // Along the sphere only.
    let along = dot(&slope, &vector);
    slope.iter().zip(&vector).map(|(slope, number)| (slope - along * number) / length).collect()
}

/// Steele, Lea & Flood 2014.
struct SplitMix(u64);

impl SplitMix {
    #[expect(clippy::cast_possible_truncation, reason = "below a usize")]
    fn next_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % end.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ops::Range;
    use std::sync::Arc;

    use assay_retrieval::dense::{Embedder, Texts, build};
    use serde_json::{Value, json};

    use super::*;

    /// A model whose vector counts words of one letter, of two, and so on.
    struct Words;

    impl Embedder for Words {
        fn name(&self) -> &'static str {
            "words"
        }

        fn digest(&self) -> String {
            String::new()
        }

        fn max_tokens(&self) -> usize {
            100
        }

        fn options(&self) -> Value {
            json!({ "model": "words" })
        }

        fn embed(
            &self,
            texts: &[&str],
            _: Kind,
            progress: &(dyn Fn(usize) + Sync),
        ) -> Result<Vec<Vec<f32>>, RetrieverError> {
            progress(texts.len());
            let count = |text: &&str, length: usize| {
                text.split_whitespace().map(|word| f32::from(u8::from(word.len() == length))).sum()
            };
            Ok(texts.iter().map(|text| (1..=6).map(|length| count(text, length)).collect()).collect())
        }

        fn chunks(&self, text: &str, _: usize, _: usize) -> Vec<Range<usize>> {
            std::iter::once(0..text.len()).collect()
        }
    }

    fn query(n: usize, repository: usize, text: &str, gold: &str) -> Query {
        let (id, repository) = (format!("{n}"), format!("repository{repository}"));
        let line = json!({ "qid": id, "query": text, "repository": repository, "gold_ids": [gold] });
        crate::retrieval::queries::read_query(&line.to_string()).unwrap()
    }

    #[test]
    fn shared_structure_of_repositories_is_learned() {
        let words = ["a", "bb", "ccc", "dddd", "eeeee"];
        let documents: Vec<Document> = words
            .iter()
            .map(|word| Document { id: (*word).to_owned(), name: (*word).to_owned(), ..Document::default() })
            .collect();
        // A request of two words as near to both skills belongs to the one of the longer word. A
        // fifth belongs to the shortest alone, which would otherwise have no request, and so no
        // negative.
        let kind = |n: usize| match n % 5 {
            4 => ("a".to_owned(), "a"),
            k => (format!("{} {}", words[k], words[k + 1]), words[k + 1]),
        };
        let queries: Vec<Query> = (0..240)
            .map(|n| {
                let (text, gold) = kind(n);
                query(n, n / 20, &text, gold)
            })
            .collect();
        let texts = Texts::NameDescription;
        let vectors = build(&documents, &Words, texts, None, &|_, _| ()).unwrap().vectors;
        let dense = Dense::new("dense", Arc::new(Words), texts, vectors);
        let (adapter, adapting) = adapt(&dense, &documents, &queries).unwrap();
        assert_eq!(adapting.requests, 240);
        let frozen = (4.0 / 3_f64.log2() + 1.0) / 5.0;
        assert!((adapting.frozen.micro - frozen).abs() < 1e-9, "{adapting:?}");
        assert!(adapting.held_out.micro > 0.99 && adapting.held_out.by_repository > 0.99, "{adapting:?}");
        assert_eq!(
            adapt(&dense, &documents, &queries).unwrap().0,
            adapter,
            "the same requests give the same map"
        );
        let parts: BTreeSet<usize> = folds(&queries).into_values().collect();
        assert_eq!(parts.len(), FOLDS);
    }

    #[test]
    fn several_vectors_per_skill_are_rejected() {
        let documents = vec![Document { id: "a".to_owned(), name: "a".to_owned(), ..Document::default() }];
        let texts = Texts::Fields { weights: [1.0, 1.0, 1.0] };
        let vectors = build(&documents, &Words, texts, None, &|_, _| ()).unwrap().vectors;
        let dense = Dense::new("dense", Arc::new(Words), texts, vectors);
        let error = adapt(&dense, &documents, &[]).unwrap_err().to_string();
        assert!(error.contains("one vector a skill"), "{error}");
    }
}
