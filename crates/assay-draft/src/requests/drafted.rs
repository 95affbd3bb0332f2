//! Draws, and the files that they are written to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::prompt::Prompt;
use super::rounds::Drawn;

/// The draws of a command, and what the calls cost.
#[derive(Debug)]
pub struct DraftedRequests {
    /// The model that wrote, as `provider:model`.
    pub(crate) model: String,
    pub(crate) draws: Vec<(Drawn, Option<Prompt>)>,
    pub(crate) calls: usize,
    pub(crate) cached: usize,
    pub(crate) cost_usd: Option<f64>,
}

/// Draws by the file that they are written to.
#[derive(Debug, Default)]
pub(crate) struct SortedDraws {
    pub(crate) requests: Vec<Value>,
    pub(crate) negatives: Vec<Value>,
    pub(crate) sheet: Vec<Value>,
    pub(crate) dropped: Vec<Value>,
    /// Dropped draws by reason.
    pub(crate) reasons: BTreeMap<&'static str, usize>,
    /// Places of the skills that an accepted request needs.
    pub(crate) covered: BTreeSet<usize>,
    /// Requests that a person approved.
    pub(crate) by_people: usize,
}
