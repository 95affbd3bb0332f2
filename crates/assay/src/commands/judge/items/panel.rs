//! The judges of a batch: their requests, cached replies, cost and failures.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_ask::{AskRules, Asker, CostCap, FolderCache, ModelHandle, ModelQuestion, QuestionOf};
use assay_judge::{PROTOCOL, Request};
use assay_model::{ScriptContext, Usage};
use serde_json::{Map, Value, json};

use crate::args::judge::PanelArgs;
use crate::asking::{WAITING_INTERVAL, no_answer, progress};
use crate::config::Settings;
use crate::failure::Failure;
use crate::ui::Ui;

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

/// The requests of a table.
#[derive(Debug)]
pub(in crate::commands::judge) struct Batch<P> {
    pub(in crate::commands::judge) groups: Vec<P>,
    pub(in crate::commands::judge) rows: usize,
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

pub(in crate::commands::judge) struct Panel<'a> {
    args: &'a PanelArgs,
    judges: Vec<ModelHandle>,
    asker: Asker<'static>,
    cap: Arc<CostCap>,
}

/// A request with the group that it is about.
struct GroupRequest<'a, P: Prompt> {
    group: &'a P,
    question: QuestionOf<'a, Vec<P::Ruling>>,
}

impl<'a> Panel<'a> {
    /// Opens the models. No request is sent yet.
    pub(in crate::commands::judge) fn new(
        specs: &[String],
        args: &'a PanelArgs,
        settings: &Settings,
        ui: &Ui,
    ) -> Result<Self, Failure> {
        let cap = Arc::new(args.flags.cost_cap("this batch")?);
        let mut judges: Vec<ModelHandle> = Vec::new();
        for spec in specs {
            if judges.iter().any(|judge| judge.name() == spec) {
                return Err(Failure::bad_input(format!("--judge {spec} is given twice"))
                    .hint("--repeats asks one judge several times"));
            }
            judges.push(args.flags.access.open_model("--judge", spec)?);
        }
        let cache = FolderCache::new(settings.store.join("judgements"));
        let asker = Asker::new(Arc::new(cache), cap.clone(), AskRules::default())
            .report_to(progress(ui), WAITING_INTERVAL);
        Ok(Self { args, judges, asker, cap })
    }

    fn requests<'b, P: Prompt>(&'b self, batch: &'b Batch<P>) -> Vec<GroupRequest<'b, P>> {
        let mut all = Vec::new();
        for group in &batch.groups {
            let request = group.request();
            for judge in &self.judges {
                for repeat in 1..=self.args.repeats {
                    let question = QuestionOf {
                        model: judge,
                        question: question(judge, &request, repeat),
                        read: Box::new(|reply| group.read(reply)),
                    };
                    all.push(GroupRequest { group, question });
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
        let requests = self.requests(batch);
        let mut cached = 0;
        let mut cost = 0.0;
        for GroupRequest { question: of, .. } in &requests {
            if self.asker.is_answered(&of.question, &*of.read)? {
                cached += 1;
            } else {
                cost += self.cap.max_cost(&of.question, self.asker.rules());
            }
        }
        Ok(Forecast { requests: requests.len() - cached, cached, max_usd: self.cap.priced(cost) })
    }

    /// Refuses paid judges without a cap.
    pub(in crate::commands::judge) fn check_cap(&self, forecast: &Forecast) -> Result<(), Failure> {
        if forecast.requests == 0 {
            return Ok(());
        }
        Ok(self.judges.iter().try_for_each(|judge| self.cap.check_model(judge))?)
    }

    /// Judges a batch. The first failure of a judge ends it; replies so far are in the store.
    pub(in crate::commands::judge) fn judge_all<P: Prompt>(
        &self,
        batch: &Batch<P>,
    ) -> Result<Judged<P::Ruling>, Failure> {
        let (groups, questions): (Vec<&P>, Vec<_>) =
            self.requests(batch).into_iter().map(|of| (of.group, of.question)).unzip();
        let concurrency = usize::try_from(self.args.concurrency).unwrap_or(usize::MAX);
        let answers = self
            .asker
            .answer_all(&questions, concurrency, &AtomicBool::new(false))
            .map_err(|error| no_answer(error, "judge"))?;
        let mut judged = Judged {
            rulings: vec![Vec::new(); batch.rows],
            requests: 0,
            cached: 0,
            planted: 0,
            missed: 0,
            cost_usd: self.cap.cost_usd(),
            usage: self.cap.spending().usage,
        };
        for (group, answer) in groups.into_iter().zip(answers) {
            let Ok(rulings) = answer.value else { continue };
            judged.requests += usize::from(!answer.is_cached);
            judged.cached += usize::from(answer.is_cached);
            if let Some(is_missed) = group.is_missed(&rulings) {
                judged.planted += 1;
                judged.missed += usize::from(is_missed);
            }
            for (ruling, row) in rulings.into_iter().zip(group.rows()) {
                if let Some(row) = row {
                    judged.rulings[row].push(ruling);
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
