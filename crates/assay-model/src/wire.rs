//! The parts of a client that forwards requests to a provider: addresses and keys, waits, usage,
//! texts that are safe to display.
//!
//! For callers that do not run a conversation themselves; others use a
//! [`ChatModel`](crate::ChatModel).

pub use crate::anthropic::{SERVICE as ANTHROPIC, VERSION as ANTHROPIC_VERSION, usage as messages_usage};
pub use crate::backoff::{requested_wait, retry_wait, spread_wait};
pub use crate::endpoint::{Endpoint, Service};
pub use crate::gate::{Closed, Gate, SharedLimits, share_limits};
pub use crate::gemini::{SERVICE as GEMINI, usage as gemini_usage};
pub use crate::openai::{SERVICE as OPENAI, responses_usage, usage as completions_usage};
pub use crate::overflow::exceeds_context;
pub use crate::text::{Secret, escape, excerpt};
