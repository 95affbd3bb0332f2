//! Why nothing could be imported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_store::StoreError;

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Not a folder.
    #[error("{} is not a readable directory", .0.display())]
    NotAFolder(PathBuf),
    /// No trial in any of the folders.
    #[error("no finished Harbor or BenchFlow trial in {}", .folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "))]
    Nothing {
        /// The searched folders.
        folders: Vec<PathBuf>,
        /// What was there instead, by reason.
        unusable: BTreeMap<String, usize>,
    },
    /// An invalid pattern.
    #[error("invalid pattern {pattern:?}: {message}")]
    Pattern {
        /// As given by the user.
        pattern: String,
        /// Why.
        message: String,
    },
    /// A name that cannot be one.
    #[error("invalid {what} name {name:?}: use letters, digits, `-`, `_` and `.`, at most 80 characters")]
    Name {
        /// `run` or `condition`.
        what: &'static str,
        /// As given by the user.
        name: String,
    },
    /// A baseline that no trial ran under.
    #[error("no trial ran under the baseline {baseline:?}; conditions found: {}", .conditions.join(", "))]
    Baseline {
        /// As given by the user.
        baseline: String,
        /// The conditions there are.
        conditions: Vec<String>,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
