//! The model that writes. Each reply is stored by the digest of its request.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use assay_ask::{
    AskError, AskEvents, AskRules, Asker, CacheError, CapReached, CostCap, FolderCache, ModelHandle,
    ModelQuestion, StoredReply, UnreadableReplies,
};
use assay_judge::Request;
use assay_model::{ScriptContext, Usage};
use serde_json::json;

use crate::prompts::Prompt;

/// How a draft asks: replies that cannot be read are the answer, and are not paid twice.
const RULES: AskRules = AskRules {
    reply_tokens: 16_000,
    tries: 2,
    patience: Duration::from_mins(20),
    complaint: |fault| format!("{fault}. Reply with the JSON object only."),
    unreadable: UnreadableReplies::Keep,
};

/// The model that writes a draft, with the folder of its replies.
#[derive(Debug)]
pub struct DraftAuthor {
    model: ModelHandle,
    asker: Asker<'static>,
    cap: Arc<CostCap>,
    cancel: Arc<AtomicBool>,
    cached: AtomicU64,
}

impl DraftAuthor {
    /// A model whose replies are in `folder`. Nothing is sent yet.
    pub fn new(model: ModelHandle, folder: PathBuf, cap: CostCap, cancel: Arc<AtomicBool>) -> Self {
        let (cache, cap) = (FolderCache::new(folder), Arc::new(cap));
        let asker = Asker::new(Arc::new(cache), cap.clone(), RULES);
        Self { model, asker, cap, cancel, cached: AtomicU64::new(0) }
    }

    /// Reports what happens.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { asker: self.asker.report_to(events, interval), ..self }
    }

    /// The model, as `provider:model`.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// The cap, and what was spent.
    pub fn cap(&self) -> &CostCap {
        &self.cap
    }

    /// Refuses a paid model without a cap.
    ///
    /// # Errors
    /// A cap is required, and there is none.
    pub fn check_cap(&self) -> Result<(), CapReached> {
        self.cap.check_model(&self.model)
    }

    /// The most that a request may cost, in USD.
    pub fn max_cost(&self, request: &Request) -> f64 {
        self.cap.max_cost(&self.question(None, request), &RULES)
    }

    /// The same for a request of so many tokens.
    pub fn max_cost_of(&self, tokens: u64) -> f64 {
        self.cap.max_cost_of(tokens, &RULES)
    }

    /// Most tokens of a reply.
    pub fn reply_tokens(&self) -> u64 {
        RULES.reply_tokens.into()
    }

    /// Replies that came, and requests that were answered from the folder.
    pub fn count_requests(&self) -> (u64, u64) {
        (self.cap.spending().replies, self.cached.load(Ordering::Relaxed))
    }

    fn question(&self, prompt: Option<Prompt>, request: &Request) -> ModelQuestion {
        let labels = prompt.map(|prompt| {
            json!({
                "schema": "assay.draft-reply/1", "model": self.model.name(), "prompt": prompt.name,
                "version": prompt.version(), "system": request.system, "request": request.text,
            })
        });
        let labels = labels.and_then(|labels| labels.as_object().cloned());
        ModelQuestion {
            labels: labels.unwrap_or_default(),
            script: ScriptContext { task: "draft".to_owned(), repetition: 1, ..ScriptContext::default() },
            ..ModelQuestion::new(&self.model, &request.system, &request.text)
        }
    }

    /// Whether a request is answered by what is stored.
    ///
    /// # Errors
    /// The stored reply cannot be read.
    pub fn is_stored(&self, request: &Request) -> Result<bool, AskError> {
        self.asker.is_answered(&self.question(None, request), &|_| Ok(()))
    }

    /// The answer to a request, from the folder or from the model. The inner error says why no reply can be read.
    ///
    /// # Errors
    /// The model gives no reply, a cap is reached, or the folder cannot be used.
    pub fn answer_request<T>(
        &self,
        prompt: Prompt,
        request: &Request,
        read: &dyn Fn(&str) -> Result<T, String>,
    ) -> Result<Result<T, String>, AskError> {
        let question = self.question(Some(prompt), request);
        let answer = self.asker.answer_question(&self.model, &question, read, &self.cancel)?;
        self.cached.fetch_add(u64::from(answer.is_cached), Ordering::Relaxed);
        Ok(answer.value)
    }
}

/// The replies of a draft, and the tokens of all of them.
///
/// # Errors
/// A file cannot be read.
pub fn stored_replies(folder: PathBuf) -> Result<(Vec<StoredReply>, Usage), CacheError> {
    let replies = FolderCache::new(folder).list_replies()?;
    let mut sum = Usage::default();
    for usage in replies.iter().filter_map(|reply| reply.usage) {
        sum += usage;
    }
    Ok((replies, sum))
}
