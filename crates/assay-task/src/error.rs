//! Why a task cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why a task, or a pattern for tasks, cannot be used. [`TaskError::hint`] has the fix.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The folder is not a task.
    #[error("{} is not a task: {missing}", path.display())]
    NotATask {
        /// The folder.
        path: PathBuf,
        /// The missing or invalid part.
        missing: String,
        /// What to do.
        hint: String,
    },
    /// A part that every task needs is missing, empty, or invalid.
    #[error("{}: {message}", path.display())]
    Part {
        /// The file or folder at fault.
        path: PathBuf,
        /// The problem.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The path at fault.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The path at fault.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line of a file is at fault: no TOML, a value of the wrong type, an instruction that cannot
    /// be carried out.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
        /// The problem.
        message: String,
        /// What to do.
        hint: String,
    },
    /// Two tasks of a suite have the same folder name.
    #[error("two tasks are called `{name}`: {} and {}", first.display(), second.display())]
    Duplicate {
        /// The name.
        name: String,
        /// The one that is kept.
        first: PathBuf,
        /// The one that is not.
        second: PathBuf,
    },
    /// A pattern of a suite leads nowhere.
    #[error("suite pattern `{pattern}`: {message}")]
    Pattern {
        /// The pattern as written.
        pattern: String,
        /// The problem.
        message: String,
        /// What to do.
        hint: String,
    },
}

impl TaskError {
    /// The file or folder of the error, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::NotATask { path, .. }
            | Self::Part { path, .. }
            | Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::Line { path, .. }
            | Self::Duplicate { second: path, .. } => Some(path),
            Self::Pattern { .. } => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::NotATask { hint, .. }
            | Self::Part { hint, .. }
            | Self::Line { hint, .. }
            | Self::Pattern { hint, .. } => hint,
            Self::Read { .. } => {
                "check that it exists, that it is readable, and that no link in it leaves the task"
            }
            Self::Write { .. } => "check the free space and the permissions of the folder",
            Self::Duplicate { .. } => "rename one of the folders: results are stored by task name",
        }
    }
}
