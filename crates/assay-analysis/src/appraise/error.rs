//! Why results cannot be appraised.

/// Why results cannot be appraised.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AppraisalError {
    /// A score outside of the range.
    #[error("case {case:?} has the score {score}, outside of {low} to {high}")]
    Range {
        /// The case.
        case: String,
        /// Its score.
        score: f64,
        /// The lowest possible score.
        low: f64,
        /// The highest one.
        high: f64,
    },
    /// Several arms, and no name says which one is the baseline.
    #[error("several arms and no baseline among them: {}", .0.join("; "))]
    NoBaseline(Vec<String>),
    /// An arm that does not exist.
    #[error("no arm is called {name:?}; arms: {}", .arms.join("; "))]
    UnknownArm {
        /// As given by the user.
        name: String,
        /// The arms.
        arms: Vec<String>,
    },
    /// Arms without a case in common.
    #[error("the arms {arm:?} and {baseline:?} have no case in common")]
    NoCommonCase {
        /// The arm.
        arm: String,
        /// The baseline.
        baseline: String,
    },
}

impl AppraisalError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Range { .. } => Some("--range LOW..HIGH names the lowest and the highest possible score"),
            Self::NoBaseline(_) => Some("--baseline NAME says which arm the others are compared with"),
            Self::UnknownArm { .. } | Self::NoCommonCase { .. } => None,
        }
    }
}
