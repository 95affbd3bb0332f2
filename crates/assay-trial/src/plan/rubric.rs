//! The rubric of a task.

use std::io;
use std::path::Path;

use assay_judge::{Rubric, RubricError};
use assay_task::{RUBRIC_FILE, Task};

/// Most bytes of a rubric.
const RUBRIC_CAP: u64 = 16 << 20;

/// Why the rubric of a task cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskRubricError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The file is no text.
    #[error("it is not UTF-8")]
    Encoding,
    /// The text is no rubric.
    #[error(transparent)]
    Rubric(#[from] RubricError),
}

/// The rubric of a task that has one.
///
/// # Errors
/// Why it cannot be read.
pub fn rubric_of(task: &Task) -> Result<Rubric, TaskRubricError> {
    let bytes = assay_fs::read_within(&task.root, Path::new(RUBRIC_FILE), RUBRIC_CAP)?.bytes;
    let text = String::from_utf8(bytes).map_err(|_| TaskRubricError::Encoding)?;
    Ok(Rubric::parse(&text)?)
}
