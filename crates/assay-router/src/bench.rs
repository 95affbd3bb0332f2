//! Runs a model over the queries.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_ask::{
    Answer, AskError, AskEvents, AskRules, Asker, CacheError, CostCap, Exchange, ModelHandle, ModelQuestion,
    QuestionOf, UnreadableReplies, WAITING_INTERVAL,
};
use assay_model::{ModelError, ScriptContext, Usage};
use serde_json::{Map, json};

use crate::answers::routed;
use crate::reply::read;
use crate::shuffle::{order, seed32};
use crate::{Answers, Candidate, Prompt, Routed, Status, Template};

/// Raised when the requests change, so that stored answers to older ones are not used.
const PROTOCOL: u32 = 1;

/// Tokens of a typical reply, for forecasts: five names, a number and a sentence.
const TYPICAL_REPLY: u64 = 120;

/// Two replies that cannot be read are an answer, which counts as wrong.
const RULES: AskRules = AskRules {
    reply_tokens: 1_000,
    tries: 2,
    patience: Duration::from_mins(10),
    complaint: |fault| {
        format!(
            "That cannot be read: {fault}. Answer with the one JSON object that was asked for, and nothing around it."
        )
    },
    unreadable: UnreadableReplies::Keep,
};

/// Questions to one model: every request, several times.
pub struct Bench<'a> {
    /// The requests.
    pub prompts: &'a [Prompt],
    /// The skills to choose from, in order of name.
    pub skills: &'a [Candidate],
    /// The template of the questions.
    pub template: &'a Template,
    /// The model.
    pub model: &'a ModelHandle,
    /// The price of its tokens and the cap, which several models may share.
    pub cap: Arc<CostCap>,
    /// Hears what happens.
    pub events: Option<Arc<dyn AskEvents>>,
    /// How often each query is repeated.
    pub repetitions: u32,
    /// Seed of the orders.
    pub seed: u64,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLimits {
    /// Questions sent to the model, at most.
    pub max_runs: Option<usize>,
    /// Concurrent questions, at least one.
    pub concurrency: usize,
}

/// The size and cost of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Questions in all.
    pub questions: usize,
    /// Of them, cached.
    pub answered: usize,
    /// Tokens to read and to write for the rest (cl100k, one reply each).
    pub tokens: Usage,
    /// Their cost in USD, if a price is known.
    pub usd: Option<f64>,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The answers, in order of query and repetition; questions that were not sent are missing.
    pub answers: Vec<Routed>,
    /// Questions sent in this run.
    pub asked: usize,
    /// Questions answered by an earlier run, from the store.
    pub cached: usize,
    /// Questions not sent because of a cap or an interruption.
    pub left: usize,
    /// The cost of this run in USD, if a price is known.
    pub spent_usd: Option<f64>,
}

/// One question.
#[derive(Debug)]
struct PlannedQuery {
    prompt: usize,
    repetition: u32,
    digest: String,
    question: ModelQuestion,
}

impl<'a> Bench<'a> {
    /// The first question: the query and the text.
    pub fn first_question(&self) -> Option<(&'a Prompt, String)> {
        let prompt = self.prompts.first()?;
        Some((prompt, self.question_text(prompt, 0)))
    }

    fn ordered_skills(&self, prompt: &Prompt, repetition: u32) -> Vec<&Candidate> {
        // The published orders are drawn with the bare name of the model.
        let model = self.model.name();
        let model = model.split_once(':').map_or(model, |(_, name)| name);
        let places = order(self.skills.len(), seed32(&prompt.id, model, repetition, self.seed));
        places.into_iter().map(|place| &self.skills[place]).collect()
    }

    fn question_text(&self, prompt: &Prompt, repetition: u32) -> String {
        self.template.fill(&prompt.text, &self.ordered_skills(prompt, repetition))
    }

    /// The digest covers the prompt as sent, so that a changed description repeats exactly the
    /// queries that showed it.
    fn question(&self, place: usize, repetition: u32) -> PlannedQuery {
        let prompt = &self.prompts[place];
        let text = self.question_text(prompt, repetition);
        let identity = json!({
            "protocol": PROTOCOL, "model": self.model.name(), "script": self.model.identity(), "prompt": prompt.id,
            "repetition": repetition, "seed": self.seed, "text": text,
        });
        let mut labels = Map::new();
        labels.insert("prompt".to_owned(), json!(prompt.id));
        labels.insert("repetition".to_owned(), json!(repetition));
        let script = ScriptContext {
            task: prompt.id.clone(),
            condition: String::new(),
            repetition: repetition + 1,
            seed: u64::from(seed32(&prompt.id, self.model.name(), repetition, self.seed)),
        };
        let question = ModelQuestion { system: String::new(), text, identity, labels, script };
        PlannedQuery { prompt: place, repetition, digest: question.digest(), question }
    }

    fn questions(&self) -> impl Iterator<Item = PlannedQuery> + '_ {
        (0..self.prompts.len()).flat_map(move |place| {
            (0..self.repetitions).map(move |repetition| self.question(place, repetition))
        })
    }

    /// The size and cost of a run, without calling a model.
    ///
    /// # Errors
    /// Answers cannot be read.
    pub fn forecast(&self, answers: &Answers) -> Result<Forecast, CacheError> {
        let mut forecast = Forecast { questions: 0, answered: 0, tokens: Usage::default(), usd: None };
        for question in self.questions() {
            forecast.questions += 1;
            if answers.get(&question.digest)?.is_some() {
                forecast.answered += 1;
            } else {
                forecast.tokens += Usage {
                    input: question.question.count_tokens(),
                    output: TYPICAL_REPLY,
                    ..Usage::default()
                };
            }
        }
        forecast.usd = self.cap.price().map(|price| price.cost(&forecast.tokens));
        Ok(forecast)
    }

    /// Sends the questions without a stored answer. Calls `progress` with each answer.
    ///
    /// # Errors
    /// The model cannot be used, or answers cannot be read or stored; those stored before stay.
    pub fn run(
        &self,
        answers: &Answers,
        caps: &RunLimits,
        cancel: &AtomicBool,
        progress: &(dyn Fn(&Routed) + Sync),
    ) -> Result<RunOutcome, AskError> {
        let mut found: BTreeMap<(usize, u32), Routed> = BTreeMap::new();
        let mut open = Vec::new();
        for question in self.questions() {
            match answers.get(&question.digest)? {
                Some(answer) => {
                    found.insert((question.prompt, question.repetition), answer);
                }
                None => open.push(question),
            }
        }
        let (cached, planned) = (found.len(), found.len() + open.len());
        if let Some(most) = caps.max_runs {
            open.truncate(most);
        }
        let mut asker = Asker::new(Arc::new(answers.clone()), self.cap.clone(), RULES);
        if let Some(events) = &self.events {
            asker = asker.report_to(events.clone(), WAITING_INTERVAL);
        }
        let questions: Vec<QuestionOf<'_, ()>> = open
            .iter()
            .map(|query| QuestionOf {
                model: self.model,
                question: query.question.clone(),
                read: Box::new(|reply| read(reply).map(drop).map_err(|error| error.to_string())),
            })
            .collect();
        let spent_before = self.cap.cost_usd();
        let asked = AtomicUsize::new(0);
        let broken = Mutex::new(None);
        let on_result = |at: usize, result: Result<Answer<()>, AskError>| {
            let query = open.get(at)?;
            let routed = self.routed_of(query, result).unwrap_or_else(|error| {
                broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            })?;
            asked.fetch_add(1, Ordering::Relaxed);
            progress(&routed);
            Some(routed)
        };
        let results = asker.answer_each(&questions, caps.concurrency.max(1), cancel, &on_result)?;
        if let Some(error) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let new: Vec<(&PlannedQuery, Routed)> =
            open.iter().zip(results).filter_map(|(query, routed)| Some((query, routed?))).collect();
        let spent_usd = self.cap.cost_usd().zip(spent_before).map(|(after, before)| after - before);
        found.extend(new.into_iter().map(|(query, routed)| ((query.prompt, query.repetition), routed)));
        Ok(RunOutcome {
            left: planned - found.len(),
            answers: found.into_values().collect(),
            asked: asked.into_inner(),
            cached,
            spent_usd,
        })
    }

    /// The answer to a question; `None` if it was not sent because of a cap or an interruption.
    fn routed_of(
        &self,
        query: &PlannedQuery,
        result: Result<Answer<()>, AskError>,
    ) -> Result<Option<Routed>, AskError> {
        let prompt = self.prompts.get(query.prompt).map_or("", |prompt| prompt.id.as_str());
        match result {
            Ok(answer) => Ok(Some(routed(prompt, query.repetition, &answer.exchange))),
            Err(AskError::Capped(_)) => Ok(None),
            Err(error) if error.is_cancelled() => Ok(None),
            Err(AskError::NoReply { source, .. }) => {
                let mut routed = routed(prompt, query.repetition, &Exchange::default());
                routed.status = error_status(&source);
                routed.message = Some(source.to_string());
                Ok(Some(routed))
            }
            Err(error) => Err(error),
        }
    }
}

/// Distinguishes an unavailable model from a refused request.
fn error_status(error: &ModelError) -> Status {
    match error {
        ModelError::RateLimited { .. }
        | ModelError::Server { .. }
        | ModelError::Network { .. }
        | ModelError::Deadline => Status::ModelUnavailable,
        _ => Status::Error,
    }
}
