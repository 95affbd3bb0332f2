//! Why a gate cannot go on, and what to do about it.

use std::path::PathBuf;

use assay_store::StoreError;
use assay_trial::{PlanError, RunError};

use crate::attainable::UnattainablePolicy;
use crate::drift::FEWEST_SESSIONS;
use crate::error::PolicyError;
use crate::evaluation::EvaluationError;
use crate::host::HostError;
use crate::repository::RepositoryError;

/// Why a gate cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The pull request cannot be evaluated.
    #[error("{}{error}", name_revision(error, revision.as_deref()))]
    Evaluation {
        /// Why.
        error: EvaluationError,
        /// The revision that it is compared with.
        revision: Option<String>,
    },
    /// The policy demands what no result or hardly any shows.
    #[error(transparent)]
    Unattainable(#[from] UnattainablePolicy),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No store can serve.
    #[error(transparent)]
    NoStore(#[from] UnusableStore),
    /// The trials cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The trials cannot be executed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program around the gate cannot do its part.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A skill has no experiment.
    #[error("no experiment")]
    NoExperiment,
    /// No rule covers a skill.
    #[error("no rule of {} covers {skill}", policy.display())]
    NotCovered {
        /// The policy.
        policy: PathBuf,
        /// The skill.
        skill: String,
        /// The skills that it covers.
        known: Vec<String>,
    },
    /// Somebody bills for the trials, and nothing bounds their cost.
    #[error("{} is a paid model, and this gate has no cap", model.as_deref().unwrap_or("a judge"))]
    NoCap {
        /// The model; `None` for a judge.
        model: Option<String>,
    },
    /// A cap cannot be kept.
    #[error("`--max-usd` needs the price of {model}")]
    NoPrice {
        /// The model without a price.
        model: String,
    },
    /// Nothing says how much a reused baseline drifts.
    #[error(
        "`reuse_baseline` needs an estimate of drift: the store has fewer than {FEWEST_SESSIONS} sessions of the baseline"
    )]
    UnknownDrift,
}

/// Why no store can serve.
#[derive(Debug, thiserror::Error)]
pub enum UnusableStore {
    /// A hosted job checks out what a pull request wrote.
    #[error("the store {} is inside the checkout, where a pull request can write: name one outside of it with --store", .0.display())]
    Inside(PathBuf),
    /// Its files are part of the repository, and there is no folder for another one.
    #[error("Git tracks files of the store {}: name another one with --store", .0.display())]
    Tracked(PathBuf),
    /// It does not exist.
    #[error("there is no store {}", .0.display())]
    Missing(PathBuf),
}

impl GateError {
    /// What to do about it, where the error is the gate's own.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Evaluation { error, .. } => return hint_of_evaluation(error),
            Self::Unattainable(error) => error.hint(),
            Self::NotCovered { known, .. } => return Some(format!("it covers: {}", known.join(", "))),
            Self::NoCap { .. } => "set --max-usd USD, or pass --no-cap",
            Self::NoPrice { .. } => {
                "add `price = { input = …, output = … }`, in USD for a million tokens, to its [[agents]] table"
            }
            Self::UnknownDrift => {
                "remove `reuse_baseline`, or set `drift_sd`, the known standard deviation of the baseline's mean score between sessions"
            }
            Self::Policy(_)
            | Self::Store(_)
            | Self::NoStore(_)
            | Self::Plan(_)
            | Self::Run(_)
            | Self::Host(_)
            | Self::NoExperiment => return None,
        };
        Some(hint.to_owned())
    }
}

/// The revision, where the repository is what fails.
fn name_revision(error: &EvaluationError, revision: Option<&str>) -> String {
    match (error, revision) {
        (EvaluationError::Repository(_), Some(revision)) => format!("`--changed-since {revision}`: "),
        _ => String::new(),
    }
}

fn hint_of_evaluation(error: &EvaluationError) -> Option<String> {
    let hint = match error {
        EvaluationError::Repository(RepositoryError::Shallow { .. }) => {
            "fetch the whole history: `fetch-depth: 0` of actions/checkout, GIT_DEPTH: 0 on GitLab, or git fetch --unshallow"
        }
        EvaluationError::Repository(RepositoryError::Partial { .. }) => {
            "fetch all files: git fetch --refetch --no-filter origin"
        }
        EvaluationError::Repository(
            RepositoryError::NoRevision { .. } | RepositoryError::Unrelated { .. },
        ) => "in CI, fetch the base branch first: git fetch origin main",
        EvaluationError::Repository(RepositoryError::Git(_)) => "assay gate needs git 2.38 or later",
        EvaluationError::OtherPolicy { known, .. } => return Some(format!("run assay gate {known}")),
        EvaluationError::NoMatch { .. } => {
            "correct the pattern; where the target's policy is wrong, a maintainer applies the correction with --trust-changes SHA"
        }
        EvaluationError::TopSkill { .. } => "move the skill to a folder of its own, such as skills/NAME",
        EvaluationError::Trust(_) => {
            "check out the commit that the maintainer approved, and pass its full SHA"
        }
        EvaluationError::Policy(_) | EvaluationError::Write { .. } | EvaluationError::Repository(_) => {
            return None;
        }
    };
    Some(hint.to_owned())
}
