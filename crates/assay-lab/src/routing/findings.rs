//! Figures of the routers.
//!
//! The unit is the request: answers of one model to one request are nearly copies of each other. So
//! a share is a mean over requests of the mean over a request's answers, and its interval comes
//! from resampling queries, not answers ([`assay_stats::cluster_bootstrap`]).

use std::collections::BTreeMap;

use assay_router::{Prompt, Routed, Router, Status};
use assay_stats::{cluster_bootstrap, sign_flip};
use serde::Serialize;

/// Of every interval.
const LEVEL: f64 = 0.95;

/// The report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Findings {
    /// `assay.route/1`.
    pub(crate) schema: &'static str,
    /// Requests, those off topic included.
    pub(crate) prompts: usize,
    /// Requests that no skill serves.
    pub(crate) off_topic: usize,
    /// Skills to choose from.
    pub(crate) skills: usize,
    /// Of the intervals and the orders.
    pub(crate) seed: u64,
    /// Whether a model was measured.
    pub(crate) measures_a_model: bool,
    /// Models first, as they were given, then the lexical routers.
    pub(crate) routers: Vec<RouterFindings>,
}

/// A share over requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Share {
    /// Mean over requests of the mean over a request's answers.
    pub(crate) mean: f64,
    /// By resampling queries; `null` under two queries.
    pub(crate) ci95: Option<[f64; 2]>,
    /// Requests counted.
    pub(crate) prompts: usize,
    /// Answers counted.
    pub(crate) answers: usize,
}

/// One router.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RouterFindings {
    /// `provider:model`, or a lexical router's name.
    pub(crate) router: String,
    /// Whether it is a lexical router.
    pub(crate) lexical: bool,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<&'static str, usize>,
    /// Requests on topic: the expected skill is first.
    pub(crate) top1: Option<Share>,
    /// Requests on topic: it is among the first three.
    pub(crate) top3: Option<Share>,
    /// Requests on topic: the expected or an acceptable skill is first.
    pub(crate) top1_acceptable: Option<Share>,
    /// Requests on topic: the expected or an acceptable skill is among the first three.
    pub(crate) top3_acceptable: Option<Share>,
    /// All requests, an empty ranking being right off topic: the share of correct answers.
    pub(crate) overall: Option<Share>,
    /// Requests off topic: the ranking is empty.
    pub(crate) abstention: Option<Share>,
    /// Requests on topic: the ranking is empty. Each is wrong.
    pub(crate) false_abstention: Option<Share>,
    /// Requests that reject skills: a rejected one is first.
    pub(crate) rejected_top1: Option<Share>,
    /// Requests that reject skills: a rejected one is among the first three.
    pub(crate) rejected_top3: Option<Share>,
    /// Requests answered at least twice: the share of pairs of answers with the same first skill,
    /// each shown the skills in another order. `null` for routers that do not depend on the order.
    pub(crate) order_stability: Option<Share>,
    /// The interval of the strict top 1 by resampling answers as if they were independent. It is
    /// too narrow.
    pub(crate) top1_naive_ci95: Option<[f64; 2]>,
    /// Against the best lexical router on the same requests, in strict top 1; `null` for lexical
    /// ones.
    pub(crate) lift: Option<LiftEstimate>,
    /// Mean over answers, in seconds.
    pub(crate) seconds: Option<f64>,
    /// Of all answers, also those of earlier runs; `null` if unknown.
    pub(crate) cost_usd: Option<f64>,
    /// Expected and chosen skills with counts of answers; without correct ones.
    pub(crate) confusion: Vec<Confusion>,
    /// Requests with a wrong answer, those with most first.
    pub(crate) failures: Vec<WrongPrompt>,
}

/// A paired difference between two routers over requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LiftEstimate {
    /// The other. It was chosen as the best on the same queries, which biases the lift downwards.
    pub(crate) router: String,
    /// Mean over requests on topic.
    pub(crate) lift: f64,
    /// By resampling queries.
    pub(crate) ci95: Option<[f64; 2]>,
    /// Sign-flip test over requests.
    pub(crate) p: Option<f64>,
}

/// How often one skill was chosen for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Confusion {
    /// The expected skill; `null` off topic.
    pub(crate) expected: Option<String>,
    /// The first of the ranking; `null` for an empty one and for a reply that could not be read.
    pub(crate) chosen: Option<String>,
    /// Answers.
    pub(crate) answers: usize,
}

/// A request that was answered wrongly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WrongPrompt {
    /// Its id.
    pub(crate) prompt: String,
    /// The expected skill; `null` off topic.
    pub(crate) expected: Option<String>,
    /// Wrong answers.
    pub(crate) wrong: usize,
    /// Of them, acceptable ones.
    pub(crate) acceptable: usize,
    /// Results in all.
    pub(crate) answers: usize,
    /// The other choices, the most frequent first.
    pub(crate) chosen: Vec<String>,
}

/// The figures of every router.
pub(crate) fn findings(
    prompts: &[Prompt],
    routers: &[Router],
    skills: usize,
    seed: u64,
    measures_a_model: bool,
) -> Findings {
    let mut found: Vec<RouterFindings> =
        routers.iter().map(|router| RouterResults::new(prompts, router).findings(seed)).collect();
    let best = found
        .iter()
        .enumerate()
        .filter(|(_, router)| router.lexical && router.top1.is_some())
        .rev()
        .max_by(|(_, one), (_, other)| mean(one.top1).total_cmp(&mean(other.top1)))
        .map(|(place, _)| place);
    if let Some(best) = best {
        let base = RouterResults::new(prompts, &routers[best]);
        for (router, found) in routers.iter().zip(&mut found).filter(|(router, _)| !router.lexical) {
            found.lift = versus(&RouterResults::new(prompts, router), &base, &routers[best].name, seed);
        }
    }
    Findings {
        schema: "assay.route/1",
        prompts: prompts.len(),
        off_topic: prompts.iter().filter(|prompt| prompt.is_off_topic()).count(),
        skills,
        seed,
        measures_a_model,
        routers: found,
    }
}

fn mean(share: Option<Share>) -> f64 {
    share.map_or(0.0, |share| share.mean)
}

/// A router's results by request.
struct RouterResults<'a> {
    router: &'a Router,
    /// Every request with its results; requests without one have none.
    results: Vec<(&'a Prompt, Vec<&'a Routed>)>,
}

impl<'a> RouterResults<'a> {
    fn new(prompts: &'a [Prompt], router: &'a Router) -> Self {
        let results = prompts
            .iter()
            .map(|prompt| {
                let own = |routed: &&Routed| routed.prompt == prompt.id && routed.status.is_result();
                (prompt, router.answers.iter().filter(own).collect())
            })
            .collect();
        Self { router, results }
    }

    /// The scores of the requests for which there is one, answer by answer.
    fn scores(
        &self,
        of: impl Fn(&Prompt) -> bool,
        score: impl Fn(&Prompt, &Routed) -> bool,
    ) -> Vec<Vec<f64>> {
        let results = self.results.iter().filter(|(prompt, results)| of(prompt) && !results.is_empty());
        results
            .map(|(prompt, results)| {
                results.iter().map(|routed| f64::from(u8::from(score(prompt, routed)))).collect()
            })
            .collect()
    }

    fn findings(&self, seed: u64) -> RouterFindings {
        let on = |prompt: &Prompt| !prompt.is_off_topic();
        let rejects = |prompt: &Prompt| !prompt.rejected.is_empty();
        let share = |scores: Vec<Vec<f64>>| share(&scores, seed);
        let top1 = self.scores(on, |prompt, routed| is_right(prompt, routed, 1, false));
        let answers: Vec<Vec<f64>> = top1.iter().flatten().map(|score| vec![*score]).collect();
        let timed: Vec<f64> = self.router.answers.iter().map(|routed| routed.seconds).collect();
        RouterFindings {
            router: self.router.name.clone(),
            lexical: self.router.lexical,
            statuses: self.statuses(),
            top1_naive_ci95: interval(&answers, seed),
            top1: share(top1),
            top3: share(self.scores(on, |prompt, routed| is_right(prompt, routed, 3, false))),
            top1_acceptable: share(self.scores(on, |prompt, routed| is_right(prompt, routed, 1, true))),
            top3_acceptable: share(self.scores(on, |prompt, routed| is_right(prompt, routed, 3, true))),
            overall: share(self.scores(|_| true, |prompt, routed| is_right(prompt, routed, 1, false))),
            abstention: share(self.scores(Prompt::is_off_topic, |_, routed| abstains(routed))),
            false_abstention: share(self.scores(on, |_, routed| abstains(routed))),
            rejected_top1: share(self.scores(rejects, |prompt, routed| is_rejected(prompt, routed, 1))),
            rejected_top3: share(self.scores(rejects, |prompt, routed| is_rejected(prompt, routed, 3))),
            order_stability: if self.router.lexical { None } else { share(self.stability()) },
            lift: None,
            seconds: (!self.router.lexical && !timed.is_empty())
                .then(|| timed.iter().sum::<f64>() / timed.len() as f64),
            cost_usd: self.router.cost_usd,
            confusion: self.confusion(),
            failures: self.failures(),
        }
    }

    fn statuses(&self) -> BTreeMap<&'static str, usize> {
        let mut statuses = BTreeMap::new();
        for routed in &self.router.answers {
            let name = match routed.status {
                Status::Finished => "finished",
                Status::FormatFailure => "format_failure",
                Status::ModelUnavailable => "model_unavailable",
                Status::Error => "error",
            };
            *statuses.entry(name).or_default() += 1;
        }
        statuses
    }

    /// For each request, whether each pair of its answers agrees on the first skill.
    fn stability(&self) -> Vec<Vec<f64>> {
        let agree = |results: &[&Routed]| -> Vec<f64> {
            let firsts: Vec<_> = results.iter().map(|routed| first_choice(routed)).collect();
            let pairs =
                (0..firsts.len()).flat_map(|one| (one + 1..firsts.len()).map(move |other| (one, other)));
            pairs.map(|(one, other)| f64::from(u8::from(firsts[one] == firsts[other]))).collect()
        };
        let pairs = self.results.iter().map(|(_, results)| agree(results));
        pairs.filter(|pairs| !pairs.is_empty()).collect()
    }

    fn confusion(&self) -> Vec<Confusion> {
        let mut counts: BTreeMap<(Option<&str>, Option<&str>), usize> = BTreeMap::new();
        for (prompt, results) in &self.results {
            for routed in results {
                let pair = (prompt.expected.as_deref(), first_choice(routed));
                if pair.0 != pair.1 || routed.status == Status::FormatFailure {
                    *counts.entry(pair).or_default() += 1;
                }
            }
        }
        let mut rows: Vec<Confusion> = counts
            .into_iter()
            .map(|((expected, chosen), answers)| Confusion {
                expected: expected.map(str::to_owned),
                chosen: chosen.map(str::to_owned),
                answers,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.answers));
        rows
    }

    fn failures(&self) -> Vec<WrongPrompt> {
        let mut failures = Vec::new();
        for (prompt, results) in &self.results {
            let wrong: Vec<&&Routed> =
                results.iter().filter(|routed| !is_right(prompt, routed, 1, false)).collect();
            if wrong.is_empty() {
                continue;
            }
            let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
            for routed in &wrong {
                let name = match (routed.status, first_choice(routed)) {
                    (Status::FormatFailure, _) => "(unreadable)",
                    (_, None) => "(none)",
                    (_, Some(name)) => name,
                };
                *chosen.entry(name).or_default() += 1;
            }
            let mut chosen: Vec<(&str, usize)> = chosen.into_iter().collect();
            chosen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            failures.push(WrongPrompt {
                prompt: prompt.id.clone(),
                expected: prompt.expected.clone(),
                wrong: wrong.len(),
                acceptable: wrong.iter().filter(|routed| is_right(prompt, routed, 1, true)).count(),
                answers: results.len(),
                chosen: chosen.into_iter().map(|(name, _)| name.to_owned()).collect(),
            });
        }
        failures.sort_by_key(|failed| std::cmp::Reverse(failed.wrong));
        failures
    }
}

fn first_choice(routed: &Routed) -> Option<&str> {
    routed.ranking.first().map(String::as_str)
}

/// Whether the router answers that no skill is suitable.
fn abstains(routed: &Routed) -> bool {
    routed.status == Status::Finished && routed.ranking.is_empty()
}

/// Off topic, an empty ranking is right. On topic, the expected skill has to be among the first
/// `most`, or with `lenient` one of the acceptable ones.
fn is_right(prompt: &Prompt, routed: &Routed, most: usize, lenient: bool) -> bool {
    let Some(expected) = &prompt.expected else { return abstains(routed) };
    let fits = |name: &String| name == expected || lenient && prompt.acceptable.contains(name);
    routed.ranking.iter().take(most).any(fits)
}

fn is_rejected(prompt: &Prompt, routed: &Routed, most: usize) -> bool {
    routed.ranking.iter().take(most).any(|name| prompt.rejected.contains(name))
}

fn share(scores: &[Vec<f64>], seed: u64) -> Option<Share> {
    let means: Vec<f64> = scores.iter().map(|own| own.iter().sum::<f64>() / own.len() as f64).collect();
    (!means.is_empty()).then(|| Share {
        mean: means.iter().sum::<f64>() / means.len() as f64,
        ci95: interval(&means.iter().map(|mean| vec![*mean]).collect::<Vec<_>>(), seed),
        prompts: means.len(),
        answers: scores.iter().map(Vec::len).sum(),
    })
}

fn interval(clusters: &[Vec<f64>], seed: u64) -> Option<[f64; 2]> {
    cluster_bootstrap(clusters, LEVEL, seed).map(|interval| [interval.low, interval.high])
}

/// The paired difference over the requests on topic that both have answered.
fn versus(own: &RouterResults<'_>, base: &RouterResults<'_>, name: &str, seed: u64) -> Option<LiftEstimate> {
    let rate = |prompt: &Prompt, results: &[&Routed]| {
        let right = results.iter().filter(|routed| is_right(prompt, routed, 1, false)).count();
        right as f64 / results.len() as f64
    };
    let differences: Vec<f64> = own
        .results
        .iter()
        .zip(&base.results)
        .filter(|((prompt, one), (_, other))| !prompt.is_off_topic() && !one.is_empty() && !other.is_empty())
        .map(|((prompt, one), (_, other))| rate(prompt, one) - rate(prompt, other))
        .collect();
    let clusters: Vec<Vec<f64>> = differences.iter().map(|difference| vec![*difference]).collect();
    (!differences.is_empty()).then(|| LiftEstimate {
        router: name.to_owned(),
        lift: differences.iter().sum::<f64>() / differences.len() as f64,
        ci95: interval(&clusters, seed),
        p: sign_flip(&differences, seed),
    })
}

#[cfg(test)]
mod tests;
