//! How a command ends.

mod draft;
mod from;
mod gate;
mod judge;

use std::error::Error;
use std::process::ExitCode;

/// The exit status of a command, as scripts may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Done = 0,
    /// Done, and something asked about did not hold.
    DidNotHold = 1,
    /// Bad usage or bad input.
    BadInput = 2,
    /// Something under the command broke.
    Infrastructure = 3,
    /// Done, and what was asked about is undecided.
    Undecided = 4,
    /// Interrupted; what was done is kept.
    Interrupted = 130,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was given cannot be used.
    #[error("{message}")]
    BadInput {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
        /// Why.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
        /// More of the same, one a line.
        details: Vec<String>,
    },
    /// The machine, the disk or a provider failed.
    #[error("{message}")]
    Infrastructure {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
        /// Why.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The reader of standard output has closed it.
    #[error("standard output is closed")]
    BrokenPipe,
}

impl Failure {
    /// A failure of what was given.
    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::BadInput { message: message.into(), hint: None, source: None, details: Vec::new() }
    }

    /// A failure of the machine, the disk or a provider.
    pub fn infrastructure(message: impl Into<String>) -> Self {
        Self::Infrastructure { message: message.into(), hint: None, source: None }
    }

    /// With more lines on bad input.
    #[must_use]
    pub fn details(mut self, lines: Vec<String>) -> Self {
        if let Self::BadInput { details, .. } = &mut self {
            *details = lines;
        }
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            Self::BadInput { hint, .. } | Self::Infrastructure { hint, .. } => *hint = Some(text.into()),
            Self::BrokenPipe => {}
        }
        self
    }

    pub(crate) fn status(&self) -> Status {
        match self {
            Self::BadInput { .. } => Status::BadInput,
            Self::Infrastructure { .. } => Status::Infrastructure,
            Self::BrokenPipe => Status::Done,
        }
    }
}
