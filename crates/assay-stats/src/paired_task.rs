//! One task under two arms.

/// One task under two arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairedTask {
    /// Scores of the arm's trials in [0, 1]: pass 1, fail 0.
    pub arm: Vec<f64>,
    /// Scores of the baseline's trials. The number of repetitions may differ from the arm's.
    pub base: Vec<f64>,
    /// The cluster of tasks that share a skill or a repository; `None` for a single task.
    pub cluster: Option<u64>,
}
