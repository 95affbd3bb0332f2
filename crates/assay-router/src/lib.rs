//! The router benchmark: which skill a router chooses for a query.
//!
//! [`Bench`] sends requests to a model several times,
//! with the skills in another order each time, and stores the answers; [`Lexical`] routers compare
//! words. The figures are computed in the crate `assay-lab`.
//!
//! The design is that of the router benchmark of Agent-Skills-for-Context-Engineering;
//! docs/lab/ROUTING.md says where this one differs and why.

mod answers;
mod bench;
mod lexical;
mod prompts;
mod reply;
mod request;
mod shuffle;
mod template;

use assay_model::Usage;
use serde::{Deserialize, Serialize};

pub use answers::Answers;
pub use bench::{Bench, Forecast, RunLimits, RunOutcome};
pub use lexical::Lexical;
pub use prompts::Prompt;
pub use request::{
    CandidateError, RouteDocument, RouteRequest, RouteRunnerUp, RoutedRequest, list_candidates,
    route_by_words, route_request,
};
pub use shuffle::{order, seed32};
pub use template::{TEMPLATE, Template, TemplateError};

/// A skill that may be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its complete SKILL.md.
    pub document: String,
}

/// The status of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With a ranking; an empty one means that no skill is suitable.
    Finished,
    /// With two invalid replies. A result: it counts as wrong.
    FormatFailure,
    /// The model could not be reached or did not answer. No result; the next run repeats it.
    ModelUnavailable,
    /// The request was refused, or the answer cannot be read at all. No result; the next run
    /// repeats it.
    Error,
}

impl Status {
    /// Whether it counts as a result of the router.
    pub fn is_result(self) -> bool {
        matches!(self, Self::Finished | Self::FormatFailure)
    }
}

/// The answer to one question.
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
    /// From 0 to 1, if the model reported it.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The replies, one or two.
    #[serde(default)]
    pub replies: Vec<String>,
    /// The error.
    #[serde(default)]
    pub message: Option<String>,
    /// Tokens of all replies; `None` if the provider did not report them.
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
    /// Whether it is a lexical router.
    pub lexical: bool,
    /// Its answers, in order of request and repetition.
    pub answers: Vec<Routed>,
    /// Their cost in USD, if known.
    pub cost_usd: Option<f64>,
}
