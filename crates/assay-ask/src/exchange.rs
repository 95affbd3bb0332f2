//! A question to a model, and the replies to it.

use assay_model::{ChatReply, ScriptContext, Usage};
use serde_json::{Map, Value, json};

use crate::ModelHandle;

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct ModelQuestion {
    /// The system message.
    pub system: String,
    /// The user's message.
    pub text: String,
    /// Everything that can change the reply; its digest names the stored replies. Clients have forms of their own, which
    /// must not change: stored replies would not be found any more.
    pub identity: Value,
    /// What is written beside the replies, for people who read the file.
    pub labels: Map<String, Value>,
    /// The place in an experiment; only scripts read it.
    pub script: ScriptContext,
}

impl ModelQuestion {
    /// A question to a model, identified by the model, its address and the messages.
    pub fn new(model: &ModelHandle, system: &str, text: &str) -> Self {
        Self {
            system: system.to_owned(),
            text: text.to_owned(),
            identity: json!({
                "model": model.name(), "script": model.identity(), "system": system, "text": text,
                "url": model.base_url(),
            }),
            labels: Map::new(),
            script: ScriptContext::default(),
        }
    }

    /// The digest that names the stored replies.
    pub fn digest(&self) -> String {
        blake3::hash(self.identity.to_string().as_bytes()).to_hex().to_string()
    }

    /// Counts the tokens of its messages (cl100k).
    pub fn count_tokens(&self) -> u64 {
        let tokens = assay_model::tokens(&self.system).saturating_add(assay_model::tokens(&self.text));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

/// A reply as it is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredReply {
    /// The text.
    pub text: String,
    /// Why it cannot be read.
    pub fault: Option<String>,
    /// The model that the provider reported.
    pub replied_model: Option<String>,
    /// Its tokens, if the provider reported them.
    pub usage: Option<Usage>,
    /// Seconds until it came; 0 if unknown.
    pub seconds: f64,
}

impl StoredReply {
    /// A reply that has just come.
    pub(crate) fn of(reply: &ChatReply, fault: Option<String>, seconds: f64) -> Self {
        Self {
            text: reply.text.clone(),
            fault,
            replied_model: reply.model.clone(),
            usage: reply.usage,
            seconds,
        }
    }
}

/// The replies to a question so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exchange {
    /// Oldest first.
    pub replies: Vec<StoredReply>,
    /// Whether one can be read, or as many came as are asked for.
    pub is_ended: bool,
}

impl Exchange {
    /// The tokens of all replies; `None` if none has a count.
    pub fn usage(&self) -> Option<Usage> {
        let mut sum = None;
        for usage in self.replies.iter().filter_map(|reply| reply.usage) {
            *sum.get_or_insert_with(Usage::default) += usage;
        }
        sum
    }

    /// What is wrong with the last reply.
    pub fn fault(&self) -> Option<&str> {
        self.replies.last()?.fault.as_deref()
    }
}
