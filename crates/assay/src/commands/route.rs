//! `assay route`: the skill that would be chosen for one request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_ask::{AskError, ModelHandle};
use assay_report::{clean, counted};
use assay_router::{
    Answers, Bench, Candidate, Lexical, Prompt, Routed, RunLimits, Status as Ended, Template,
};
use assay_skill::Library;
use serde::Serialize;

use crate::args::route::{ModelArgs, OrderArgs, RouteArgs};
use crate::asking::{no_answer, progress};
use crate::commands::note_losses;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::input;
use crate::machine;
use crate::ui::Ui;

/// The router that answers where no model is named: what clients show of a skill is its description.
const DEFAULT: Lexical = Lexical::Bm25Description;

/// What `--format json` prints.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    request: String,
    router: String,
    /// Skills to choose from.
    skills: usize,
    /// Questions that were answered; a lexical router answers once.
    answers: usize,
    /// Questions without an answer.
    unanswered: usize,
    /// The skill that was chosen most often; `null`: no skill.
    choice: Option<String>,
    /// Answers with this choice.
    choice_count: usize,
    runner_up: Option<RunnerUp>,
    /// The answers, each with its ranking.
    rankings: Vec<Vec<String>>,
    cost_usd: Option<f64>,
    measures_a_model: bool,
}

/// The skill next to the choice: most often first, then most often second.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct RunnerUp {
    skill: String,
    /// Answers in which it is first.
    first: usize,
    /// Answers in which it is second.
    second: usize,
}

pub(crate) fn run(args: &RouteArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.request.trim().is_empty() {
        return Err(Failure::bad_input("the request is empty")
            .hint("`assay route \"make a pivot table\" --library DIR`"));
    }
    let skills = candidates(&args.library, ui)?;
    let (document, status) = match &args.model {
        None => (count_words(&args.request, &skills), Status::Done),
        Some(model) => ask_model(model, args, &skills, settings, ui)?,
    };
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&render(&document))?;
    }
    Ok(status)
}

fn count_words(request: &str, skills: &[Candidate]) -> Document {
    let rankings = DEFAULT.rank(&[request], skills);
    summarize(request, DEFAULT.name(), skills.len(), rankings)
}

fn ask_model(
    spec: &str,
    args: &RouteArgs,
    skills: &[Candidate],
    settings: &Settings,
    ui: &Ui,
) -> Result<(Document, Status), Failure> {
    let (template, cap) = (template(&args.orders)?, Arc::new(args.access.model.cost_cap()?));
    let price = cap.price();
    let model = open(spec, &args.access)?;
    let cancel = machine::interrupted()?;
    let prompts = [Prompt {
        id: "request".to_owned(),
        text: args.request.clone(),
        expected: None,
        acceptable: Vec::new(),
        rejected: Vec::new(),
    }];
    let bench = Bench {
        prompts: &prompts,
        skills,
        template: &template,
        model: &model,
        cap,
        events: Some(progress(ui)),
        repetitions: args.orders.repetitions,
        seed: args.orders.seed,
    };
    let caps = RunLimits { max_runs: None, concurrency: usize::from(args.access.jobs) };
    let answers = Answers::new(settings.store.join("routes"));
    let detail =
        |routed: &Routed| ui.detail(&format!("order {}: {:?}", routed.repetition + 1, routed.status));
    let ran = bench.run(&answers, &caps, &cancel, &detail).map_err(broken)?;
    let (answered, lost): (Vec<Routed>, Vec<Routed>) =
        ran.answers.into_iter().partition(|routed| routed.status.is_result());
    if let Some(first) = lost.first() {
        let message = first.message.as_deref().unwrap_or("no reason given");
        ui.note(&format!(
            "{}: {} without an answer: {}",
            model.name(),
            counted(lost.len(), "question", "questions"),
            clean(message)
        ));
    }
    let malformed = answered.iter().filter(|routed| routed.status == Ended::FormatFailure).count();
    if malformed > 0 {
        ui.note(&format!(
            "{}: {} in another format than the template asks for",
            model.name(),
            counted(malformed, "reply is", "replies are")
        ));
    }
    let cost = |routed: &Routed| Some(price?.cost(&routed.usage?));
    let cost_usd = answered.iter().map(cost).sum::<Option<f64>>().filter(|_| price.is_some());
    let unanswered = lost.len() + ran.left + malformed;
    let rankings = answered
        .into_iter()
        .filter(|routed| routed.status == Ended::Finished)
        .map(|routed| routed.ranking)
        .collect();
    let mut document = summarize(&args.request, model.name(), skills.len(), rankings);
    (document.unanswered, document.cost_usd) = (unanswered, cost_usd);
    document.measures_a_model = model.measures_a_model();
    let status = match (cancel.load(Ordering::Relaxed), lost.len() + ran.left) {
        (true, _) => Status::Interrupted,
        (false, 0) => Status::Done,
        _ => Status::Infrastructure,
    };
    Ok((document, status))
}

fn summarize(request: &str, router: &str, skills: usize, rankings: Vec<Vec<String>>) -> Document {
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
    Document {
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

fn runner_up(choice: Option<&String>, rankings: &[Vec<String>]) -> Option<RunnerUp> {
    let mut places: BTreeMap<&String, (usize, usize)> = BTreeMap::new();
    for ranking in rankings {
        for (place, name) in ranking.iter().take(2).enumerate().filter(|(_, name)| Some(*name) != choice) {
            let (first, second) = places.entry(name).or_default();
            *(if place == 0 { first } else { second }) += 1;
        }
    }
    let best = places.into_iter().max_by_key(|(name, places)| (*places, std::cmp::Reverse(*name)))?;
    let (name, (first, second)) = best;
    Some(RunnerUp { skill: name.clone(), first, second })
}

fn render(found: &Document) -> String {
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
    if let Some(RunnerUp { skill, first, second }) = &found.runner_up {
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

/// The skills of some folders, in order of name.
pub fn candidates(folders: &[PathBuf], ui: &Ui) -> Result<Vec<Candidate>, Failure> {
    let library = Library::load(folders);
    note_losses(&library, ui);
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
        let message = format!("two skills are named `{}`: an answer would be ambiguous", twice[0].name);
        return Err(Failure::bad_input(message).hint("name folders whose skills have different names"));
    }
    if skills.len() < 2 {
        return Err(Failure::bad_input("fewer than two skills to choose from"));
    }
    Ok(skills)
}

/// The prompt of a router: that of a file, or the built-in one.
pub fn template(args: &OrderArgs) -> Result<Template, Failure> {
    let Some(path) = &args.template else { return Ok(Template::default()) };
    Template::new(input::text(path)?)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
}

/// Opens a model. No request is sent.
pub fn open(spec: &str, args: &ModelArgs) -> Result<ModelHandle, Failure> {
    args.model.open_model("--model", spec)
}

/// The failure to read or keep answers, or to reach a model.
pub fn broken(error: impl Into<AskError>) -> Failure {
    match error.into() {
        AskError::Cache(error) => Failure::infrastructure(assay_diagnostic::chain(&error))
            .hint("check that the path is writable and has free space; the answers so far are kept"),
        error => no_answer(error, "model"),
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
            let found = summarize("x", "y", 3, rankings);
            assert_eq!((found.choice.as_deref(), found.choice_count), (choice, count));
            let expected =
                runner_up.map(|(skill, first, second)| RunnerUp { skill: skill.to_owned(), first, second });
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
