//! Why a file or folder could not be read, copied or removed.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file or folder could not be read, copied or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FsError {
    /// Not a regular file.
    #[error("{} is {found}, not a regular file", path.display())]
    NotAFile {
        /// Where.
        path: PathBuf,
        /// `a symbolic link`, `a folder`, …
        found: &'static str,
    },
    /// A path that is absolute, climbs out or goes through a link.
    #[error("{} leads out of its folder", path.display())]
    Escape {
        /// The path.
        path: PathBuf,
    },
    /// Too large.
    #[error("{} is larger than {cap} bytes", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Most bytes.
        cap: u64,
    },
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `read`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl FsError {
    /// An error of the operating system, with what was attempted and on what.
    pub fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { action, path: path.to_owned(), source: source.into() }
    }
}
