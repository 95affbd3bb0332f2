//! Errors of policies.

use std::path::PathBuf;

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
