//! Runs a model over the queries.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::{Call, ChatModel, ChatRequest, Message, ModelError, Price, ScriptContext, Usage};
use serde_json::json;

use crate::reply::read;
use crate::shuffle::{order, seed32};
use crate::{Answers, AnswersError, Candidate, Prompt, Routed, Status, Template};

/// Raised when the requests change, so that stored answers to older ones are not used.
const PROTOCOL: u32 = 1;

/// Most tokens of a reply.
const REPLY_TOKENS: u32 = 1_000;

/// Tokens of a typical reply, for forecasts: five names, a number and a sentence.
const TYPICAL_REPLY: u64 = 120;

/// Longest wait for an answer, retries included.
const PATIENCE: Duration = Duration::from_mins(10);

/// Questions to one model: every request, several times.
pub struct Bench<'a> {
    /// The requests.
    pub prompts: &'a [Prompt],
    /// The skills to choose from, in order of name.
    pub skills: &'a [Candidate],
    /// The template of the questions.
    pub template: &'a Template,
    /// The model.
    pub model: &'a dyn ChatModel,
    /// The price of its tokens, if known.
    pub price: Option<Price>,
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
    /// Cap in USD; a question whose maximum cost would exceed it is not sent.
    pub max_usd: Option<f64>,
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
    text: String,
}

impl<'a> Bench<'a> {
    /// The first question: the query and the text.
    pub fn first_question(&self) -> Option<(&'a Prompt, String)> {
        let prompt = self.prompts.first()?;
        Some((prompt, self.question_text(prompt, 0)))
    }

    fn ordered_skills(&self, prompt: &Prompt, repetition: u32) -> Vec<&Candidate> {
        // The published orders are drawn with the bare name of the model.
        let model = self.model.id();
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
            "protocol": PROTOCOL, "model": self.model.id(), "script": self.model.identity(), "prompt": prompt.id,
            "repetition": repetition, "seed": self.seed, "text": text,
        });
        let digest = blake3::hash(identity.to_string().as_bytes()).to_hex().to_string();
        PlannedQuery { prompt: place, repetition, digest, text }
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
    pub fn forecast(&self, answers: &Answers) -> Result<Forecast, AnswersError> {
        let mut forecast = Forecast { questions: 0, answered: 0, tokens: Usage::default(), usd: None };
        for question in self.questions() {
            forecast.questions += 1;
            if answers.get(&question.digest)?.is_some_and(|answer| answer.status.is_result()) {
                forecast.answered += 1;
            } else {
                forecast.tokens +=
                    Usage { input: tokens(&question.text), output: TYPICAL_REPLY, ..Usage::default() };
            }
        }
        forecast.usd = self.price.map(|price| price.cost(&forecast.tokens));
        Ok(forecast)
    }

    /// Sends the questions without a stored answer. Calls `progress` with each answer.
    ///
    /// # Errors
    /// Answers cannot be read or stored; those stored before stay.
    pub fn run(
        &self,
        answers: &Answers,
        caps: &RunLimits,
        cancel: &AtomicBool,
        progress: &(dyn Fn(&Routed) + Sync),
    ) -> Result<RunOutcome, AnswersError> {
        let mut found: BTreeMap<(usize, u32), Routed> = BTreeMap::new();
        let mut open = VecDeque::new();
        for question in self.questions() {
            match answers.get(&question.digest)?.filter(|answer| answer.status.is_result()) {
                Some(answer) => {
                    found.insert((question.prompt, question.repetition), answer);
                }
                None => open.push_back(question),
            }
        }
        let (cached, planned) = (found.len(), found.len() + open.len());
        if let Some(most) = caps.max_runs {
            open.truncate(most);
        }
        let queue = Mutex::new(WorkQueue { open, found, broken: None, spent: 0.0, reserved: 0.0, asked: 0 });
        std::thread::scope(|scope| {
            for _ in 0..caps.concurrency.max(1) {
                scope.spawn(|| self.run_worker(&queue, answers, caps, cancel, progress));
            }
        });
        let queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = queue.broken {
            return Err(error);
        }
        Ok(RunOutcome {
            left: planned - queue.found.len(),
            answers: queue.found.into_values().collect(),
            asked: queue.asked,
            cached,
            spent_usd: self.price.map(|_| queue.spent),
        })
    }

    /// One worker: sends questions until none is left or a limit is reached.
    fn run_worker(
        &self,
        queue: &Mutex<WorkQueue>,
        answers: &Answers,
        caps: &RunLimits,
        cancel: &AtomicBool,
        progress: &(dyn Fn(&Routed) + Sync),
    ) {
        let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (question, reserve) = {
                let mut queue = lock();
                if queue.broken.is_some() || cancel.load(Ordering::Relaxed) {
                    return;
                }
                let Some(question) = queue.open.pop_front() else { return };
                let reserve = self.max_cost(&question);
                if caps.max_usd.is_some_and(|most| queue.spent + queue.reserved + reserve > most) {
                    return;
                }
                queue.reserved += reserve;
                (question, reserve)
            };
            let routed = self.send_question(&question, cancel);
            let mut queue = lock();
            queue.reserved -= reserve;
            let Some(routed) = routed else { return };
            queue.asked += 1;
            if let (Some(price), Some(usage)) = (self.price, routed.usage) {
                queue.spent += price.cost(&usage);
            }
            if routed.status.is_result()
                && let Err(error) = answers.store(&question.digest, &routed)
            {
                queue.broken = Some(error);
                return;
            }
            progress(&routed);
            queue.found.insert((question.prompt, question.repetition), routed);
        }
    }

    /// The maximum cost of a question: two replies of full length, and a quarter for differences
    /// between tokenizers.
    fn max_cost(&self, question: &PlannedQuery) -> f64 {
        let input = tokens(&question.text);
        let output = u64::from(REPLY_TOKENS);
        let usage = Usage { input: 2 * input + output, output: 2 * output, ..Usage::default() };
        self.price.map_or(0.0, |price| 1.25 * price.cost(&usage))
    }

    /// Sends a question, and once more after an invalid reply. `None` if cancelled.
    fn send_question(&self, question: &PlannedQuery, cancel: &AtomicBool) -> Option<Routed> {
        let clock = Instant::now();
        let prompt = &self.prompts[question.prompt];
        let script_context = ScriptContext {
            task: prompt.id.clone(),
            condition: String::new(),
            repetition: question.repetition + 1,
            seed: u64::from(seed32(&prompt.id, self.model.id(), question.repetition, self.seed)),
        };
        let call = Call { deadline: Some(clock + PATIENCE), cancel, script_context: &script_context };
        let mut routed = Routed {
            prompt: prompt.id.clone(),
            repetition: question.repetition,
            status: Status::FormatFailure,
            ranking: Vec::new(),
            confidence: None,
            replies: Vec::new(),
            message: None,
            usage: None,
            seconds: 0.0,
        };
        let mut messages = vec![Message::User { text: question.text.clone() }];
        for _ in 0..2 {
            let request = ChatRequest {
                messages: messages.clone(),
                max_output_tokens: Some(REPLY_TOKENS),
                ..ChatRequest::default()
            };
            let reply = match self.model.chat(&request, &call) {
                Ok(reply) => reply,
                Err(ModelError::Cancelled) => return None,
                Err(error) => {
                    routed.status = error_status(&error);
                    routed.message = Some(error.to_string());
                    break;
                }
            };
            if let Some(usage) = reply.usage {
                *routed.usage.get_or_insert_default() += usage;
            }
            routed.replies.push(reply.text.clone());
            match read(&reply.text) {
                Ok(answer) => {
                    routed.status = Status::Finished;
                    routed.ranking = answer.ranking;
                    routed.confidence = answer.confidence;
                    routed.message = None;
                    break;
                }
                Err(wrong) => {
                    let complaint = format!(
                        "That cannot be read: {wrong}. Answer with the one JSON object that was asked for, and nothing \
                         around it."
                    );
                    routed.message = Some(wrong.to_string());
                    messages.push(Message::Assistant {
                        text: reply.text,
                        tool_calls: Vec::new(),
                        raw: reply.raw,
                    });
                    messages.push(Message::User { text: complaint });
                }
            }
        }
        routed.seconds = clock.elapsed().as_secs_f64();
        Some(routed)
    }
}

/// The state that workers share.
struct WorkQueue {
    open: VecDeque<PlannedQuery>,
    found: BTreeMap<(usize, u32), Routed>,
    broken: Option<AnswersError>,
    spent: f64,
    /// The maximum cost of open questions, in USD.
    reserved: f64,
    asked: usize,
}

fn tokens(text: &str) -> u64 {
    u64::try_from(assay_skill::tokens(text)).unwrap_or(u64::MAX)
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
