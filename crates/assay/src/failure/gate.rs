//! What errors of a gate mean to the caller.

use assay_gate::{EvaluationError, GateError, HostError, SelfCheckError};

use super::Failure;

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        let (message, hint) = (error.to_string(), error.hint());
        let failure = match error {
            GateError::Policy(error) => error.into(),
            GateError::Store(error) => error.into(),
            GateError::Plan(error) => error.into(),
            GateError::Run(error) => error.into(),
            GateError::Host(error) => error.into(),
            GateError::Evaluation { error: EvaluationError::Write { .. }, .. } => {
                Self::infrastructure(message)
            }
            _ => Self::bad_input(message),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// What this program cannot do for a gate is told as this program tells it.
impl From<Failure> for HostError {
    fn from(failure: Failure) -> Self {
        Self::new(failure)
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match error.into_source().downcast::<Self>() {
            Ok(failure) => *failure,
            Err(other) => Self::infrastructure(other.to_string()),
        }
    }
}

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
