//! Stored answers, by the digest of the question.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_diagnostic::Io;

use crate::Routed;

/// A folder of answers: one file each, named by the digest of everything that can change the
/// answer.
#[derive(Debug, Clone)]
pub struct Answers {
    folder: PathBuf,
}

/// An answer cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] Io),
    /// A file that is not an answer.
    #[error("{} is not a valid answer: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl Answers {
    /// The answers in a folder, which is created with the first.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(&digest[..2]).join(format!("{digest}.json"))
    }

    /// The stored answer to a question.
    ///
    /// # Errors
    /// The disk fails, or the file is not an answer.
    pub fn get(&self, digest: &str) -> Result<Option<Routed>, AnswersError> {
        let path = self.path(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(AnswersError::Io(Io { action: "read", path, source })),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|source| AnswersError::Format { path, source })
    }

    /// Stores an answer atomically.
    ///
    /// # Errors
    /// The disk fails.
    pub fn store(&self, digest: &str, routed: &Routed) -> Result<(), AnswersError> {
        let path = self.path(digest);
        let folder = path.parent().unwrap_or(Path::new("."));
        let failed = |action: &'static str| {
            let path = path.clone();
            move |source| AnswersError::Io(Io { action, path, source })
        };
        fs::create_dir_all(folder).map_err(failed("create the folder of"))?;
        let mut draft = tempfile::NamedTempFile::new_in(folder).map_err(failed("create a file beside"))?;
        let text = serde_json::to_vec_pretty(routed)
            .map_err(|source| AnswersError::Format { path: path.clone(), source })?;
        draft.write_all(&text).and_then(|()| draft.as_file().sync_all()).map_err(failed("write"))?;
        draft.persist(&path).map_err(|error| failed("write")(error.error))?;
        Ok(())
    }
}
