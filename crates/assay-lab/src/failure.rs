//! Failures of the laboratory's libraries, with what to do about them.

use assay_cli::failure::Failure;
use assay_corpus::compare::CompareError;
use assay_corpus::health::context_engineering::HealthError;
use assay_corpus::unpack::UnpackError;

/// Records cannot be unpacked into a folder.
pub(crate) fn unpack_failure(error: UnpackError) -> Failure {
    let message = error.to_string();
    match error {
        UnpackError::Input(error) => error.into(),
        UnpackError::NotEmpty { .. } => {
            Failure::bad_input(message).hint("name a folder that does not exist yet")
        }
        UnpackError::Write { source, .. } => Failure::BadInput {
            message,
            hint: Some("name a folder that can be written to".to_owned()),
            source: Some(source.into()),
            details: Vec::new(),
        },
    }
}

/// A corpus and a ledger cannot be compared.
pub(crate) fn compare_failure(error: CompareError) -> Failure {
    match error {
        CompareError::Input(error) => error.into(),
        other => Failure::bad_input(other.to_string()),
    }
}

/// A library cannot be scored.
pub(crate) fn health_failure(error: HealthError) -> Failure {
    let message = error.to_string();
    match error {
        HealthError::NoSkills { .. } => {
            Failure::bad_input(message).hint("name a folder whose folders hold SKILL.md")
        }
        HealthError::Read { source, .. } => {
            Failure::BadInput { message, hint: None, source: Some(source.into()), details: Vec::new() }
        }
    }
}
