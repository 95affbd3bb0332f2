//! Asking a model.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::{Call, ChatModel, ChatRequest, Message, ModelError, Price, ScriptContext, Usage};
use serde_json::json;

use crate::reply::read;
use crate::shuffle::{order, seed32};
use crate::{Answers, AnswersError, Candidate, Prompt, Routed, Status, Template};

/// Raised when the way of asking changes, so that older answers are not taken for newer ones.
const PROTOCOL: u32 = 1;

/// Most tokens of a reply.
const REPLY_TOKENS: u32 = 1_000;

/// What a reply is taken to hold in a forecast: five names, a number and a sentence.
const TYPICAL_REPLY: u64 = 120;

/// Longest wait for the answer to one question, its retries included.
const PATIENCE: Duration = Duration::from_mins(10);

/// Questions to one model: every request, several times.
pub struct Bench<'a> {
    /// The requests.
    pub prompts: &'a [Prompt],
    /// What may be chosen, in order of name.
    pub skills: &'a [Candidate],
    /// What is asked.
    pub template: &'a Template,
    /// Who is asked.
    pub model: &'a dyn ChatModel,
    /// What its tokens cost, where that is known.
    pub price: Option<Price>,
    /// How often each request is asked.
    pub repetitions: u32,
    /// Of the orders.
    pub seed: u64,
}

/// How far a run may go.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLimits {
    /// Most questions that are really asked.
    pub max_runs: Option<usize>,
    /// Most money, in USD; no question is begun whose largest cost would pass it.
    pub max_usd: Option<f64>,
    /// Questions at once, at least one.
    pub concurrency: usize,
}

/// What a run would take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Questions in all.
    pub questions: usize,
    /// Of them, answered already.
    pub answered: usize,
    /// Tokens to read and to write for the rest (cl100k, one reply each).
    pub tokens: Usage,
    /// What that costs, in USD, where a price is known.
    pub usd: Option<f64>,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// What there is, in order of request and repetition; questions that were not reached are missing.
    pub answers: Vec<Routed>,
    /// Questions that were asked now.
    pub asked: usize,
    /// Questions answered by an earlier run.
    pub cached: usize,
    /// Questions that a cap or an interruption left.
    pub left: usize,
    /// What was spent now, in USD, where a price is known.
    pub spent_usd: Option<f64>,
}

/// One question.
#[derive(Debug)]
struct Question {
    prompt: usize,
    repetition: u32,
    digest: String,
    text: String,
}

impl<'a> Bench<'a> {
    /// The first question, as it would be asked: which request, and the text.
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

    /// The digest holds what is really sent, so that a changed description asks again exactly what showed it.
    fn question(&self, place: usize, repetition: u32) -> Question {
        let prompt = &self.prompts[place];
        let text = self.question_text(prompt, repetition);
        let identity = json!({
            "protocol": PROTOCOL, "model": self.model.id(), "script": self.model.identity(), "prompt": prompt.id,
            "repetition": repetition, "seed": self.seed, "text": text,
        });
        let digest = blake3::hash(identity.to_string().as_bytes()).to_hex().to_string();
        Question { prompt: place, repetition, digest, text }
    }

    fn questions(&self) -> impl Iterator<Item = Question> + '_ {
        (0..self.prompts.len()).flat_map(move |place| {
            (0..self.repetitions).map(move |repetition| self.question(place, repetition))
        })
    }

    /// What a run would take; asks nobody.
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

    /// Asks what has no answer yet. `progress` hears of each answer as it comes.
    ///
    /// # Errors
    /// Answers cannot be read or kept; what was kept before stays.
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

    /// One worker: takes questions until there are none, or no more may be asked.
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

    /// The most that a question can cost: two replies of full length. Tokenizers differ; a quarter is added for that.
    fn max_cost(&self, question: &Question) -> f64 {
        let input = tokens(&question.text);
        let output = u64::from(REPLY_TOKENS);
        let usage = Usage { input: 2 * input + output, output: 2 * output, ..Usage::default() };
        self.price.map_or(0.0, |price| 1.25 * price.cost(&usage))
    }

    /// Asks, and once more where the reply is not what was asked for. `None`: given up from outside.
    fn send_question(&self, question: &Question, cancel: &AtomicBool) -> Option<Routed> {
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

/// What the workers share.
struct WorkQueue {
    open: VecDeque<Question>,
    found: BTreeMap<(usize, u32), Routed>,
    broken: Option<AnswersError>,
    spent: f64,
    /// For questions under way.
    reserved: f64,
    asked: usize,
}

fn tokens(text: &str) -> u64 {
    u64::try_from(assay_skill::tokens(text)).unwrap_or(u64::MAX)
}

/// Whether the model could not answer, or the question cannot be asked.
fn error_status(error: &ModelError) -> Status {
    match error {
        ModelError::RateLimited { .. }
        | ModelError::Server { .. }
        | ModelError::Network { .. }
        | ModelError::Deadline => Status::ModelUnavailable,
        _ => Status::Error,
    }
}
