//! Fits the model of `best`, and ranks every request by a model fitted to the other repositories
//! only.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_retrieval::analysis::Stemmer;
use assay_retrieval::best::{
    Best, Candidate, FEATURES, Features, NAMES, Signals, dot, log_shares, rate_candidates,
};
use assay_retrieval::queries::Query;
use assay_retrieval::{Document, Index, ordered};
use rayon::prelude::*;
use serde::Serialize;

use super::adapt::AdapterEvaluation;
use super::queries::Negative;
use super::ranking::Run;

/// Of the squared standardised weights; from .001 to .01 nothing changed by more than .2 points.
const RIDGE: f64 = 0.01;

/// Fewest requests of a repository that is a separate group.
const MIN_REPOSITORY: usize = 30;

/// Hits of a request that the calibration uses.
const DEPTH: usize = 5;

/// Steps of Newton's method; it ends after about ten.
const STEPS: usize = 50;

/// The fitted model.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Trained {
    /// `assay.search-train/2`.
    pub(crate) schema: &'static str,
    /// Requests that had a right candidate.
    pub(crate) requests: usize,
    /// Weights by feature, over all requests.
    pub(crate) weights: BTreeMap<&'static str, f64>,
    /// In the order of the features in the source code.
    pub(crate) vector: Vec<f64>,
    /// Constant, log share of the probability.
    pub(crate) calibration: [f64; 2],
    /// Weights of the signals that a request has an answer, in the order of
    /// [`assay_retrieval::best::SIGNAL_NAMES`], if off-topic requests were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) abstention: Option<Signals>,
    /// The quality of an adapter of vectors, if one was fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) adapter: Option<AdapterEvaluation>,
    /// Every request by a model that was fitted to other repositories.
    #[serde(skip)]
    pub(crate) held_out: Run,
}

/// A request's candidates.
struct Example {
    repository: String,
    candidates: Vec<Candidate>,
    /// The places of the right ones.
    right: Vec<usize>,
    weight: f64,
}

/// Fits the model to requests, and each repository's requests once more without it. A negative
/// request belongs to the repository of the skills that it must not lead to.
pub(crate) fn train(documents: Vec<Document>, queries: &[Query], negatives: &[Negative]) -> Trained {
    let documents = Arc::new(ordered(documents));
    let index = Arc::new(Index::of(&documents, Stemmer::English));
    let best = Best::new("best", &index, Arc::clone(&documents));
    let mut examples: Vec<Example> = queries
        .par_iter()
        .map(|query| {
            let candidates = best.candidates(&query.text);
            let right = |(_, own): &(usize, &Candidate)| query.gold.contains(index.id(own.number));
            let right = candidates.iter().enumerate().filter(right).map(|(place, _)| place).collect();
            Example { repository: query.repository.clone(), candidates, right, weight: 1.0 }
        })
        .collect();
    weigh_examples(&mut examples);
    let repositories: BTreeMap<&str, &str> = queries
        .iter()
        .flat_map(|query| query.gold.iter().map(|id| (id.as_str(), query.repository.as_str())))
        .collect();
    let against: Vec<(&str, Example)> = negatives
        .par_iter()
        .map(|negative| {
            let candidates = best.candidates(&negative.text);
            let repository =
                negative.not.iter().find_map(|id| repositories.get(id.as_str())).copied().unwrap_or("");
            let wrong = |(_, own): &(usize, &Candidate)| negative.not.contains(index.id(own.number));
            let right = candidates.iter().enumerate().filter(wrong).map(|(place, _)| place).collect();
            (repository, Example { repository: repository.to_owned(), candidates, right, weight: 1.0 })
        })
        .collect();
    let model = |without: Option<&str>| {
        let is_in = |example: &&Example| Some(example.repository.as_str()) != without;
        let own: Vec<&Example> = examples.iter().filter(is_in).collect();
        let weights = fit_weights(&own);
        let wrong: Vec<&Example> = against.iter().map(|(_, example)| example).filter(is_in).collect();
        (weights, calibrate(&weights, &own, &wrong))
    };
    let mut names: Vec<&str> = examples.iter().map(|example| example.repository.as_str()).collect();
    names.extend(against.iter().map(|(repository, _)| *repository));
    names.sort_unstable();
    names.dedup();
    let models: BTreeMap<&str, (Features, [f64; 2])> =
        names.into_par_iter().map(|repository| (repository, model(Some(repository)))).collect();
    let ranked = |example: &Example| -> Vec<(String, f32)> {
        let (weights, calibration) = &models[example.repository.as_str()];
        let mut hits = rate_candidates(&example.candidates, weights, calibration, index.len()).hits;
        hits.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        hits.into_iter().map(|(number, score)| (index.id(number).to_owned(), score)).collect()
    };
    let held_out = Run {
        retriever: "best (held out)".to_owned(),
        options: serde_json::Value::Null,
        rankings: examples.iter().map(ranked).collect(),
        ceilings: vec![1.0; examples.len()],
        negatives: against.iter().map(|(_, example)| (ranked(example), 1.0)).collect(),
        cost: None,
    };
    let (weights, calibration) = model(None);
    Trained {
        schema: "assay.search-train/2",
        requests: examples.iter().filter(|example| !example.right.is_empty()).count(),
        weights: NAMES.into_iter().zip(weights).collect(),
        vector: weights.to_vec(),
        calibration,
        abstention: None,
        adapter: None,
        held_out,
    }
}

/// Half of a request's weight is the same for all, and half is an equal share of its repository's
/// weight, which is the same for all repositories.
fn weigh_examples(examples: &mut [Example]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for example in &*examples {
        *counts.entry(example.repository.clone()).or_default() += 1;
    }
    let group = |repository: &str| {
        if counts[repository] >= MIN_REPOSITORY { repository.to_owned() } else { String::new() }
    };
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for (repository, count) in &counts {
        *groups.entry(group(repository)).or_default() += count;
    }
    let all = examples.len() as f64;
    for example in examples {
        let own = groups[&group(&example.repository)] as f64;
        example.weight = 0.5 + 0.5 * all / (groups.len() as f64 * own);
    }
}

/// Weights that make the right candidates most likely, by Newton's method on standardised features
/// with a ridge.
fn fit_weights(examples: &[&Example]) -> Features {
    let all = || examples.iter().flat_map(|example| example.candidates.iter().map(|own| &own.features));
    let count = all().count().max(1) as f64;
    let moments = |power: i32, from: &Features| -> Features {
        let mut sums = [0.0; FEATURES];
        for own in all() {
            for ((sum, value), from) in sums.iter_mut().zip(own).zip(from) {
                *sum += (value - from).powi(power);
            }
        }
        sums.map(|sum| sum / count)
    };
    let means = moments(1, &[0.0; FEATURES]);
    let scales = moments(2, &means).map(|variance| if variance > 1e-12 { variance.sqrt() } else { 1.0 });
    let right: Vec<&&Example> = examples.iter().filter(|example| !example.right.is_empty()).collect();
    let standard = |own: &Features| -> Features {
        std::array::from_fn(|feature| (own[feature] - means[feature]) / scales[feature])
    };
    let own: Vec<(f64, &[usize], Vec<Features>)> = right
        .iter()
        .map(|example| {
            let candidates = example.candidates.iter().map(|own| standard(&own.features)).collect();
            (example.weight, example.right.as_slice(), candidates)
        })
        .collect();
    let share = 1.0 / own.len().max(1) as f64;
    let loss = |weights: &Features| -> f64 {
        let parts: Vec<f64> = own
            .par_iter()
            .map(|(weight, right, own)| weight * negative_log_likelihood(own, right, weights))
            .collect();
        share * parts.iter().sum::<f64>() + RIDGE * dot(weights, weights)
    };
    let mut weights = [0.0; FEATURES];
    let mut before = loss(&weights);
    for _ in 0..STEPS {
        let parts: Vec<(Features, [Features; FEATURES])> =
            own.par_iter().map(|(weight, right, own)| derivatives(own, right, *weight, &weights)).collect();
        let mut gradient = weights.map(|weight| 2.0 * RIDGE * weight);
        let mut hessian = [[0.0; FEATURES]; FEATURES];
        for (row, own) in hessian.iter_mut().enumerate() {
            own[row] = 2.0 * RIDGE;
        }
        for (slope, bend) in parts {
            for row in 0..FEATURES {
                gradient[row] += share * slope[row];
                for column in 0..FEATURES {
                    hessian[row][column] += share * bend[row][column];
                }
            }
        }
        let step = solve(hessian, gradient);
        // A full step may go too far: it is halved until the loss decreases.
        let at = |part: f64| -> Features {
            std::array::from_fn(|feature| weights[feature] - part * step[feature])
        };
        let parts = std::iter::successors(Some(1.0), |part| Some(part / 2.0)).take(30);
        let Some((next, now)) = parts.map(|part| (at(part), loss(&at(part)))).find(|(_, now)| *now < before)
        else {
            break;
        };
        let is_done = before - now < 1e-10;
        (weights, before) = (next, now);
        if is_done {
            break;
        }
    }
    std::array::from_fn(|feature| weights[feature] / scales[feature])
}

/// One request's negative log likelihood.
fn negative_log_likelihood(own: &[Features], right: &[usize], weights: &Features) -> f64 {
    let sums: Vec<f64> = own.iter().map(|own| dot(weights, own)).collect();
    let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all = sums.iter().map(|sum| (sum - most).exp()).sum::<f64>().ln() + most;
    all - right.iter().map(|place| sums[*place]).sum::<f64>() / right.len() as f64
}

/// Gradient and Hessian of one request's negative log likelihood.
fn derivatives(
    own: &[Features],
    right: &[usize],
    weight: f64,
    weights: &Features,
) -> (Features, [Features; FEATURES]) {
    let sums: Vec<f64> = own.iter().map(|own| dot(weights, own)).collect();
    let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let likely: Vec<f64> = sums.iter().map(|sum| (sum - most).exp()).collect();
    let all: f64 = likely.iter().sum();
    let (mut mean, mut square) = ([0.0; FEATURES], [[0.0; FEATURES]; FEATURES]);
    for (own, likely) in own.iter().zip(likely) {
        for row in 0..FEATURES {
            let part = likely / all * own[row];
            mean[row] += part;
            for column in 0..FEATURES {
                square[row][column] += part * own[column];
            }
        }
    }
    let mut slope = mean;
    for place in right {
        for (slope, value) in slope.iter_mut().zip(own[*place]) {
            *slope -= value / right.len() as f64;
        }
    }
    for row in 0..FEATURES {
        slope[row] *= weight;
        for column in 0..FEATURES {
            square[row][column] = weight * (square[row][column] - mean[row] * mean[column]);
        }
    }
    (slope, square)
}

/// Logistic regression of whether a hit is right, by Newton's method with a small ridge.
fn calibrate(weights: &Features, requests: &[&Example], negatives: &[&Example]) -> [f64; 2] {
    let mut points: Vec<([f64; 2], f64)> = Vec::new();
    let mut add_points = |example: &Example, is_negative: bool| {
        let shares = log_shares(&example.candidates, weights);
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|one, other| shares[*other].total_cmp(&shares[*one]));
        for place in order.into_iter().take(DEPTH) {
            let is_right = example.right.contains(&place);
            // For a negative request only the skills that it must not lead to are evaluated.
            if is_right || !is_negative {
                points.push(([1.0, shares[place]], f64::from(u8::from(is_right && !is_negative))));
            }
        }
    };
    for example in requests {
        add_points(example, false);
    }
    for example in negatives {
        add_points(example, true);
    }
    let mut fitted = [0.0; 2];
    for _ in 0..STEPS {
        let mut gradient = fitted.map(|value| 1e-3 * value);
        let mut hessian = [[1e-3, 0.0], [0.0, 1e-3]];
        for (point, right) in &points {
            let odds: f64 = point.iter().zip(fitted).map(|(value, weight)| value * weight).sum();
            let likely = 1.0 / (1.0 + (-odds).exp());
            for row in 0..2 {
                gradient[row] += (likely - right) * point[row];
                for column in 0..2 {
                    hessian[row][column] += likely * (1.0 - likely) * point[row] * point[column];
                }
            }
        }
        let step = solve(hessian, gradient);
        for (value, step) in fitted.iter_mut().zip(step) {
            *value -= step;
        }
        if step.iter().all(|step| step.abs() < 1e-9) {
            break;
        }
    }
    fitted
}

/// A linear system by Gaussian elimination with pivots. A pivot of almost 0 leaves its unknown at
/// 0.
pub(crate) fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for column in 0..N {
        let pivot = (column..N)
            .max_by(|one, other| matrix[*one][column].abs().total_cmp(&matrix[*other][column].abs()));
        let pivot = pivot.unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < 1e-300 {
            continue;
        }
        let (own, value) = (matrix[column], right[column]);
        for row in column + 1..N {
            let factor = matrix[row][column] / own[column];
            for (cell, own) in matrix[row].iter_mut().zip(own) {
                *cell -= factor * own;
            }
            right[row] -= factor * value;
        }
    }
    let mut solved = [0.0; N];
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|column| matrix[row][column] * solved[column]).sum();
        let pivot = matrix[row][row];
        solved[row] = if pivot.abs() < 1e-300 { 0.0 } else { (right[row] - known) / pivot };
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved() {
        let solved = solve([[0.0, 2.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, -1.0]], [7.0, 6.0, -1.0]);
        for (found, expected) in solved.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{solved:?}");
        }
    }

    /// Requests whose right candidate is drawn by known weights give these weights back.
    #[test]
    fn known_weights_are_recovered() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut truth = [0.0; FEATURES];
        (truth[0], truth[3], truth[12]) = (4.0, -2.0, 1.0);
        let examples: Vec<Example> = (0..4000)
            .map(|_| {
                let candidates: Vec<Candidate> = (0..8)
                    .map(|number| Candidate {
                        number,
                        features: std::array::from_fn(|_| draw()),
                        coverage: assay_retrieval::best::Coverage::default(),
                        declined: false,
                    })
                    .collect();
                // The largest of sums with Gumbel noise is drawn by the conditional logit.
                let noisy: Vec<f64> =
                    candidates.iter().map(|own| dot(&truth, &own.features) - (-draw().ln()).ln()).collect();
                let right =
                    (0..8).max_by(|one, other| noisy[*one].total_cmp(&noisy[*other])).into_iter().collect();
                Example { repository: String::new(), candidates, right, weight: 1.0 }
            })
            .collect();
        let fitted = fit_weights(&examples.iter().collect::<Vec<_>>());
        for (feature, (found, expected)) in fitted.iter().zip(truth).enumerate() {
            // Standard errors are about .1; the ridge pulls large weights in by a few per cent.
            assert!(
                (found - expected).abs() < 0.5 + 0.1 * f64::abs(expected),
                "{feature}: {found} {expected}"
            );
        }
    }

    #[test]
    fn half_of_the_weight_is_shared_among_repositories() {
        let example = |repository: &str| Example {
            repository: repository.to_owned(),
            candidates: Vec::new(),
            right: Vec::new(),
            weight: 0.0,
        };
        let mut examples: Vec<Example> =
            (0..90).map(|_| example("large")).chain((0..30).map(|_| example("small"))).collect();
        weigh_examples(&mut examples);
        assert!((examples[0].weight - (0.5 + 0.5 * 120.0 / 180.0)).abs() < 1e-12);
        assert!((examples[100].weight - (0.5 + 0.5 * 120.0 / 60.0)).abs() < 1e-12);
        assert!((examples.iter().map(|own| own.weight).sum::<f64>() - 120.0).abs() < 1e-9);
    }
}
