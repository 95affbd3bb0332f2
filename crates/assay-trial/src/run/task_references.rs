//! What the references of a task, its no-op and its oracle, say about its verifier.

use std::sync::Arc;

use assay_store::VerifierEnvironment;

use super::broken::Broken;

/// What a task's verifier makes of the untouched environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoopGrade {
    /// It gives a reward.
    Graded,
    /// It gives none, for this reason.
    Broken(String),
}

/// The references of a task.
pub(crate) trait TaskReferences {
    /// Grades the no-op in a fresh environment, once per task and process.
    fn noop(&self) -> Result<Arc<NoopGrade>, Broken>;

    /// Grades the no-op again: this machine may be the reason for an error.
    fn noop_now(&self) -> Result<NoopGrade, Broken>;

    /// In which environment the task's work is graded: restored, wherever the oracle passes that way.
    /// Found once per task, and kept in the store.
    fn verifier_environment(&self) -> Result<VerifierEnvironment, Broken>;

    /// Keeps what a trial of the oracle has shown.
    fn keep_verifier_environment(&self, found: VerifierEnvironment) -> Result<(), Broken>;
}
