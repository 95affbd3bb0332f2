//! What an appraisal is asked.

/// What an appraisal is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct AppraisalOptions {
    /// The arm that the others are compared with, if names do not say.
    pub baseline: Option<String>,
    /// The only arm to compare with it.
    pub arm: Option<String>,
    /// The equivalence margin.
    pub margin: f64,
    /// The seed of the splits for run-to-run noise.
    pub seed: u64,
    /// The lowest and the highest possible score.
    pub range: (f64, f64),
}

impl Default for AppraisalOptions {
    /// The margin and the seed of an experiment without them.
    fn default() -> Self {
        Self { baseline: None, arm: None, margin: 0.10, seed: 1, range: (0.0, 1.0) }
    }
}
