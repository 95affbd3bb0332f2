//! What the daemon answers, in this crate's errors.

use bollard::errors::Error;

use crate::SandboxError;

/// An error of the daemon or on the way to it.
pub(crate) fn failed(action: &'static str, error: &Error) -> SandboxError {
    // A 5xx of the daemon is an answer. No answer at all is what goes by.
    let gone = !matches!(
        error,
        Error::DockerResponseServerError { .. }
            | Error::DockerStreamError { .. }
            | Error::JsonDataError { .. }
    );
    SandboxError::Daemon { action, reason: words(error), gone }
}

/// What an error says, with what caused it.
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

/// The status that the daemon answered with.
pub(crate) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}
