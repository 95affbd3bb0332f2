//! Requests with the skills that serve them.

mod leakage;

use std::collections::BTreeSet;

pub use leakage::annotate;

/// A request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Unique in its file.
    pub id: String,
    /// The request.
    pub text: String,
    /// Where the query comes from; the report has a part for each source.
    pub source: String,
    /// The repository that owns the skills; macro figures are means over repositories.
    pub repository: String,
    /// The skills that serve it.
    pub gold: BTreeSet<String>,
    /// Skills that count as relevant in lenient figures: declared acceptable, or near-duplicates.
    pub lenient: BTreeSet<String>,
    /// Skills that must not be found.
    pub forbidden: BTreeSet<String>,
    /// Whether it names its skill; `None` if unknown.
    pub names_skill: Option<bool>,
    /// Share of its 3-grams that occur in the skill; `None` if unknown.
    pub overlap3: Option<f64>,
    /// Classes of the skills in the corpus's taxonomy, if it has one.
    pub categories: BTreeSet<String>,
}
