//! Calls of models: cached replies, cost, cap and failures.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_draft::requests::Prompt;
use assay_model::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelOptions, Price, ScriptContext, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::draft::RequestsArgs;
use crate::config::Settings;
use crate::failure::Failure;
use crate::request_budget::price_of;
use crate::{machine, replies};

/// Longest wait for a reply, retries included.
const PATIENCE: Duration = Duration::from_mins(10);

/// Most tokens of a reply; models that reason count their reasoning.
const REPLY_TOKENS: u32 = 8_000;

/// Calls for one answer: a reply that cannot be read is asked for again once.
const TRIES: u32 = 2;

/// Raised when calls change in more than their prompts, which have versions of their own.
const PROTOCOL: u32 = 1;

/// A cached reply.
#[derive(Debug, Serialize, Deserialize)]
struct StoredReply {
    model: String,
    prompt: String,
    number: String,
    text: String,
    reply: String,
    /// The model that the provider reported.
    replied_model: Option<String>,
    usage: Option<Usage>,
}

/// A model under its name.
pub(super) struct NamedModel {
    pub(super) spec: String,
    model: Arc<dyn ChatModel>,
    identity: serde_json::Value,
}

/// What is wrong with a reply; `Ok` if it can be read.
pub(super) type Reader<'a> = dyn Fn(&str) -> Result<(), String> + Sync + 'a;

/// One call.
pub(super) struct ModelCall<'a> {
    pub(super) model: &'a NamedModel,
    pub(super) prompt: &'a Prompt,
    /// Tells draws with the same prompt apart.
    pub(super) number: String,
    pub(super) reader: Box<Reader<'a>>,
}

/// The models of a command, and what they have cost.
pub(super) struct Models<'a> {
    args: &'a RequestsArgs,
    folder: PathBuf,
    pub(super) writer: NamedModel,
    pub(super) reviewers: Vec<NamedModel>,
    pub(super) price: Option<Price>,
    cancel: Arc<AtomicBool>,
    spent: Mutex<Spent>,
}

/// What was sent so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) calls: usize,
    pub(super) cached: usize,
    pub(super) usage: Usage,
    /// Cost of calls under way, at most.
    reserved: f64,
}

impl<'a> Models<'a> {
    /// Opens the models. No call is sent yet.
    pub(super) fn open(args: &'a RequestsArgs, model: &str, settings: &Settings) -> Result<Self, Failure> {
        let price = price_of(&args.price)?;
        if args.max_usd.is_some() && price.is_none() {
            return Err(Failure::bad_input("--max-usd needs --price").hint("--price IN,OUT"));
        }
        let open = |option: &str, spec: &str| {
            let options = ModelOptions {
                base_url: args.base_url.clone(),
                api_key_env: args.api_key_env.clone(),
                ..ModelOptions::default()
            };
            let model = assay_model::open(spec, &options, &machine::env)
                .map_err(|error| Failure::bad_input(format!("{option}: {error}")))?;
            Ok::<_, Failure>(NamedModel { spec: spec.to_owned(), identity: model.identity(), model })
        };
        let writer = open("--model", model)?;
        let names = if args.reviewer.is_empty() { vec![model.to_owned()] } else { args.reviewer.clone() };
        let reviewers = names.iter().map(|spec| open("--reviewer", spec)).collect::<Result<_, _>>()?;
        let (folder, cancel) = (settings.store.join("requests"), machine::interrupted()?);
        Ok(Self { args, folder, writer, reviewers, price, cancel, spent: Mutex::default() })
    }

    /// Refuses paid models without a cap.
    pub(super) fn check_cap(&self) -> Result<(), Failure> {
        let url = self.args.base_url.as_deref();
        let mut specs = self.reviewers.iter().chain([&self.writer]).map(|model| &model.spec);
        match specs.find(|spec| machine::is_paid(spec, url, self.price)) {
            Some(spec) if self.args.max_usd.is_none() && !self.args.no_cap => {
                Err(Failure::bad_input(format!("{spec} is a paid model, and this command has no cap"))
                    .hint("--max-usd USD with --price, or --no-cap"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub(super) fn spent(&self) -> Spent {
        *lock(&self.spent)
    }

    /// The cost of what was sent, in USD.
    pub(super) fn cost_usd(&self) -> Option<f64> {
        self.price.map(|price| price.cost(&self.spent().usage))
    }

    /// The maximum cost of an answer in USD: all replies of full length, and a quarter for differences between
    /// tokenizers.
    pub(super) fn max_cost(&self, prompt: &Prompt) -> f64 {
        let tokens = assay_model::tokens(&prompt.system) + assay_model::tokens(&prompt.text);
        let output = u64::from(REPLY_TOKENS);
        let input =
            u64::try_from(tokens).unwrap_or(u64::MAX).saturating_mul(u64::from(TRIES)).saturating_add(output);
        let usage = Usage { input, output: u64::from(TRIES) * output, ..Usage::default() };
        self.price.map_or(0.0, |price| 1.25 * price.cost(&usage))
    }

    /// The replies to some calls, in their order. The first failure ends it; replies so far are in the store. The last
    /// reply to a call may be one that cannot be read.
    pub(super) fn call_all(&self, calls: &[ModelCall<'_>]) -> Result<Vec<String>, Failure> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let failure = Mutex::new(None);
        let replies: Vec<Mutex<Option<String>>> = calls.iter().map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            for _ in 0..self.args.concurrency {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(call) = calls.get(at) else { return };
                        match self.reply(call) {
                            Ok(reply) => *lock(&replies[at]) = Some(reply),
                            Err(error) => {
                                stop.store(true, Ordering::Relaxed);
                                lock(&failure).get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        if let Some(failure) = lock(&failure).take() {
            return Err(failure);
        }
        let replies =
            replies.into_iter().map(|reply| reply.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(replies.map(Option::unwrap_or_default).collect())
    }

    /// The reply to a call, from the store or from the model.
    fn reply(&self, call: &ModelCall<'_>) -> Result<String, Failure> {
        let label = call.prompt.file.label();
        let identity = json!({
            "protocol": PROTOCOL, "model": call.model.spec, "script": call.model.identity, "prompt": label,
            "number": call.number, "system": call.prompt.system, "text": call.prompt.text, "url": self.args.base_url,
        });
        let digest = blake3::hash(identity.to_string().as_bytes()).to_hex();
        let path = self.folder.join(format!("{digest}.json"));
        if let Some(stored) = replies::read::<StoredReply>(&path)? {
            lock(&self.spent).cached += 1;
            return Ok(stored.reply);
        }
        self.reserve(call.prompt)?;
        let replied = self.send(call);
        let mut spent = lock(&self.spent);
        spent.reserved -= self.max_cost(call.prompt);
        spent.calls += 1;
        drop(spent);
        let reply = replied?;
        let stored = StoredReply {
            model: call.model.spec.clone(),
            prompt: label,
            number: call.number.clone(),
            text: call.prompt.text.clone(),
            reply: reply.text,
            replied_model: reply.model,
            usage: reply.usage,
        };
        replies::write(&path, &stored)?;
        Ok(stored.reply)
    }

    /// Sets the cost of a call aside, unless that exceeds the cap.
    fn reserve(&self, prompt: &Prompt) -> Result<(), Failure> {
        let most = self.max_cost(prompt);
        let mut spent = lock(&self.spent);
        let so_far = self.price.map_or(0.0, |price| price.cost(&spent.usage));
        if let Some(cap) = self.args.max_usd.filter(|cap| so_far + spent.reserved + most > *cap) {
            return Err(Failure::bad_input(format!(
                "--max-usd {cap} is reached: ${so_far:.4} is spent, and the next call may cost ${most:.4}"
            ))
            .hint("run the command again with a higher cap, which uses the replies so far"));
        }
        spent.reserved += most;
        Ok(())
    }

    /// Calls until a reply can be read, at most [`TRIES`] times.
    fn send(&self, call: &ModelCall<'_>) -> Result<ChatReply, Failure> {
        let context = ScriptContext { task: call.prompt.file.name.to_owned(), ..ScriptContext::default() };
        let mut messages = vec![Message::User { text: call.prompt.text.clone() }];
        let mut last = None;
        for _ in 0..TRIES {
            let deadline = Some(Instant::now() + PATIENCE);
            let around = Call { deadline, cancel: &self.cancel, script_context: &context };
            let chat = ChatRequest {
                system: call.prompt.system.clone(),
                messages: messages.clone(),
                max_output_tokens: Some(REPLY_TOKENS),
                ..ChatRequest::default()
            };
            let reply =
                call.model.model.chat(&chat, &around).map_err(|error| failed(&call.model.spec, &error))?;
            if let Some(usage) = reply.usage {
                lock(&self.spent).usage += usage;
            }
            let Err(fault) = (call.reader)(&reply.text) else { return Ok(reply) };
            messages.push(Message::Assistant {
                text: reply.text.clone(),
                tool_calls: Vec::new(),
                raw: reply.raw.clone(),
            });
            messages.push(Message::User { text: format!("{fault}. Reply again in the required form.") });
            last = Some(reply);
        }
        last.ok_or_else(|| Failure::infrastructure("no reply"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A model that gives no reply.
fn failed(model: &str, error: &ModelError) -> Failure {
    let message = format!("the model {model} gives no reply");
    let hint = match error {
        ModelError::Refused { .. } => "check the model's name and its API key (--api-key-env)",
        ModelError::Script(_) => "add a rule that answers to the script",
        ModelError::ContextExceeded { .. } => "use a model with a larger context window",
        _ => "run the command again, which uses the replies so far",
    };
    let is_input = matches!(error, ModelError::Script(_) | ModelError::Spec(_));
    let (hint, source) = (Some(hint.to_owned()), Some(error.to_string().into()));
    if is_input {
        Failure::BadInput { message, hint, source, details: Vec::new() }
    } else {
        Failure::Infrastructure { message, hint, source }
    }
}
