//! Why an attempt broke, and what the kinds of environments share below them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::chain;
use assay_fs::Caps;
use assay_sandbox::SandboxError;
use assay_store::Cause;

/// What raw logs and artifacts of an attempt may take.
pub(crate) const LOG_CAPS: Caps =
    Caps { entries: 2_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 16, links: false };

/// Something under a trial broke.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) message: String,
}

impl Broken {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }

    /// assay itself broke.
    pub(crate) fn harness(message: impl Into<String>) -> Self {
        Self::new(Cause::Harness, message)
    }

    /// The same, by what went wrong.
    pub(crate) fn harness_error(error: &dyn Error) -> Self {
        Self::harness(chain(error))
    }
}

impl From<SandboxError> for Broken {
    fn from(error: SandboxError) -> Self {
        // A full disk is the host's, also where the sandbox's output met it first.
        let cause = if matches!(error, SandboxError::Io { .. }) { Cause::Harness } else { Cause::Sandbox };
        Self::new(cause, chain(&error))
    }
}

/// A folder that has to be there.
pub(crate) fn create_folder(folder: &Path) -> Result<(), Broken> {
    fs::create_dir_all(folder)
        .map_err(|error| Broken::harness(format!("cannot create {}: {error}", folder.display())))
}

/// Where an absolute path lies below a folder that stands for `/`.
pub(crate) fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
