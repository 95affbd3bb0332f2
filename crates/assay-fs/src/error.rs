//! Why a file or folder could not be read, copied or removed.

use std::io;
use std::path::{Path, PathBuf};

use assay_diagnostic::{Io, escape};

/// Why a file or folder could not be read, copied or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FsError {
    /// Not a regular file.
    #[error("{} is {kind}, not a regular file", escape(&path.to_string_lossy()))]
    NotAFile {
        /// Where.
        path: PathBuf,
        /// `a symbolic link`, `a folder`, …
        kind: &'static str,
    },
    /// A path that is absolute, climbs out or goes through a link.
    #[error("{} leads out of its folder", escape(&path.to_string_lossy()))]
    Escape {
        /// The path.
        path: PathBuf,
    },
    /// Too large.
    #[error("{} is larger than {cap} bytes", escape(&path.to_string_lossy()))]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Most bytes.
        cap: u64,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] Io),
}

impl FsError {
    /// An error of the operating system, with the attempted action and its path.
    pub fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io(Io::new(action, path)(source.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// File names are untrusted, and a terminal shows the error.
    #[test]
    fn names_of_files_are_escaped() {
        let path = PathBuf::from("a\u{1b}[2Jb");
        for error in [
            FsError::NotAFile { path: path.clone(), kind: "a pipe" },
            FsError::Escape { path: path.clone() },
            FsError::TooLarge { path: path.clone(), cap: 1 },
            FsError::io("read", &path, io::ErrorKind::NotFound),
        ] {
            let text = error.to_string();
            assert!(text.contains("a\\u{1b}[2Jb") && !text.contains('\u{1b}'), "{text:?}");
        }
        let error = FsError::io("read", &path, io::ErrorKind::NotFound);
        assert!(std::error::Error::source(&error).is_some());
    }
}
