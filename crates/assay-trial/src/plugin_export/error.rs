//! Why cases are not written.

use std::io;
use std::path::PathBuf;

use assay_fs::FsError;
use assay_task::TaskError;

/// Why the export ended.
#[derive(Debug, thiserror::Error)]
pub enum PluginExportError {
    /// Two tasks of one name.
    #[error("two tasks are named {0:?}")]
    Name(String),
    /// A case that exists.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The files of a task cannot be read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The files of a work folder cannot be copied.
    #[error(transparent)]
    Files(#[from] FsError),
    /// A mock cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}
