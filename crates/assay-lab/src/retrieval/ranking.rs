//! What a retriever found for labelled queries, and what that cost.

/// What one retriever found.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// Its name.
    pub(crate) retriever: String,
    /// What its ranking depends on.
    pub(crate) options: serde_json::Value,
    /// By query: ids with their scores, the best first.
    pub(crate) rankings: Vec<Vec<(String, f32)>>,
    /// By query: the highest possible score of a document.
    pub(crate) ceilings: Vec<f32>,
    /// The same for the negative requests.
    pub(crate) negatives: Vec<(Vec<(String, f32)>, f32)>,
    /// The cost.
    pub(crate) cost: Option<Cost>,
}

/// The cost of a retriever.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Cost {
    /// From documents in memory to the first query.
    pub(crate) index_seconds: f64,
    /// Processor time of all threads in it, which other programs do not lengthen.
    pub(crate) index_cpu_seconds: Option<f64>,
    /// Documents over the seconds of the clock.
    pub(crate) documents_per_second: f64,
    /// All queries on all threads.
    pub(crate) queries_per_second: f64,
    /// One query alone, the middle one.
    pub(crate) p50_seconds: f64,
    /// One query alone, the hundredth slowest of a hundred.
    pub(crate) p99_seconds: f64,
    /// Resident memory of the process after the queries.
    pub(crate) rss_bytes: Option<u64>,
    /// What a result adds to the context of a model.
    pub(crate) context: Option<Context>,
}

/// Tokens that results put into a context, mean over queries.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Context {
    /// Hits whose names and descriptions are counted.
    pub(crate) hits: usize,
    /// Tokens of their names and descriptions.
    pub(crate) description_tokens: f64,
    /// Tokens of the first hit's SKILL.md.
    pub(crate) skill_tokens: f64,
}
