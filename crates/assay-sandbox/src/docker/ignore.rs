//! `.dockerignore`: the files of a build context that are not sent.
//!
//! The patterns are those of [`assay_syntax::dockerignore`].

use std::path::{Path, PathBuf};

use assay_syntax::dockerignore;

use assay_fs::{FsError, read_beneath};

/// Maximum bytes of the file.
const MOST: u64 = 1 << 20;

/// A context's `.dockerignore`.
#[derive(Debug, Default)]
pub(super) struct Ignore {
    patterns: dockerignore::Ignore,
    /// Always sent: the builder reads them, and excludes them itself if they are ignored.
    needed: Vec<PathBuf>,
}

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum IgnoreError {
    #[error(transparent)]
    Read(#[from] FsError),
    #[error("{}:{}: {error}", path.display(), error.line())]
    Pattern { path: PathBuf, error: dockerignore::IgnoreError },
}

impl Ignore {
    /// Reads the `.dockerignore` of a Dockerfile, or else of the context.
    pub(super) fn read(context: &Path, dockerfile: &Path) -> Result<Self, IgnoreError> {
        let mut own = dockerfile.as_os_str().to_owned();
        own.push(".dockerignore");
        for name in [PathBuf::from(own), PathBuf::from(".dockerignore")] {
            if let Some(bytes) = read_beneath(context, &name, MOST)? {
                let patterns = dockerignore::Ignore::parse(&String::from_utf8_lossy(&bytes))
                    .map_err(|error| IgnoreError::Pattern { path: name, error })?;
                let needed = vec![dockerfile.to_owned(), PathBuf::from(".dockerignore")];
                return Ok(Self { patterns, needed });
            }
        }
        Ok(Self::default())
    }

    /// Whether a path is sent.
    pub(super) fn keeps(&self, path: &Path) -> bool {
        self.needed.iter().any(|needed| needed == path || needed.starts_with(path))
            || self.patterns.keeps(path)
    }
}
