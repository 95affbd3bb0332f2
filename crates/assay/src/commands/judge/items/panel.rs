//! The judges of a batch: their requests, cached replies, cost and failures.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_judge::{PROTOCOL, Request};
use assay_model::{ChatModel, ChatReply, ModelOptions, ScriptContext, Usage};
use assay_trial::judging::{JudgeQuestion, ask_judge};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::batch::Batch;
use crate::args::judge::PanelArgs;
use crate::config::Settings;
use crate::failure::Failure;
use crate::request_budget::{RequestBudget, no_answer};
use crate::{machine, replies};

/// Longest wait for a reply, retries included.
const PATIENCE: Duration = Duration::from_mins(10);

/// What a judge is asked in one request.
pub(in crate::commands::judge) trait Prompt: Sync {
    /// What it says of one item.
    type Ruling: Clone + Send;

    fn request(&self) -> Request;

    /// Reads a reply: a ruling for each item, in their order.
    fn read(&self, reply: &str) -> Result<Vec<Self::Ruling>, String>;

    /// The rows that the rulings are about; `None` for a planted item.
    fn rows(&self) -> Vec<Option<usize>>;

    /// Whether rulings miss the planted item. `None` without one.
    fn is_missed(&self, rulings: &[Self::Ruling]) -> Option<bool>;
}

/// A cached reply.
#[derive(Debug, Serialize, Deserialize)]
struct StoredReply {
    judge: String,
    repeat: u32,
    request: String,
    reply: String,
    /// The model that the provider reported.
    replied_model: Option<String>,
    usage: Option<Usage>,
}

/// What a batch needs.
#[derive(Debug)]
pub(in crate::commands::judge) struct Forecast {
    pub(in crate::commands::judge) requests: usize,
    pub(in crate::commands::judge) cached: usize,
    pub(in crate::commands::judge) max_usd: Option<f64>,
}

/// The rulings of a batch.
#[derive(Debug)]
pub(in crate::commands::judge) struct Judged<R> {
    /// By row: one for each judge and repeat.
    pub(in crate::commands::judge) rulings: Vec<Vec<R>>,
    pub(in crate::commands::judge) requests: usize,
    pub(in crate::commands::judge) cached: usize,
    /// Planted items that were asked, by judge and repeat, and those that were missed.
    pub(in crate::commands::judge) planted: usize,
    pub(in crate::commands::judge) missed: usize,
    pub(in crate::commands::judge) cost_usd: Option<f64>,
    pub(in crate::commands::judge) usage: Usage,
}

/// The rulings of one request, and whether they were cached.
type Answered<R> = (Vec<R>, bool);

struct Judge {
    spec: String,
    model: Arc<dyn ChatModel>,
    identity: serde_json::Value,
}

pub(in crate::commands::judge) struct Panel<'a> {
    args: &'a PanelArgs,
    folder: PathBuf,
    judges: Vec<Judge>,
    budget: RequestBudget,
}

/// One request: what is asked, a judge, a repeat.
struct Work<'a, P> {
    group: &'a P,
    judge: &'a Judge,
    repeat: u32,
    request: Request,
    path: PathBuf,
}

impl<'a> Panel<'a> {
    /// Opens the models. No request is sent yet.
    pub(in crate::commands::judge) fn new(
        specs: &[String],
        args: &'a PanelArgs,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let budget = RequestBudget::new(&args.price, args.max_usd, Usage::default())?;
        let mut judges: Vec<Judge> = Vec::new();
        for spec in specs {
            if judges.iter().any(|judge| judge.spec == *spec) {
                return Err(Failure::bad_input(format!("--judge {spec} is given twice"))
                    .hint("--repeats asks one judge several times"));
            }
            let options = ModelOptions {
                base_url: args.base_url.clone(),
                api_key_env: args.api_key_env.clone(),
                ..ModelOptions::default()
            };
            let model = assay_model::open(spec, &options, &machine::env)
                .map_err(|error| Failure::bad_input(format!("--judge: {error}")))?;
            judges.push(Judge { spec: spec.clone(), identity: model.identity(), model });
        }
        Ok(Self { args, folder: settings.store.join("judgements"), judges, budget })
    }

    fn work<'b, P: Prompt>(&'b self, batch: &'b Batch<P>) -> Vec<Work<'b, P>> {
        let mut all = Vec::new();
        for group in &batch.groups {
            let request = group.request();
            for judge in &self.judges {
                for repeat in 1..=self.args.repeats {
                    let identity = json!({
                        "protocol": PROTOCOL, "model": judge.spec, "script": judge.identity, "repeat": repeat,
                        "system": request.system, "text": request.text, "url": self.args.base_url,
                    });
                    let digest = blake3::hash(identity.to_string().as_bytes()).to_hex();
                    let path = self.folder.join(format!("{digest}.json"));
                    all.push(Work { group, judge, repeat, request: request.clone(), path });
                }
            }
        }
        all
    }

    /// What is to be sent, and what it costs at most.
    pub(in crate::commands::judge) fn forecast<P: Prompt>(
        &self,
        batch: &Batch<P>,
    ) -> Result<Forecast, Failure> {
        let work = self.work(batch);
        let mut cached = 0;
        let mut cost = 0.0;
        for one in &work {
            if replies::read::<StoredReply>(&one.path)?.is_some() {
                cached += 1;
            } else {
                cost += self.budget.max_cost(&one.request);
            }
        }
        Ok(Forecast { requests: work.len() - cached, cached, max_usd: self.budget.priced(cost) })
    }

    /// Refuses paid judges without a cap.
    pub(in crate::commands::judge) fn check_cap(&self, forecast: &Forecast) -> Result<(), Failure> {
        if forecast.requests == 0 {
            return Ok(());
        }
        let url = self.args.base_url.as_deref();
        self.judges
            .iter()
            .try_for_each(|judge| self.budget.check_cap(&judge.spec, url, self.args.no_cap, "this batch"))
    }

    /// Judges a batch. The first failure of a judge ends it; replies so far are in the store.
    pub(in crate::commands::judge) fn judge_all<P: Prompt>(
        &self,
        batch: &Batch<P>,
    ) -> Result<Judged<P::Ruling>, Failure> {
        let work = self.work(batch);
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let failure = Mutex::new(None);
        let replies: Vec<Mutex<Option<Answered<P::Ruling>>>> =
            work.iter().map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            for _ in 0..self.args.concurrency {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(one) = work.get(at) else { return };
                        match self.answer(one, &stop) {
                            Ok(answer) => *lock(&replies[at]) = Some(answer),
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
        let mut judged = Judged {
            rulings: vec![Vec::new(); batch.rows],
            requests: 0,
            cached: 0,
            planted: 0,
            missed: 0,
            cost_usd: None,
            usage: Usage::default(),
        };
        for (one, reply) in work.iter().zip(replies) {
            let reply = reply.into_inner().unwrap_or_else(PoisonError::into_inner);
            let Some((rulings, is_cached)) = reply else { continue };
            judged.requests += usize::from(!is_cached);
            judged.cached += usize::from(is_cached);
            if let Some(is_missed) = one.group.is_missed(&rulings) {
                judged.planted += 1;
                judged.missed += usize::from(is_missed);
            }
            for (ruling, row) in rulings.into_iter().zip(one.group.rows()) {
                if let Some(row) = row {
                    judged.rulings[row].push(ruling);
                }
            }
        }
        judged.usage = self.budget.usage();
        judged.cost_usd = self.budget.cost_usd();
        Ok(judged)
    }

    /// The rulings of one request, and whether they were cached.
    fn answer<P: Prompt>(
        &self,
        one: &Work<'_, P>,
        stop: &AtomicBool,
    ) -> Result<Answered<P::Ruling>, Failure> {
        if let Some(stored) = replies::read::<StoredReply>(&one.path)? {
            let rulings =
                one.group.read(&stored.reply).map_err(|error| replies::invalid(&one.path, &error))?;
            return Ok((rulings, true));
        }
        self.budget.reserve(&one.request)?;
        let requested = request_rulings(one, &self.budget, stop);
        self.budget.release(&one.request);
        requested.map(|rulings| (rulings, false))
    }
}

fn request_rulings<P: Prompt>(
    one: &Work<'_, P>,
    budget: &RequestBudget,
    stop: &AtomicBool,
) -> Result<Vec<P::Ruling>, Failure> {
    let context =
        ScriptContext { task: "judge".to_owned(), repetition: one.repeat, ..ScriptContext::default() };
    let question = JudgeQuestion {
        name: &one.judge.spec,
        model: &*one.judge.model,
        request: &one.request,
        patience: PATIENCE,
        context: &context,
        cancel: stop,
    };
    let mut on_reply = |reply: &ChatReply| {
        if let Some(usage) = reply.usage {
            budget.add(usage);
        }
    };
    let (rulings, reply) = ask_judge(&question, &|text| one.group.read(text), &mut on_reply)
        .map_err(|error| no_answer(error, "judge"))?;
    store(one, &reply)?;
    Ok(rulings)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn store<P>(one: &Work<'_, P>, reply: &ChatReply) -> Result<(), Failure> {
    let stored = StoredReply {
        judge: one.judge.spec.clone(),
        repeat: one.repeat,
        request: one.request.text.clone(),
        reply: reply.text.clone(),
        replied_model: reply.model.clone(),
        usage: reply.usage,
    };
    replies::write::<StoredReply>(Path::new(&one.path), &stored)
}
