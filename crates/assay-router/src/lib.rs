//! The router benchmark: which skill is chosen for a request, and how sure is that?
//!
//! [`read_prompts`] gives requests with the skills that serve them. [`Bench`] asks a model each of them, several times, with
//! the skills in another order each time, and keeps the answers by what was asked; [`Lexical`] routers answer by counting
//! words. [`findings`] turns answers into figures: strict and lenient, with intervals over requests, for the answers to one
//! request resemble each other.
//!
//! The design is that of the router benchmark of Agent-Skills-for-Context-Engineering; docs/lab/ROUTING.md says where this
//! one differs and why.

mod answers;
mod bench;
mod findings;
mod lexical;
mod prompts;
mod render;
mod reply;
mod shuffle;
mod template;

use assay_model::Usage;
use serde::{Deserialize, Serialize};

pub use answers::{Answers, AnswersError};
pub use bench::{Bench, RunLimits, Forecast, RunOutcome};
pub use findings::{Confusion, Failed, Findings, RouterFindings, Share, Versus, findings};
pub use lexical::Lexical;
pub use prompts::{KEYS, Prompt, UNKNOWN_KEY, read_prompts};
pub use render::render;
pub use shuffle::{order, seed32};
pub use template::{TEMPLATE, Template, TemplateError};

/// A skill that may be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its SKILL.md, whole.
    pub document: String,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With a ranking; an empty one says that no skill fits.
    Finished,
    /// With two replies that are not what was asked for. A result: it counts as wrong.
    FormatFailure,
    /// The model could not be reached or did not answer. No result; the next run asks again.
    ModelUnavailable,
    /// The request was refused, or the answer cannot be read at all. No result; the next run asks again.
    Error,
}

impl Status {
    /// Whether it says something about the router.
    pub fn is_result(self) -> bool {
        matches!(self, Self::Finished | Self::FormatFailure)
    }
}

/// What one question came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The request's id.
    pub prompt: String,
    /// From 0.
    pub repetition: u32,
    /// How it ended.
    pub status: Status,
    /// Names, the best first.
    pub ranking: Vec<String>,
    /// From 0 to 1, where the model said it.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The replies as they came, one or two.
    #[serde(default)]
    pub replies: Vec<String>,
    /// What went wrong.
    #[serde(default)]
    pub message: Option<String>,
    /// Tokens of all replies; `None` where the provider did not say.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// From the first request to the last reply, in seconds.
    #[serde(default)]
    pub seconds: f64,
}

/// The answers of one router.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    /// `provider:model`, or a lexical router's name.
    pub name: String,
    /// Whether it counts words and asks nobody.
    pub lexical: bool,
    /// Its answers, in order of request and repetition.
    pub answers: Vec<Routed>,
    /// What they cost in USD, where that is known.
    pub cost_usd: Option<f64>,
}
