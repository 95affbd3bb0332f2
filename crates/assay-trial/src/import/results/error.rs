//! Why results cannot be read.

use std::path::{Path, PathBuf};

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// A file or folder that cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of no known format.
    #[error("{}: not a known format of results ({})", .path.display(), .formats.join(", "))]
    Unknown {
        /// The file or folder.
        path: PathBuf,
        /// The formats that are known.
        formats: Vec<&'static str>,
    },
    /// A file that several formats claim.
    #[error("{}: it could be {}", .path.display(), .formats.join(" or "))]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// The formats.
        formats: Vec<&'static str>,
    },
    /// Content that breaks its format.
    #[error("{}: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// Results in one folder that do not belong together.
    #[error("{}: {reason}", .path.display())]
    Mixed {
        /// The folder.
        path: PathBuf,
        /// What differs.
        reason: String,
    },
    /// Results that cannot be imported.
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
}

impl ResultError {
    /// Content that breaks its format.
    pub(super) fn invalid(path: &Path, reason: impl Into<String>) -> Self {
        Self::Invalid { path: path.to_owned(), reason: reason.into() }
    }

    /// An input that its reader was not made for.
    pub(super) fn unreadable(path: &Path) -> Self {
        Self::invalid(path, "it is not of the format of this reader")
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unknown { .. } => {
                Some("write a row for each trial with the columns task, condition and score to a .csv file")
            }
            Self::Ambiguous { .. } | Self::Mixed { .. } => {
                Some("name one file, or a folder with the results of one evaluation")
            }
            _ => None,
        }
    }
}
