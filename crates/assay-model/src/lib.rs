//! Language models behind one trait.
//!
//! [`ChatModel`]: messages and tools in, one message and its usage out. [`open`] gives one by its name. Calls block, and one
//! model serves any number of threads. A model never holds a conversation: the caller does.
//!
//! [`Embeddings`] and [`Rerank`] hold no conversation: texts in, vectors or scores out, over the same transport.
//!
//! # Own clients
//!
//! The clients for OpenAI's chat completions (and the many servers that speak them), Anthropic and Gemini are assay's own
//! and thin, over `ureq`. An evaluator has to keep what a general client drops: the usage as it was sent, every retry, every
//! wait. The library `genai` was weighed; it is asynchronous and brings 209 crates.
//!
//! # What a caller can rely on
//!
//! - Statuses 408, 409, 425, 429, 5xx (not 501 and 505) and breaks of the network are tried again, after the time that the
//!   provider asks for (up to 5 minutes) or else after exponentially growing times with jitter. Other refusals never are.
//! - Once a provider has limited the rate and named a time, nobody in the process who uses the same address and key asks
//!   before it.
//! - A call ends within moments of its deadline or of being cancelled, and closes its connection, so that the provider
//!   stops too. No wait is begun that would end after the deadline.
//! - An answer is at most 64 MiB. Whatever it holds, it ends in a reply or an error.
//! - Keys are read through the caller's lookup only and stand in no error and no record.
//!
//! A try that broke off may have been billed. Its usage is unknown; [`ChatReply::retries`] tells of it.

mod answer;
mod anthropic;
mod backoff;
mod embeddings;
mod endpoint;
mod gate;
mod gemini;
mod open;
mod openai;
mod options;
mod overflow;
mod preflight;
mod provider;
mod rerank;
mod scripted;
mod text;
mod tokens;
mod transport;
pub mod wire;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub use assay_usage::{Price, Usage};
pub use embeddings::Embeddings;
pub use open::open;
pub use options::ModelOptions;
pub use overflow::exceeds_context;
pub use preflight::{Api, PREFLIGHT_PROMPT, address, preflight};
pub use rerank::Rerank;
pub use scripted::{Fault, Script, Turn};
pub use tokens::{CHARS_PER_TOKEN, MOST_TOKENS, chars, estimate, tokens};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model that answers conversations.
pub trait ChatModel: Send + Sync {
    /// `provider:model`, as experiments and records name it.
    fn id(&self) -> &str;

    /// One turn.
    fn chat(&self, request: &ChatRequest, call: &Call<'_>) -> Result<ChatReply, ModelError>;

    /// Whether its answers say anything about a model. `false` for scripts.
    fn measures_a_model(&self) -> bool {
        true
    }

    /// What its answers depend on beside the conversation, for a trial's identity: the digest of a script; `Null` otherwise.
    fn identity(&self) -> Value {
        Value::Null
    }

    /// Whether [`ScriptContext::condition`] can change an answer, so that it belongs to a trial's identity. Only scripts can.
    fn reads_condition(&self) -> bool {
        false
    }
}

/// What a call may depend on beside its messages.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// No wait is begun that would end after this, and what is under way then is given up.
    pub deadline: Option<Instant>,
    /// Set from outside to give up soon.
    pub cancel: &'a AtomicBool,
    /// Where in the experiment the call stands; only scripts look at it.
    pub script_context: &'a ScriptContext,
}

/// Where in an experiment a call stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptContext {
    /// The task's name.
    pub task: String,
    /// The condition's name.
    pub condition: String,
    /// From 1.
    pub repetition: u32,
    /// Drawn from the trial's identity.
    pub seed: u64,
}

/// A conversation so far, and what may be called.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// The system message.
    pub system: String,
    /// In order.
    pub messages: Vec<Message>,
    /// What may be called.
    pub tools: Vec<Tool>,
    /// Most tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; the provider's default if unset.
    pub temperature: Option<f64>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From the user.
    User {
        /// What was said.
        text: String,
    },
    /// From the model.
    Assistant {
        /// What was said.
        text: String,
        /// What was called.
        tool_calls: Vec<ToolCall>,
        /// The provider's own form of this message, replayed as it was (signed reasoning, thought signatures).
        #[serde(skip_serializing_if = "Value::is_null", default)]
        raw: Value,
    },
    /// What a call gave.
    Tool {
        /// The call it answers.
        call_id: String,
        /// What it gave.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
}

/// Something that may be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A call made by a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the conversation.
    pub id: String,
    /// Of the tool.
    pub name: String,
    /// As sent; a string where it was not valid JSON.
    pub arguments: Value,
}

/// One turn of a model.
#[derive(Debug, Clone)]
pub struct ChatReply {
    /// What was said.
    pub text: String,
    /// What was called.
    pub tool_calls: Vec<ToolCall>,
    /// The provider's reasoning in words, where it gives any.
    pub reasoning: Option<String>,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens; `None` where the provider did not say, or said more than [`MOST_TOKENS`].
    pub usage: Option<Usage>,
    /// The usage as it was sent.
    pub raw_usage: Value,
    /// The provider's own form of the message, for [`Message::Assistant`].
    pub raw: Value,
    /// The model the provider says it used.
    pub model: Option<String>,
    /// What was tried before, in order. The first may be a wait before the first try.
    pub retries: Vec<Retry>,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had no more to say.
    End,
    /// It waits for its calls.
    Tools,
    /// It ran out of tokens.
    Length,
    /// It refused, or was filtered.
    Refusal,
    /// Another reason, in the provider's word.
    Other(String),
}

/// A try that failed and was followed by another; or, with a message that begins `held back`, a wait before the first
/// try because another call had met the provider's limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// What was said.
    pub message: String,
    /// How long was waited afterwards.
    pub waited: Duration,
}

/// Why a model did not answer. All but `Cancelled` and `ContextExceeded` are infrastructure: none is the agent's failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider limits the rate, or is overloaded, and the time ran out over the waiting.
    #[error("rate limited by the provider (status {status}, tries: {tries}): {message}")]
    RateLimited {
        /// The HTTP status.
        status: u16,
        /// How often it was tried. Zero where another call had met the limit.
        tries: u32,
        /// What it said.
        message: String,
    },
    /// The provider refuses the request as it is: wrong key, unknown model, bad argument.
    #[error("the provider refused the request ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The conversation exceeds the model's context window.
    #[error("the conversation exceeds the model's context ({status}): {message}")]
    ContextExceeded {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        message: String,
    },
    /// The provider failed.
    #[error("the provider failed ({status}) {tries} times: {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// How often it was tried.
        tries: u32,
        /// What it said.
        message: String,
    },
    /// Nothing came, or it broke off.
    #[error("cannot reach the provider (tries: {tries}): {message}")]
    Network {
        /// How often it was tried.
        tries: u32,
        /// What was seen.
        message: String,
    },
    /// An answer that is not the protocol's.
    #[error("cannot read the provider's reply: {message}")]
    Protocol {
        /// What is wrong, with the beginning of the answer.
        message: String,
    },
    /// The time ran out while an answer was awaited from a provider that had limited no rate.
    #[error("the deadline passed before the model replied")]
    Deadline,
    /// Given up from outside.
    #[error("cancelled")]
    Cancelled,
    /// A script has no turn for what happened.
    #[error("{0}")]
    Script(String),
    /// A specification that names no model.
    #[error("{0}")]
    Spec(String),
}
