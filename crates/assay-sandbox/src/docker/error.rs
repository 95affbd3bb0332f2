//! Converts the daemon's errors.

use bollard::errors::Error;

use crate::SandboxError;

/// An error of the daemon or of the connection to it.
pub(crate) fn failed(action: &'static str, error: &Error) -> SandboxError {
    // A 5xx of the daemon is an answer. Only a missing answer may be temporary.
    let gone = !matches!(
        error,
        Error::DockerResponseServerError { .. }
            | Error::DockerStreamError { .. }
            | Error::JsonDataError { .. }
    );
    SandboxError::Daemon { action, reason: words(error), gone }
}

/// The text of an error, with its causes.
pub(crate) fn words(error: &Error) -> String {
    if let Error::DockerResponseServerError { message, .. } = error {
        return message.trim().to_owned();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The HTTP status of the daemon's answer.
pub(crate) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}
