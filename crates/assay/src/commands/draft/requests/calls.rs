//! Calls of models: cached replies, cost, cap and failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assay_ask::{
    AskRules, Asker, CostCap, FolderCache, ModelHandle, ModelQuestion, QuestionOf, UnreadableReplies,
};
use assay_draft::requests::Prompt;
use assay_model::ScriptContext;
use serde_json::{Map, json};

use crate::args::draft::RequestsArgs;
use crate::asking::{WAITING_INTERVAL, progress};
use crate::config::Settings;
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// A reply that cannot be read is asked for again once, and then is the answer. Models that reason count their reasoning
/// as tokens.
const RULES: AskRules = AskRules {
    reply_tokens: 8_000,
    tries: 2,
    patience: Duration::from_mins(10),
    complaint: |fault| format!("{fault}. Reply again in the required form."),
    unreadable: UnreadableReplies::Keep,
};

/// Raised when calls change in more than their prompts, which have versions of their own.
const PROTOCOL: u32 = 1;

/// What is wrong with a reply; `Ok` if it can be read.
pub(super) type Reader<'a> = dyn Fn(&str) -> Result<(), String> + Sync + 'a;

/// One call.
pub(super) struct ModelCall<'a> {
    pub(super) model: &'a ModelHandle,
    pub(super) prompt: &'a Prompt,
    /// Tells draws with the same prompt apart.
    pub(super) number: String,
    pub(super) reader: Box<Reader<'a>>,
}

/// The models of a command, and what they have cost.
pub(super) struct Models {
    concurrency: usize,
    asker: Asker<'static>,
    pub(super) writer: ModelHandle,
    pub(super) reviewers: Vec<ModelHandle>,
    pub(super) cap: Arc<CostCap>,
    cancel: Arc<AtomicBool>,
    cached: AtomicUsize,
}

impl Models {
    /// Opens the models. No call is sent yet.
    pub(super) fn open(
        args: &RequestsArgs,
        model: &str,
        settings: &Settings,
        ui: &Ui,
    ) -> Result<Self, Failure> {
        let cap = Arc::new(args.flags.cost_cap("this command")?);
        let writer = args.flags.access.open_model("--model", model)?;
        let names = if args.reviewer.is_empty() { vec![model.to_owned()] } else { args.reviewer.clone() };
        let open = |spec: &String| args.flags.access.open_model("--reviewer", spec);
        let reviewers = names.iter().map(open).collect::<Result<_, _>>()?;
        let cache = FolderCache::new(settings.store.join("requests"));
        let asker = Asker::new(Arc::new(cache), cap.clone(), RULES).report_to(progress(ui), WAITING_INTERVAL);
        let concurrency = usize::try_from(args.concurrency).unwrap_or(usize::MAX);
        let cancel = machine::interrupted()?;
        Ok(Self { concurrency, asker, writer, reviewers, cap, cancel, cached: AtomicUsize::new(0) })
    }

    /// Refuses paid models without a cap.
    pub(super) fn check_cap(&self) -> Result<(), Failure> {
        let mut models = self.reviewers.iter().chain([&self.writer]);
        Ok(models.try_for_each(|model| self.cap.check_model(model))?)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Calls that were sent, and those that were answered from the store.
    pub(super) fn count_calls(&self) -> (usize, usize) {
        let sent = usize::try_from(self.cap.spending().questions).unwrap_or(usize::MAX);
        (sent, self.cached.load(Ordering::Relaxed))
    }

    /// The maximum cost of an answer in USD.
    pub(super) fn max_cost(&self, prompt: &Prompt) -> f64 {
        self.cap.max_cost(&question(&self.writer, prompt, ""), &RULES)
    }

    /// The replies to some calls, in their order. The first failure ends it; replies so far are in the store. The last
    /// reply to a call may be one that cannot be read.
    pub(super) fn call_all(&self, calls: &[ModelCall<'_>]) -> Result<Vec<String>, Failure> {
        let questions: Vec<QuestionOf<'_, ()>> = calls
            .iter()
            .map(|call| QuestionOf {
                model: call.model,
                question: question(call.model, call.prompt, &call.number),
                read: Box::new(|reply| (call.reader)(reply)),
            })
            .collect();
        let answers = self.asker.answer_all(&questions, self.concurrency, &self.cancel)?;
        self.cached.fetch_add(answers.iter().filter(|answer| answer.is_cached).count(), Ordering::Relaxed);
        let last = |answer: assay_ask::Answer<()>| answer.exchange.replies.into_iter().next_back();
        Ok(answers.into_iter().map(|answer| last(answer).unwrap_or_default().text).collect())
    }
}

fn question(model: &ModelHandle, prompt: &Prompt, number: &str) -> ModelQuestion {
    let label = prompt.file.label();
    let mut labels = Map::new();
    labels.insert("model".to_owned(), json!(model.name()));
    labels.insert("prompt".to_owned(), json!(label));
    labels.insert("number".to_owned(), json!(number));
    labels.insert("text".to_owned(), json!(prompt.text));
    ModelQuestion {
        system: prompt.system.clone(),
        text: prompt.text.clone(),
        identity: json!({
            "protocol": PROTOCOL, "model": model.name(), "script": model.identity(), "prompt": label,
            "number": number, "system": prompt.system, "text": prompt.text, "url": model.base_url(),
        }),
        labels,
        script: ScriptContext { task: prompt.file.name.to_owned(), ..ScriptContext::default() },
    }
}
