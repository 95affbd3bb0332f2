//! The skill that is chosen for one request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_ask::{AskError, AskEvents, CostCap, ModelHandle};
use assay_diagnostic::{clean, counted};
use assay_skill::Library;
use serde::Serialize;

use crate::{Answers, Bench, Candidate, Lexical, Prompt, Routed, RunLimits, Status, Template};

/// The router that answers where no model is named: what clients show of a skill is its description.
const DEFAULT: Lexical = Lexical::Bm25Description;

/// The skill that was chosen for a request, and how often.
#[derive(Debug, Serialize)]
pub struct RouteDocument {
    schema: &'static str,
    /// The request.
    pub request: String,
    /// The name of the router.
    pub router: String,
    /// Skills to choose from.
    pub skills: usize,
    /// Questions that were answered; a lexical router answers once.
    pub answers: usize,
    /// Questions without an answer.
    pub unanswered: usize,
    /// The skill that was chosen most often; `null`: no skill.
    pub choice: Option<String>,
    /// Answers with this choice.
    pub choice_count: usize,
    /// The next skill.
    pub runner_up: Option<RouteRunnerUp>,
    /// The answers, each with its ranking.
    pub rankings: Vec<Vec<String>>,
    /// What the answers cost, if a price is known.
    pub cost_usd: Option<f64>,
    /// Whether a model answered, and no script.
    pub measures_a_model: bool,
}

/// The skill next to the choice: most often first, then most often second.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct RouteRunnerUp {
    /// Its name.
    pub skill: String,
    /// Answers in which it is first.
    pub first: usize,
    /// Answers in which it is second.
    pub second: usize,
}

/// Routes a request by the words of the descriptions, without a model.
pub fn route_by_words(request: &str, skills: &[Candidate]) -> RouteDocument {
    let rankings = DEFAULT.rank(&[request], skills);
    summarize_rankings(request, DEFAULT.name(), skills.len(), rankings)
}

/// A request for which a model chooses.
pub struct RouteRequest<'a> {
    /// The request.
    pub request: &'a str,
    /// The skills to choose from, in order of name.
    pub skills: &'a [Candidate],
    /// The template of the questions.
    pub template: &'a Template,
    /// The model.
    pub model: &'a ModelHandle,
    /// The price of its tokens, and the cap.
    pub cap: Arc<CostCap>,
    /// Hears what happens.
    pub events: Option<Arc<dyn AskEvents>>,
    /// How often the model is asked, with the skills in another order each time.
    pub repetitions: u32,
    /// Seed of the orders.
    pub seed: u64,
    /// Concurrent questions, at least one.
    pub concurrency: usize,
}

/// What a model chose.
#[derive(Debug)]
pub struct RoutedRequest {
    /// The choice.
    pub document: RouteDocument,
    /// Questions that the model did not answer.
    pub lost: Vec<Routed>,
    /// Questions that were not sent because of a cap or an interruption.
    pub left: usize,
    /// Answers of another form than the template asks for.
    pub malformed: usize,
}

/// Asks a model which skill it chooses for a request; `each` hears of every answer.
///
/// # Errors
/// Stored answers cannot be read or written.
pub fn route_request(
    asked: &RouteRequest<'_>,
    answers: &Answers,
    cancel: &AtomicBool,
    each: &(dyn Fn(&Routed) + Sync),
) -> Result<RoutedRequest, AskError> {
    let price = asked.cap.price();
    let prompts = [Prompt {
        id: "request".to_owned(),
        text: asked.request.to_owned(),
        expected: None,
        acceptable: Vec::new(),
        rejected: Vec::new(),
    }];
    let bench = Bench {
        prompts: &prompts,
        skills: asked.skills,
        template: asked.template,
        model: asked.model,
        cap: asked.cap.clone(),
        events: asked.events.clone(),
        repetitions: asked.repetitions,
        seed: asked.seed,
    };
    let caps = RunLimits { max_runs: None, concurrency: asked.concurrency };
    let ran = bench.run(answers, &caps, cancel, each)?;
    let (answered, lost): (Vec<Routed>, Vec<Routed>) =
        ran.answers.into_iter().partition(|routed| routed.status.is_result());
    let malformed = answered.iter().filter(|routed| routed.status == Status::FormatFailure).count();
    let cost = |routed: &Routed| Some(price?.cost(&routed.usage?));
    let cost_usd = answered.iter().map(cost).sum::<Option<f64>>().filter(|_| price.is_some());
    let unanswered = lost.len() + ran.left + malformed;
    let rankings = answered
        .into_iter()
        .filter(|routed| routed.status == Status::Finished)
        .map(|routed| routed.ranking)
        .collect();
    let name = asked.model.name();
    let mut document = summarize_rankings(asked.request, name, asked.skills.len(), rankings);
    (document.unanswered, document.cost_usd) = (unanswered, cost_usd);
    document.measures_a_model = asked.model.measures_a_model();
    Ok(RoutedRequest { document, lost, left: ran.left, malformed })
}

/// Why the skills of a library cannot be chosen from.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// Two have one name.
    #[error("two skills are named `{0}`: an answer would be ambiguous")]
    Ambiguous(String),
    /// There are not two.
    #[error("fewer than two skills to choose from")]
    TooFew,
}

/// The skills of a library, in order of name.
///
/// # Errors
/// Fewer than two skills, or two of one name.
pub fn list_candidates(library: Library) -> Result<Vec<Candidate>, CandidateError> {
    let mut skills: Vec<Candidate> = library
        .packages
        .into_iter()
        .map(|package| Candidate {
            name: package.name,
            description: package.description,
            document: package.document,
        })
        .collect();
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    if let Some(twice) = skills.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(CandidateError::Ambiguous(twice[0].name.clone()));
    }
    if skills.len() < 2 {
        return Err(CandidateError::TooFew);
    }
    Ok(skills)
}

fn summarize_rankings(
    request: &str,
    router: &str,
    skills: usize,
    rankings: Vec<Vec<String>>,
) -> RouteDocument {
    let mut choices: BTreeMap<Option<&String>, usize> = BTreeMap::new();
    for ranking in &rankings {
        *choices.entry(ranking.first()).or_default() += 1;
    }
    // Of equals the first by name, and a skill before none.
    let best =
        choices.iter().max_by_key(|(name, count)| (**count, name.is_some(), std::cmp::Reverse(**name)));
    let (choice, choice_count) =
        best.map_or((None, 0), |(name, count)| (name.map(ToOwned::to_owned), *count));
    let runner_up = runner_up(choice.as_ref(), &rankings);
    RouteDocument {
        schema: "assay.route-request/1",
        request: request.to_owned(),
        router: router.to_owned(),
        skills,
        answers: rankings.len(),
        unanswered: 0,
        choice,
        choice_count,
        runner_up,
        rankings,
        cost_usd: None,
        measures_a_model: false,
    }
}

fn runner_up(choice: Option<&String>, rankings: &[Vec<String>]) -> Option<RouteRunnerUp> {
    let mut places: BTreeMap<&String, (usize, usize)> = BTreeMap::new();
    for ranking in rankings {
        for (place, name) in ranking.iter().take(2).enumerate().filter(|(_, name)| Some(*name) != choice) {
            let (first, second) = places.entry(name).or_default();
            *(if place == 0 { first } else { second }) += 1;
        }
    }
    let best = places.into_iter().max_by_key(|(name, places)| (*places, std::cmp::Reverse(*name)))?;
    let (name, (first, second)) = best;
    Some(RouteRunnerUp { skill: name.clone(), first, second })
}

impl RouteDocument {
    /// The result for people.
    pub fn render_text(&self) -> String {
        let found = self;
        let name = |name: Option<&String>| name.map_or_else(|| "no skill".to_owned(), |name| clean(name));
        // Counting words does not depend on the order of the skills.
        let is_lexical = found.router == DEFAULT.name();
        let orders = counted(found.answers, "order", "orders");
        let of = |count: usize| {
            if is_lexical { String::new() } else { format!(" in {count} of {orders}") }
        };
        let mut text = format!("chosen     {}{}\n", name(found.choice.as_ref()), of(found.choice_count));
        if found.answers == 0 {
            "chosen     unknown: no answer\n".clone_into(&mut text);
        }
        if let Some(RouteRunnerUp { skill, first, second }) = &found.runner_up {
            let places = if is_lexical {
                String::new()
            } else {
                format!(": first in {first} and second in {second} of {orders}")
            };
            text.push_str(&format!("runner-up  {}{places}\n", clean(skill)));
        }
        text.push_str(&format!(
            "router     {}, {}\n",
            clean(&found.router),
            counted(found.skills, "skill", "skills")
        ));
        if found.unanswered > 0 {
            text.push_str(&format!("unanswered {}\n", found.unanswered));
        }
        if let Some(usd) = found.cost_usd {
            text.push_str(&format!("cost       ${usd:.4}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_the_most_frequent_first_and_the_runner_up_follows() {
        let check = |rankings: &[&[&str]],
                     choice: Option<&str>,
                     count: usize,
                     runner_up: Option<(&str, usize, usize)>| {
            let rankings =
                rankings.iter().map(|names| names.iter().map(|name| (*name).to_owned()).collect()).collect();
            let found = summarize_rankings("x", "y", 3, rankings);
            assert_eq!((found.choice.as_deref(), found.choice_count), (choice, count));
            let expected = runner_up.map(|(skill, first, second)| RouteRunnerUp {
                skill: skill.to_owned(),
                first,
                second,
            });
            assert_eq!(found.runner_up, expected);
        };
        check(&[], None, 0, None);
        check(&[&[]], None, 1, None);
        check(&[&["a", "b"], &["a", "c"], &["b", "a"]], Some("a"), 2, Some(("b", 1, 1)));
        check(&[&["b"], &["a"]], Some("a"), 1, Some(("b", 1, 0)));
        check(&[&[], &[], &["a", "b"]], None, 2, Some(("a", 1, 0)));
        check(&[&[], &["a"]], Some("a"), 1, None);
    }
}
