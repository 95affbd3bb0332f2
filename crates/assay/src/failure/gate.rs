//! What errors of a gate mean to the caller.

use assay_gate::SelfCheckError;

use super::Failure;

impl From<SelfCheckError> for Failure {
    fn from(error: SelfCheckError) -> Self {
        match error {
            SelfCheckError::Store(error) => error.into(),
            error @ SelfCheckError::Nothing => Self::bad_input(error.to_string())
                .hint("run an experiment first, or name a table with --table"),
            error => Self::bad_input(error.to_string()),
        }
    }
}
