//! Infrastructure errors of an attempt, and helpers of environments.

use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use assay_diagnostic::{chain, escape};
use assay_fs::Caps;
use assay_sandbox::SandboxError;
use assay_store::Cause;

/// What raw logs and artifacts of an attempt may take.
pub(crate) const LOG_CAPS: Caps =
    Caps { entries: 2_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 16, links: false };

/// An infrastructure error.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    /// Whether it is certainly one of the machine, and no agent's work can be the reason.
    pub(crate) is_of_machine: bool,
}

impl Broken {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), is_of_machine: false }
    }

    /// An error of assay itself.
    pub(crate) fn harness(message: impl Into<String>) -> Self {
        Self::new(Cause::Harness, message)
    }

    /// The same in a step of a task.
    pub(crate) fn in_step(self, name: &str) -> Self {
        Self { message: format!("step `{}`: {}", escape(name), self.message), ..self }
    }

    /// An error of assay itself, from an error.
    pub(crate) fn harness_error(error: &dyn Error) -> Self {
        Self::harness(chain(error))
    }
}

impl From<SandboxError> for Broken {
    fn from(error: SandboxError) -> Self {
        // A full disk is the host's problem, even if the sandbox's output hits it first.
        let cause = if matches!(error, SandboxError::Io { .. }) { Cause::Harness } else { Cause::Sandbox };
        let is_of_machine = match &error {
            SandboxError::Unavailable { .. } | SandboxError::Daemon { gone: true, .. } => true,
            SandboxError::Io { source, .. } => source.kind() == ErrorKind::StorageFull,
            _ => false,
        };
        Self { is_of_machine, ..Self::new(cause, chain(&error)) }
    }
}

/// Creates a folder.
pub(crate) fn create_folder(folder: &Path) -> Result<(), Broken> {
    fs::create_dir_all(folder)
        .map_err(|error| Broken::harness(format!("cannot create {}: {error}", folder.display())))
}

/// An absolute path, below a folder that represents `/`.
pub(crate) fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
