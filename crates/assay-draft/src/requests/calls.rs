//! Calls of models: cached replies, cost, cap and failures.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assay_ask::{
    AskEvents, AskRules, Asker, CostCap, FolderCache, ModelHandle, ModelQuestion, QuestionOf,
    UnreadableReplies,
};
use assay_judge::is_same_family;
use assay_model::ScriptContext;
use serde_json::{Map, json};

use super::prompt::Prompt;
use crate::error::DraftError;

/// A reply that cannot be read is asked for again once, and then is the answer. RequestModels that reason count their reasoning
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
pub(crate) type ReplyReader<'a> = dyn Fn(&str) -> Result<(), String> + Sync + 'a;

/// One call.
pub(crate) struct ModelCall<'a> {
    pub(crate) model: &'a ModelHandle,
    pub(crate) prompt: &'a Prompt,
    /// Tells draws with the same prompt apart.
    pub(crate) number: String,
    pub(crate) reader: Box<ReplyReader<'a>>,
}

/// The models of a command, and what they have cost.
#[derive(Debug)]
pub struct RequestModels {
    concurrency: usize,
    asker: Asker<'static>,
    pub(crate) writer: ModelHandle,
    pub(crate) reviewers: Vec<ModelHandle>,
    pub(crate) cap: Arc<CostCap>,
    cancel: Arc<AtomicBool>,
    cached: AtomicUsize,
}

impl RequestModels {
    /// Models whose replies are in `folder`. No call is sent yet.
    pub fn new(
        writer: ModelHandle,
        reviewers: Vec<ModelHandle>,
        folder: PathBuf,
        cap: CostCap,
        cancel: Arc<AtomicBool>,
    ) -> Self {
        let cap = Arc::new(cap);
        let asker = Asker::new(Arc::new(FolderCache::new(folder)), cap.clone(), RULES);
        let (concurrency, cached) = (1, AtomicUsize::new(0));
        Self { concurrency, asker, writer, reviewers, cap, cancel, cached }
    }

    /// With calls at the same time.
    #[must_use]
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Reports what happens.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { asker: self.asker.report_to(events, interval), ..self }
    }

    /// The model that writes, as `provider:model`.
    pub fn writer_name(&self) -> &str {
        self.writer.name()
    }

    /// A reviewer of the writer's family, which reviews its requests more favourably.
    pub fn related_reviewer(&self) -> Option<&str> {
        let mut names = self.reviewers.iter().map(ModelHandle::name);
        names.find(|name| is_same_family(name, self.writer.name()))
    }

    /// Refuses paid models without a cap.
    ///
    /// # Errors
    /// A cap is required, and there is none.
    pub fn check_cap(&self) -> Result<(), DraftError> {
        let mut models = self.reviewers.iter().chain([&self.writer]);
        Ok(models.try_for_each(|model| self.cap.check_model(model))?)
    }

    /// Whether the command was interrupted.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Calls that were sent, and those that were answered from the store.
    pub fn count_calls(&self) -> (usize, usize) {
        let sent = usize::try_from(self.cap.spending().questions).unwrap_or(usize::MAX);
        (sent, self.cached.load(Ordering::Relaxed))
    }

    /// The maximum cost of an answer in USD.
    pub(crate) fn max_cost(&self, prompt: &Prompt) -> f64 {
        self.cap.max_cost(&question(&self.writer, prompt, ""), &RULES)
    }

    /// The replies to some calls, in their order. The first failure ends it; replies so far are in the store. The last
    /// reply to a call may be one that cannot be read.
    pub(crate) fn call_all(&self, calls: &[ModelCall<'_>]) -> Result<Vec<String>, DraftError> {
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
