//! Why a store cannot be used.

use std::path::PathBuf;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk said no.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `read`, `write`, …
        action: &'static str,
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file of the store that cannot be understood.
    #[error("{} is not what this version of assay writes: {message}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// How.
        message: String,
    },
    /// A file of another version.
    #[error("{} is not what this version of assay writes: it is {found:?}, and this version reads {reads:?}", path.display())]
    Version {
        /// Which.
        path: PathBuf,
        /// Its schema.
        found: String,
        /// The schema that is read.
        reads: &'static str,
    },
    /// A name that leads nowhere.
    #[error("{0}")]
    NotFound(String),
}
