//! One way to ask a model a question whose answer is read by a program.
//!
//! [`Asker`] answers a [`ModelQuestion`]: from the [`ReplyCache`] if a reply is stored that can be read, otherwise from the
//! model. Drafts, judges of trials, items and pairs, routers, directives of the audit, and the
//! taxonomy use it.
//!
//! - **Every reply is stored when it arrives**, also one that cannot be read. A command that was killed asks only for what
//!   is missing.
//! - **A reply that cannot be read** is complained about, up to [`AskRules::tries`] times. [`UnreadableReplies`] decides
//!   whether the next command asks again.
//! - **A cap holds before a request is sent.** [`CostCap`] sets the most that a question may cost aside, and charges what
//!   its replies cost.
//! - **The connection is checked once for each model**, before the first question is sent: [`check_model`].
//! - **[`AskEvents`]** hears what happens, and how long requests have been waiting.
//!
//! The library reads no environment and prints nothing.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use assay_ask::{AskCaps, AskRules, Asker, CostCap, FolderCache, ModelHandle, ModelQuestion};
//! use assay_model::ModelOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("script.jsonl"), "{\"say\": \"4\"}\n{\"say\": \"5\"}\n")?;
//! let options = ModelOptions { directory: folder.path().to_owned(), ..ModelOptions::default() };
//! let model = ModelHandle::open("scripted:script.jsonl", options, Arc::new(|_| None))?;
//!
//! let cache = FolderCache::new(folder.path().join("replies"));
//! let cap = CostCap::new(None, AskCaps { questions: Some(1), ..AskCaps::default() });
//! let asker = Asker::new(Arc::new(cache), Arc::new(cap), AskRules::default());
//! let question = ModelQuestion::new(&model, "You count.", "What is two plus two?");
//! let read = |reply: &str| reply.trim().parse::<u32>().map_err(|error| error.to_string());
//!
//! let cancel = AtomicBool::new(false);
//! let first = asker.answer_question(&model, &question, &read, &cancel)?;
//! assert_eq!((first.value, first.is_cached), (Ok(4), false));
//! // The same question is not sent again.
//! let again = asker.answer_question(&model, &question, &read, &cancel)?;
//! assert_eq!((again.value, again.is_cached), (Ok(4), true));
//! # Ok(())
//! # }
//! ```

mod asker;
mod batch;
mod budget;
mod cache;
mod error;
mod event;
mod exchange;
mod handle;
mod open_requests;
mod paid;
mod preflight;
mod rules;

pub use asker::{Answer, Asker};
pub use batch::{QuestionOf, ReplyReader};
pub use budget::{AskBudget, AskCaps, CapReached, CostCap, NotReserved, ReservedCost, Spending};
pub use cache::{CacheError, FolderCache, ReplyCache};
pub use error::AskError;
pub use event::{AskEvent, AskEvents};
pub use exchange::{Exchange, ModelQuestion, StoredReply};
pub use handle::{EnvLookup, ModelHandle};
pub use open_requests::{AskProgress, WAITING_INTERVAL};
pub use paid::is_paid;
pub use preflight::{PreflightError, PreflightEvent, check_model};
pub use rules::{AskRules, UnreadableReplies, max_usage};
