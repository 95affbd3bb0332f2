//! The judges of a batch: their requests, stored replies, cost and failures.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_ask::{
    AskError, AskEvents, AskRules, Asker, CapReached, CostCap, FolderCache, ModelHandle, ModelQuestion,
    QuestionOf,
};
use assay_diagnostic::counted;
use assay_model::{ScriptContext, Usage};
use assay_syntax::reply::ReplyError;
use serde_json::{Map, Value, json};

use super::error::{BatchJudgeError, BatchKind};
use crate::ask::{PROTOCOL, Request};
use crate::planted::BLOCKED;

/// What a judge is asked in one request.
pub(super) trait Prompt: Sync {
    /// What it says of one item.
    type Ruling: Clone + Send;

    fn request(&self) -> Request;

    /// Reads a reply: a ruling for each item, in their order.
    fn read_reply(&self, reply: &str) -> Result<Vec<Self::Ruling>, ReplyError>;

    /// The rows that the rulings are about; `None` for a planted item.
    fn rows(&self) -> Vec<Option<usize>>;

    /// Whether rulings miss the planted item. `None` without one.
    fn is_missed(&self, rulings: &[Self::Ruling]) -> Option<bool>;
}

/// The requests of a table.
#[derive(Debug)]
pub(super) struct Batch<P> {
    pub(super) groups: Vec<P>,
    pub(super) rows: usize,
}

/// What a batch needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchForecast {
    /// Requests to send.
    pub requests: usize,
    /// Requests whose replies are stored.
    pub cached: usize,
    /// What they cost at most, if there is a price.
    pub max_usd: Option<f64>,
}

impl BatchForecast {
    /// As `assay.judge-forecast/1`, for a table of so many items or pairs.
    pub fn to_json(&self, kind: BatchKind, count: usize) -> Value {
        json!({
            "schema": "assay.judge-forecast/1", (kind.name()): count, "requests": self.requests,
            "cached": self.cached, "max_usd": self.max_usd,
        })
    }

    /// A line for a table of so many items or pairs.
    pub fn to_text(&self, kind: BatchKind, count: usize) -> String {
        let cost = self.max_usd.map_or_else(String::new, |cost| format!(", at most ${cost:.2}"));
        format!(
            "{}: {} ({} cached){cost}\n",
            kind.count(count),
            counted(self.requests, "request", "requests"),
            self.cached,
        )
    }
}

/// The rulings of a batch.
#[derive(Debug)]
pub(super) struct Judged<R> {
    /// By row: one for each judge and repeat.
    pub(super) rulings: Vec<Vec<R>>,
    pub(super) requests: usize,
    pub(super) cached: usize,
    /// Planted items that were asked, by judge and repeat, and those that were missed.
    pub(super) planted: usize,
    pub(super) missed: usize,
    pub(super) cost_usd: Option<f64>,
    pub(super) usage: Usage,
}

impl<R> Judged<R> {
    /// Refuses a judge that missed planted items.
    pub(super) fn check_planted(&self, kind: BatchKind) -> Result<(), BatchJudgeError> {
        if self.missed >= BLOCKED {
            return Err(BatchJudgeError::Blocked { asked: self.planted, missed: self.missed, kind });
        }
        Ok(())
    }

    /// Requests and cost, without the end of the line.
    pub(super) fn cost_text(&self) -> String {
        let cost = self.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
        format!("{} ({} cached){cost}", counted(self.requests, "request", "requests"), self.cached)
    }
}

/// The judges of a batch.
#[derive(Debug)]
pub struct JudgePanel {
    judges: Vec<ModelHandle>,
    repeats: u32,
    concurrency: usize,
    asker: Asker<'static>,
    cap: Arc<CostCap>,
}

/// The questions of a batch, each once.
struct BatchQuestions<'a, P: Prompt> {
    questions: Vec<QuestionOf<'a, Vec<P::Ruling>>>,
    /// For each group, judge and repeat: the group, and the place of the question. Equal groups share their questions.
    uses: Vec<(&'a P, usize)>,
}

impl JudgePanel {
    /// Judges that are each asked `repeats` times, `concurrency` requests at the same time. Replies are stored in the folder
    /// `replies`.
    pub fn new(
        judges: Vec<ModelHandle>,
        cap: CostCap,
        replies: &Path,
        repeats: u32,
        concurrency: u32,
    ) -> Self {
        let cap = Arc::new(cap);
        let asker = Asker::new(Arc::new(FolderCache::new(replies)), cap.clone(), AskRules::default());
        Self { judges, repeats, concurrency: usize::try_from(concurrency).unwrap_or(usize::MAX), asker, cap }
    }

    /// Reports what happens, and in each interval how long requests have been waiting.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { asker: self.asker.report_to(events, interval), ..self }
    }

    /// Whether there are several answers to each question.
    pub(super) fn is_repeated(&self) -> bool {
        self.repeats > 1 || self.judges.len() > 1
    }

    /// The names of the judges.
    pub(super) fn names(&self) -> Vec<String> {
        self.judges.iter().map(|judge| judge.name().to_owned()).collect()
    }

    fn questions<'a, P: Prompt>(&'a self, batch: &'a Batch<P>) -> BatchQuestions<'a, P> {
        let mut all = BatchQuestions { questions: Vec::new(), uses: Vec::new() };
        let mut places = HashMap::new();
        for group in &batch.groups {
            let request = group.request();
            for judge in &self.judges {
                for repeat in 1..=self.repeats {
                    let question = question(judge, &request, repeat);
                    let place = *places.entry(question.digest()).or_insert_with(|| {
                        let read = Box::new(|reply: &str| {
                            group.read_reply(reply).map_err(|error| error.to_string())
                        });
                        all.questions.push(QuestionOf { model: judge, question, read });
                        all.questions.len() - 1
                    });
                    all.uses.push((group, place));
                }
            }
        }
        all
    }

    /// What is to be sent, and what it costs at most.
    pub(super) fn forecast<P: Prompt>(&self, batch: &Batch<P>) -> Result<BatchForecast, AskError> {
        let all = self.questions(batch);
        let mut requests = 0;
        let mut cost = 0.0;
        for of in &all.questions {
            if !self.asker.is_answered(&of.question, &*of.read)? {
                requests += 1;
                cost += self.cap.max_cost(&of.question, self.asker.rules());
            }
        }
        let cached = all.uses.len() - requests;
        Ok(BatchForecast { requests, cached, max_usd: self.cap.priced(cost) })
    }

    /// Refuses paid judges without a cap, if anything is to be sent.
    ///
    /// # Errors
    /// The first judge that may not be asked.
    pub fn check_cap(&self, forecast: &BatchForecast) -> Result<(), CapReached> {
        if forecast.requests == 0 {
            return Ok(());
        }
        self.judges.iter().try_for_each(|judge| self.cap.check_model(judge))
    }

    /// Judges a batch. The first failure of a judge ends it; replies so far are stored.
    pub(super) fn judge_all<P: Prompt>(&self, batch: &Batch<P>) -> Result<Judged<P::Ruling>, AskError> {
        let BatchQuestions { questions, uses } = self.questions(batch);
        let answers = self.asker.answer_all(&questions, self.concurrency, &AtomicBool::new(false))?;
        let mut judged = Judged {
            rulings: vec![Vec::new(); batch.rows],
            requests: 0,
            cached: 0,
            planted: 0,
            missed: 0,
            cost_usd: self.cap.cost_usd(),
            usage: self.cap.spending().usage,
        };
        let mut is_counted = vec![false; answers.len()];
        for (group, place) in uses {
            let answer = &answers[place];
            let Ok(rulings) = &answer.value else { continue };
            let is_new = !answer.is_cached && !std::mem::replace(&mut is_counted[place], true);
            judged.requests += usize::from(is_new);
            judged.cached += usize::from(!is_new);
            if let Some(is_missed) = group.is_missed(rulings) {
                judged.planted += 1;
                judged.missed += usize::from(is_missed);
            }
            for (ruling, row) in rulings.iter().zip(group.rows()) {
                if let Some(row) = row {
                    judged.rulings[row].push(ruling.clone());
                }
            }
        }
        Ok(judged)
    }
}

/// What a judge is asked in a repeat.
fn question(judge: &ModelHandle, request: &Request, repeat: u32) -> ModelQuestion {
    let mut labels = Map::new();
    labels.insert("judge".to_owned(), json!(judge.name()));
    labels.insert("repeat".to_owned(), json!(repeat));
    labels.insert("request".to_owned(), Value::String(request.text.clone()));
    ModelQuestion {
        system: request.system.clone(),
        text: request.text.clone(),
        identity: json!({
            "protocol": PROTOCOL, "model": judge.name(), "script": judge.identity(), "repeat": repeat,
            "system": request.system, "text": request.text, "url": judge.base_url(),
        }),
        labels,
        script: ScriptContext { task: "judge".to_owned(), repetition: repeat, ..ScriptContext::default() },
    }
}
