//! Files with the items of a sheet.

use std::path::{Path, PathBuf};

use assay_store::{Sheet, SheetError, is_run_name};
use assay_table::{ReadError, read_all_documents};
use serde_json::Value;

/// Why a file is no sheet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SheetFileError {
    /// A name that no sheet can have.
    #[error("{name:?} cannot be the name of a sheet")]
    Name {
        /// The name.
        name: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A line is not JSON.
    #[error("{}: line {line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// The rows are no items.
    #[error("{}: {error}", path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: SheetError,
    },
}

/// Reads and checks the rows of a file. Without a name the sheet has that of the file.
///
/// # Errors
/// The name is not allowed, the file cannot be read, or its rows are no items.
pub fn read_sheet_file(path: &Path, name: Option<&str>) -> Result<Sheet, SheetFileError> {
    let name = name.map_or_else(|| default_name(path), str::to_owned);
    if !is_run_name(&name) {
        return Err(SheetFileError::Name { name });
    }
    let documents = read_all_documents(path)?;
    let mut rows: Vec<(u64, Value)> = Vec::with_capacity(documents.len());
    for document in documents {
        let line = document.line;
        let row = document.value.map_err(|message| {
            let path = path.to_owned();
            SheetFileError::Line { path, line, message }
        })?;
        rows.push((line, row));
    }
    Sheet::new(&name, rows).map_err(|error| SheetFileError::Rows { path: path.to_owned(), error })
}

/// The name of a file without its extensions.
fn default_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace(' ', "-")
}
