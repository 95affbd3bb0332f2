//! Errors of policies.

use std::path::{Path, PathBuf};

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its content is invalid.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The error, and how to fix it.
        message: String,
        /// The line and a mark below the error, if they can be shown.
        excerpt: Vec<String>,
    },
}

impl PolicyError {
    /// The same error of a file that was read in another place.
    #[must_use]
    pub(crate) fn at(self, given: &Path) -> Self {
        let given = given.to_owned();
        match self {
            Self::Read { source, .. } => Self::Read { path: given, source },
            Self::Invalid { line, column, message, excerpt, .. } => {
                Self::Invalid { path: given, line, column, message, excerpt }
            }
        }
    }
}
