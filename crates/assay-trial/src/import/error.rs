//! Why nothing could be imported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_store::StoreError;

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Not a folder.
    #[error("{} is not a folder that can be read", .0.display())]
    NotAFolder(PathBuf),
    /// No trial in any of the folders.
    #[error("there is no finished trial of Harbor or BenchFlow in {}", .folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "))]
    Nothing {
        /// Where it was looked for.
        folders: Vec<PathBuf>,
        /// What was there instead, by reason.
        unusable: BTreeMap<String, usize>,
    },
    /// An invalid pattern.
    #[error("{pattern:?} is not a pattern: {message}")]
    Pattern {
        /// As given.
        pattern: String,
        /// Why.
        message: String,
    },
    /// A name that cannot be one.
    #[error("{name:?} cannot be the name of a {what}: letters, digits, `-`, `_`, `.`, at most 80")]
    Name {
        /// `run` or `condition`.
        what: &'static str,
        /// As given.
        name: String,
    },
    /// A baseline that no trial ran under.
    #[error("no trial ran under the baseline {baseline:?}; there are {}", .conditions.join(", "))]
    Baseline {
        /// As given.
        baseline: String,
        /// The conditions there are.
        conditions: Vec<String>,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
