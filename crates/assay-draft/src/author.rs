//! The model that writes. Each reply is stored by the digest of its request.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_ask::{
    AskBudget, AskCaps, AskError, AskEvents, AskProgress, AskRules, Asker, CacheError, CapReached, CostCap,
    FolderCache, ModelHandle, ModelQuestion, NotReserved, ReservedCost, StoredReply, UnreadableReplies,
};
use assay_judge::Request;
use assay_judge::format::slug;
use assay_model::{Price, ScriptContext, Usage};
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

/// What a draft has spent: its models, each at its own price, and trials.
#[derive(Debug, Default)]
struct DraftAccounts {
    models: Mutex<Vec<Arc<CostCap>>>,
    /// The cost of all trials of the draft in USD, as far as it is known.
    trials: Mutex<f64>,
}

impl DraftAccounts {
    fn sum_costs(&self) -> f64 {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let trials = *self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        models.iter().filter_map(|account| account.cost_usd()).sum::<f64>() + trials
    }
}

type Accounts = Arc<DraftAccounts>;

/// The cap of a draft over its trials and the requests to all of its models. They are executed one after another.
#[derive(Debug)]
struct SharedCap {
    accounts: Accounts,
    own: Arc<CostCap>,
}

impl AskBudget for SharedCap {
    fn reserve_cost(
        &self,
        model: &ModelHandle,
        question: &ModelQuestion,
        rules: &AskRules,
        cancel: &AtomicBool,
    ) -> Result<Box<dyn ReservedCost + '_>, NotReserved> {
        if let Some(cap) = self.own.caps().usd {
            let (next, spent) = (self.own.max_cost(question, rules), self.accounts.sum_costs());
            if spent + next > cap {
                return Err(CapReached::Usd { cap, spent, next }.into());
            }
        }
        self.own.reserve_cost(model, question, rules, cancel)
    }
}

/// A model that is asked for a draft, with the folder of its replies: the one that writes it, or another.
pub struct DraftAuthor {
    model: ModelHandle,
    folder: PathBuf,
    asker: Asker<'static>,
    accounts: Accounts,
    cap: Arc<CostCap>,
    cancel: Arc<AtomicBool>,
    cached: AtomicU64,
    progress: AskProgress,
}

impl std::fmt::Debug for DraftAuthor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DraftAuthor").field("model", &self.model).finish_non_exhaustive()
    }
}

impl DraftAuthor {
    /// A model whose replies are in `folder`. Nothing is sent yet.
    pub fn new(model: ModelHandle, folder: PathBuf, cap: CostCap, cancel: Arc<AtomicBool>) -> Self {
        Self::join(model, folder, cap, Accounts::default(), cancel, AskProgress::silent())
    }

    fn join(
        model: ModelHandle,
        folder: PathBuf,
        cap: CostCap,
        accounts: Accounts,
        cancel: Arc<AtomicBool>,
        progress: AskProgress,
    ) -> Self {
        let cap = Arc::new(cap);
        accounts.models.lock().unwrap_or_else(PoisonError::into_inner).push(cap.clone());
        let budget = Arc::new(SharedCap { accounts: accounts.clone(), own: cap.clone() });
        let asker =
            Asker::new(Arc::new(FolderCache::new(&folder)), budget, RULES).report_with(progress.clone());
        Self { model, folder, asker, accounts, cap, cancel, cached: AtomicU64::new(0), progress }
    }

    /// Another model, which shares the cap: what both cost together does not exceed it. Its replies are in a folder of its
    /// own within that of this one.
    ///
    /// # Errors
    /// Stored replies cannot be read.
    pub fn open_helper(&self, model: ModelHandle, price: Option<Price>) -> Result<Self, CacheError> {
        let folder = self.folder.join(slug(model.name()));
        let (_, spent) = stored_replies(folder.clone())?;
        let caps = AskCaps { usd: self.cap.caps().usd, ..self.cap.caps() };
        let cap = CostCap::new(price, caps).after(spent);
        let (accounts, progress) = (self.accounts.clone(), self.progress.clone());
        Ok(Self::join(model, folder, cap, accounts, self.cancel.clone(), progress))
    }

    /// Reports what happens.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        let progress = AskProgress::new(events, interval);
        Self { asker: self.asker.report_with(progress.clone()), progress, ..self }
    }

    /// The model, as `provider:model`.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// What the trials of the draft and the requests to all of its models cost in USD, unless prices are unknown.
    pub fn sum_cost(&self) -> Option<f64> {
        self.cap.cost_usd().map(|_| self.accounts.sum_costs())
    }

    /// Says what all trials of the draft cost in USD, as far as it is known.
    pub(crate) fn set_trial_cost(&self, usd: f64) {
        *self.accounts.trials.lock().unwrap_or_else(PoisonError::into_inner) = usd;
    }

    /// What is left of a cap in USD.
    pub(crate) fn left_of(&self, cap: f64) -> f64 {
        (cap - self.accounts.sum_costs()).max(0.0)
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

/// How many replies all models of a draft gave, whose author's replies are in `folder`, and the tokens of all of them.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn count_replies(folder: PathBuf) -> Result<(usize, Usage), CacheError> {
    let inner = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    // Other models have folders of their own within that of the author.
    let helpers: Vec<PathBuf> = inner.filter(|path| path.is_dir()).collect();
    let (mut count, mut sum) = (0, Usage::default());
    for folder in std::iter::once(folder).chain(helpers) {
        let (replies, usage) = stored_replies(folder)?;
        count += replies.len();
        sum += usage;
    }
    Ok((count, sum))
}

/// The replies of a model, and the tokens of all of them.
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
