//! Models against local servers, and scripts against files.

#![expect(clippy::needless_pass_by_value, reason = "a table of cases reads better without ampersands")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod anthropic;
mod embeddings;
mod gemini;
mod openai;
mod scripted;
mod server;
mod specs;
mod transport;
