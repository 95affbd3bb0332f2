//! Language models behind one trait.
//!
//! [`ChatModel`]: messages and tools in, one message and its usage out. [`open`] returns a model by
//! its name. Calls block, and one model serves any number of threads. A model keeps no
//! conversation: the caller does.
//!
//! [`Embeddings`] and [`Rerank`] have no conversations: texts in, vectors or scores out, over the
//! same transport.
//!
//! # Own clients
//!
//! The clients for OpenAI's chat completions (which many servers support), Anthropic and Gemini are
//! assay's own thin ones, over `ureq`. An evaluation has to keep what a general client drops: the
//! usage as sent, every retry, every wait. The library `genai` was considered; it is asynchronous
//! and adds 209 crates.
//!
//! # What a caller can rely on
//!
//! - Statuses 408, 409, 425, 429, 5xx (not 501 and 505) and network errors are retried, after the
//!   time that the provider requests (up to 5 minutes) or else after exponentially growing times
//!   with jitter. Other refusals are not retried.
//! - Once a provider has limited the rate and requested a wait, no call of this process with the
//!   same address and key is sent before its end.
//! - A call ends within moments of its deadline or of being cancelled, and closes its connection,
//!   so that the provider stops too. No wait is started that would end after the deadline.
//! - A reply is at most 64 MiB. Whatever it contains, the result is a reply or an error.
//! - Keys are read through the caller's lookup only, and appear in no error and no record.
//!
//! A try that was interrupted may have been billed. Its usage is unknown; [`ChatReply::retries`]
//! records it.

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
mod server;
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
pub use server::{is_server_name, normalize_server, server};
pub use tokens::{CHARS_PER_TOKEN, MOST_TOKENS, chars, estimate, tokens};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model that answers conversations.
pub trait ChatModel: Send + Sync {
    /// `provider:model`, as in experiments and records.
    fn id(&self) -> &str;

    /// Requests one turn.
    fn chat(&self, request: &ChatRequest, call: &Call<'_>) -> Result<ChatReply, ModelError>;

    /// Whether its replies measure a model. `false` for scripts.
    fn measures_a_model(&self) -> bool {
        true
    }

    /// What its replies depend on besides the conversation, for a trial's identity: the digest of a
    /// script; `Null` otherwise.
    fn identity(&self) -> Value {
        Value::Null
    }

    /// Whether [`ScriptContext::condition`] can change a reply, so that it belongs to a trial's
    /// identity. Only scripts read it.
    fn reads_condition(&self) -> bool {
        false
    }
}

/// The circumstances of a call, besides its messages.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// No wait is started that would end after this, and a pending request is ended then.
    pub deadline: Option<Instant>,
    /// Set from outside to cancel the call.
    pub cancel: &'a AtomicBool,
    /// The call's place in the experiment; only scripts read it.
    pub script_context: &'a ScriptContext,
}

/// The place of a call in an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptContext {
    /// The task's name.
    pub task: String,
    /// The condition's name.
    pub condition: String,
    /// From 1.
    pub repetition: u32,
    /// Derived from the trial's identity.
    pub seed: u64,
}

/// A conversation so far, and the available tools.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// The system message.
    pub system: String,
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The available tools.
    pub tools: Vec<Tool>,
    /// Maximum tokens of the reply.
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
        /// The text.
        text: String,
    },
    /// From the model.
    Assistant {
        /// The text.
        text: String,
        /// The tool calls.
        tool_calls: Vec<ToolCall>,
        /// The provider's own form of this message, sent back unchanged (signed reasoning, thought
        /// signatures).
        #[serde(skip_serializing_if = "Value::is_null", default)]
        raw: Value,
    },
    /// The result of a tool call.
    Tool {
        /// The call it answers.
        call_id: String,
        /// The result.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A tool that the model may call.
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
    /// The tool's name.
    pub name: String,
    /// As sent; a string if it was not valid JSON.
    pub arguments: Value,
}

/// One turn of a model.
#[derive(Debug, Clone)]
pub struct ChatReply {
    /// The text.
    pub text: String,
    /// The tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// The provider's reasoning text, if it returns any.
    pub reasoning: Option<String>,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens; `None` if the provider reported none, or more than [`MOST_TOKENS`].
    pub usage: Option<Usage>,
    /// The usage as sent.
    pub raw_usage: Value,
    /// The provider's own form of the message, for [`Message::Assistant`].
    pub raw: Value,
    /// The model that the provider reported.
    pub model: Option<String>,
    /// Earlier tries, in order. The first may be a wait before the first try.
    pub retries: Vec<Retry>,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The reply is complete.
    End,
    /// It waits for the results of its calls.
    Tools,
    /// It reached the token limit.
    Length,
    /// It refused, or was filtered.
    Refusal,
    /// Another reason, as named by the provider.
    Other(String),
}

/// A failed try that was followed by another; or, with a message that begins `waiting for a rate
/// limit`, a wait before the first try because another call had met the provider's limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The error message.
    pub message: String,
    /// The wait after it.
    pub waited: Duration,
}

/// Why a model did not reply. All but `Cancelled` and `ContextExceeded` are infrastructure errors:
/// none is the agent's failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider limits the rate, or is overloaded, and time or retries ran out.
    #[error("rate limited by the provider (status {status}, tries: {tries}): {message}")]
    RateLimited {
        /// The HTTP status.
        status: u16,
        /// The number of tries. Zero if another call had met the limit.
        tries: u32,
        /// The provider's message.
        message: String,
    },
    /// The provider refuses the request as it is: wrong key, unknown model, bad argument.
    #[error("the provider refused the request ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        message: String,
    },
    /// The conversation exceeds the model's context window.
    #[error("the conversation exceeds the model's context ({status}): {message}")]
    ContextExceeded {
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        message: String,
    },
    /// The provider failed.
    #[error("provider error (status {status}, tries: {tries}): {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// The number of tries.
        tries: u32,
        /// The provider's message.
        message: String,
    },
    /// Nothing was received, or the reply was interrupted.
    #[error("cannot reach the provider (tries: {tries}): {message}")]
    Network {
        /// The number of tries.
        tries: u32,
        /// The network error.
        message: String,
    },
    /// A reply that does not follow the protocol.
    #[error("cannot read the provider's reply: {message}")]
    Protocol {
        /// What is wrong, with the beginning of the reply.
        message: String,
    },
    /// The deadline passed while waiting for a reply, without a rate limit.
    #[error("the deadline passed before the model replied")]
    Deadline,
    /// Cancelled from outside.
    #[error("cancelled")]
    Cancelled,
    /// A script has no turn for the request.
    #[error("{0}")]
    Script(String),
    /// An invalid model specification.
    #[error("{0}")]
    Spec(String),
}
