//! What is asked of an evaluation, and why there is none.

use std::path::{Path, PathBuf};

use crate::error::PolicyError;
use crate::repository::RepositoryError;

/// What is to be evaluated.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The policy's file in the working tree, whether it is there or not.
    pub policy: &'a Path,
    /// The tip of the target.
    pub revision: &'a str,
    /// The head of the pull request whose rules apply.
    pub trust: Option<&'a str>,
    /// The folder of the command, in which assay's settings lie.
    pub directory: &'a Path,
    /// Folders whose untracked files do not count.
    pub left_out: Vec<PathBuf>,
}

/// Why a pull request cannot be evaluated: a mistake of the caller or of the policy.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// The repository.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A file of the gate's own cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The policy is new, and the target has another one for the same skills.
    #[error("{given} does not exist at {target}, where {known} covers {skill}")]
    OtherPolicy {
        /// The policy of the command line.
        given: String,
        /// The target's.
        known: String,
        /// A skill that both cover.
        skill: String,
        /// The target.
        target: String,
    },
    /// A pattern that matches no skill.
    #[error("{policy}: `skills`: {pattern:?} matches no skill{}", near.as_ref().map_or(String::new(), |near| format!("; the nearest is {near}")))]
    NoMatch {
        /// The policy.
        policy: String,
        /// The pattern.
        pattern: String,
        /// The folder of a skill with a similar name.
        near: Option<String>,
    },
    /// A skill that is the whole repository.
    #[error("{policy}: a rule covers the top of the repository, where a skill and its rules have one folder")]
    TopSkill {
        /// The policy.
        policy: String,
    },
    /// `--trust-changes` names another commit.
    #[error("{0}")]
    Trust(String),
}
