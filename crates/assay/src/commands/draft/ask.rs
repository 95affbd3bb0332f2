//! Requests of a draft to its model. Each reply is stored by the digest of its request.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_draft::prompts::Prompt;
use assay_judge::Request;
use assay_model::{ChatModel, ChatReply, ModelOptions, ScriptContext, Usage};
use assay_trial::judging::{AskError, JudgeQuestion, ask_judge};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::draft::ModelAccess;
use crate::failure::Failure;
use crate::request_budget::{RequestBudget, no_answer};
use crate::{machine, replies};

/// Longest wait for a reply, retries included.
const PATIENCE: Duration = Duration::from_mins(20);

/// A stored reply.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredReply {
    schema: String,
    model: String,
    /// The prompt, and its version.
    prompt: String,
    version: String,
    system: String,
    request: String,
    /// The reply that counts; the last one, if none can be read.
    reply: String,
    /// Why no reply can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// The model that the provider reported.
    replied_model: Option<String>,
    /// The tokens of all replies to this request.
    pub(super) usage: Usage,
    /// Replies until one could be read.
    replies: u32,
}

/// A model whose replies are stored: that of a draft, or of a taxonomy.
pub struct DraftModel<'a> {
    access: ModelAccess<'a>,
    spec: String,
    model: Arc<dyn ChatModel>,
    identity: serde_json::Value,
    folder: PathBuf,
    budget: RequestBudget,
    cancel: Arc<AtomicBool>,
    sent: Cell<usize>,
    cached: Cell<usize>,
}

impl<'a> DraftModel<'a> {
    /// Opens the model. No request is sent yet. `folder` has the replies.
    pub fn open(
        access: ModelAccess<'a>,
        spec: &str,
        folder: PathBuf,
        cancel: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let mut spent = Usage::default();
        for stored in stored_replies(&folder)? {
            spent += stored.usage;
        }
        Self::open_after(access, spec, folder, cancel, spent)
    }

    /// Opens the model for a folder that commands share, so that the cap counts what this command sends.
    pub fn open_without_spending(
        access: ModelAccess<'a>,
        spec: &str,
        folder: PathBuf,
        cancel: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        Self::open_after(access, spec, folder, cancel, Usage::default())
    }

    fn open_after(
        access: ModelAccess<'a>,
        spec: &str,
        folder: PathBuf,
        cancel: Arc<AtomicBool>,
        spent: Usage,
    ) -> Result<Self, Failure> {
        let options = ModelOptions {
            base_url: access.base_url.map(str::to_owned),
            api_key_env: access.api_key_env.map(str::to_owned),
            ..ModelOptions::default()
        };
        let model = assay_model::open(spec, &options, &machine::env)
            .map_err(|error| Failure::bad_input(format!("--model: {error}")))?;
        Ok(Self {
            access,
            spec: spec.to_owned(),
            identity: model.identity(),
            model,
            folder,
            budget: RequestBudget::new(access.price, access.max_usd, spent)?,
            cancel,
            sent: Cell::new(0),
            cached: Cell::new(0),
        })
    }

    /// The model, as `provider:model`.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// What the requests have cost, and may cost.
    pub fn budget(&self) -> &RequestBudget {
        &self.budget
    }

    /// Refuses a paid model without a cap.
    pub fn check_cap(&self) -> Result<(), Failure> {
        self.budget.check_cap(&self.spec, self.access.base_url, self.access.no_cap, "this draft")
    }

    /// Requests that were sent, and those that were answered from the folder.
    pub fn requests(&self) -> (usize, usize) {
        (self.sent.get(), self.cached.get())
    }

    fn path(&self, request: &Request) -> PathBuf {
        let identity = json!({
            "model": self.spec, "script": self.identity, "system": request.system, "text": request.text,
            "url": self.access.base_url,
        });
        let digest = blake3::hash(identity.to_string().as_bytes()).to_hex();
        self.folder.join(format!("{digest}.json"))
    }

    /// Whether the reply to a request is stored.
    pub fn is_stored(&self, request: &Request) -> bool {
        self.path(request).is_file()
    }

    /// The answer to a request, from the folder or from the model. The inner error says why no reply can be read.
    pub fn answer<T>(
        &self,
        prompt: Prompt,
        request: &Request,
        read: &dyn Fn(&str) -> Result<T, String>,
    ) -> Result<Result<T, String>, Failure> {
        let path = self.path(request);
        if let Some(stored) = replies::read::<StoredReply>(&path)? {
            self.cached.set(self.cached.get() + 1);
            return match stored.fault {
                Some(fault) => Ok(Err(fault)),
                None => read(&stored.reply).map(Ok).map_err(|error| replies::invalid(&path, &error)),
            };
        }
        self.check_cap()?;
        self.budget.reserve(request)?;
        let answer = self.request(prompt, request, read, &path);
        self.budget.release(request);
        answer
    }

    fn request<T>(
        &self,
        prompt: Prompt,
        request: &Request,
        read: &dyn Fn(&str) -> Result<T, String>,
        path: &Path,
    ) -> Result<Result<T, String>, Failure> {
        let context = ScriptContext { task: "draft".to_owned(), repetition: 1, ..ScriptContext::default() };
        let asked = JudgeQuestion {
            name: &self.spec,
            model: &*self.model,
            request,
            patience: PATIENCE,
            context: &context,
            cancel: &self.cancel,
        };
        let mut stored = StoredReply {
            schema: "assay.draft-reply/1".to_owned(),
            model: self.spec.clone(),
            prompt: prompt.name.to_owned(),
            version: prompt.version(),
            system: request.system.clone(),
            request: request.text.clone(),
            reply: String::new(),
            fault: None,
            replied_model: None,
            usage: Usage::default(),
            replies: 0,
        };
        let mut on_reply = |reply: &ChatReply| {
            stored.reply.clone_from(&reply.text);
            stored.replied_model.clone_from(&reply.model);
            stored.usage += reply.usage.unwrap_or_default();
            stored.replies += 1;
            self.budget.add(reply.usage.unwrap_or_default());
            self.sent.set(self.sent.get() + 1);
        };
        let answer = match ask_judge(&asked, read, &mut on_reply) {
            Ok((answer, _)) => Ok(answer),
            Err(AskError::Unreadable { fault, .. }) => Err(fault),
            Err(error) => return Err(no_answer(error, "model")),
        };
        stored.fault = answer.as_ref().err().cloned();
        replies::write(path, &stored)?;
        Ok(answer)
    }
}

/// The replies of a draft.
pub(super) fn stored_replies(folder: &Path) -> Result<Vec<StoredReply>, Failure> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    paths.sort();
    let mut stored = Vec::new();
    for path in paths {
        stored.extend(replies::read::<StoredReply>(&path)?);
    }
    Ok(stored)
}
