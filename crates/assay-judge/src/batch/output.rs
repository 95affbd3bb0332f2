//! The file with the result of a batch.

use std::path::Path;

use serde_json::{Map, Value};

use super::error::BatchJudgeError;

/// Refuses a file that exists: a batch has one of its own.
///
/// # Errors
/// Something is there.
pub fn check_absent(out: &Path) -> Result<(), BatchJudgeError> {
    if out.symlink_metadata().is_ok() {
        return Err(BatchJudgeError::Exists { out: out.to_owned() });
    }
    Ok(())
}

/// Writes a table to a file that is not there.
pub(super) fn write_table(
    out: &Path,
    rows: impl Iterator<Item = Map<String, Value>>,
) -> Result<(), BatchJudgeError> {
    let text: String = rows.map(|row| format!("{}\n", Value::Object(row))).collect();
    // Another command may have written it in the meantime.
    check_absent(out)?;
    assay_fs::replace_file(out, text.as_bytes())
        .map_err(|error| BatchJudgeError::Write { out: out.to_owned(), error })
}
