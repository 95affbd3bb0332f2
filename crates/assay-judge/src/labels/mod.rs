//! Labels of people: sheets of items, marks from reviews, and tables with the label of each item.

mod feedback;
mod sheet;
mod summary;

use std::path::{Path, PathBuf};

use assay_store::{
    COLUMNS_OF_LABELS, ItemLabel, Sheet, SheetItem, Store, StoreError, decide, write_atomically,
};
use serde_json::{Value, json};

pub use feedback::{AddedFeedback, FeedbackError};
pub use sheet::{SheetFileError, read_sheet_file};
pub use summary::LabelSummary;

use feedback::add_feedback;

/// Whose labels are made, and from what.
#[derive(Debug, Clone, Copy)]
pub struct LabelRequest<'a> {
    /// The name of the sheet.
    pub sheet: &'a str,
    /// The file for the table, if it is to be written.
    pub out: Option<&'a Path>,
    /// A file of skill-creator with reviews that become marks first.
    pub feedback: Option<&'a Path>,
    /// Whose marks the reviews are.
    pub annotator: &'a str,
}

/// The labels of a sheet.
#[derive(Debug)]
pub struct SheetLabels {
    /// What they are based on.
    pub summary: LabelSummary,
    /// What was added from reviews, if there were any.
    pub added: Option<AddedFeedback>,
}

/// Why there are no labels.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelsError {
    /// The store has no such sheet.
    #[error("{message}")]
    NoSheet {
        /// Which one.
        message: String,
        /// Those that it has.
        sheets: Vec<String>,
    },
    /// A name that no reader of tables would accept.
    #[error("cannot write {}: labels are written as JSON Lines", out.display())]
    OutFormat {
        /// The file.
        out: PathBuf,
    },
    /// The reviews cannot be added.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// The store or the table cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes labels of the marks on a sheet, and writes them as a table.
///
/// # Errors
/// There is no such sheet; reviews cannot be added; the store or the table cannot be written.
pub fn make_labels(store: &Store, request: &LabelRequest<'_>) -> Result<SheetLabels, LabelsError> {
    let sheet = store.sheet(request.sheet).map_err(|error| match error {
        StoreError::NotFound(message) => LabelsError::NoSheet { message, sheets: store.sheet_names() },
        error => error.into(),
    })?;
    if let Some(out) = request.out {
        check_name(out)?;
    }
    let added = match request.feedback {
        Some(path) => Some(add_feedback(store, &sheet, path, request.annotator)?),
        None => None,
    };
    let marks = store.marks(sheet.name())?;
    let labels = decide(&sheet, &marks);
    if let Some(out) = request.out {
        write_atomically(out, table(&sheet, &labels).as_bytes())?;
    }
    Ok(SheetLabels { summary: LabelSummary::new(&sheet, &marks, &labels), added })
}

/// Refuses a name that is not one of JSON Lines.
fn check_name(out: &Path) -> Result<(), LabelsError> {
    let known = out.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson");
    if known { Ok(()) } else { Err(LabelsError::OutFormat { out: out.to_owned() }) }
}

/// The rows of the sheet with their labels.
fn table(sheet: &Sheet, labels: &[ItemLabel<'_>]) -> String {
    let row = |(item, label): (&SheetItem, &ItemLabel<'_>)| {
        let mut row = item.row().clone();
        let names: Vec<&str> = label.marks.iter().map(|mark| mark.annotator.as_str()).collect();
        let values = [json!(label.label), json!(label.basis.word()), json!(names)];
        row.extend(COLUMNS_OF_LABELS.map(str::to_owned).into_iter().zip(values));
        format!("{}\n", Value::Object(row))
    };
    sheet.items().iter().zip(labels).map(row).collect()
}

#[cfg(test)]
mod tests;
