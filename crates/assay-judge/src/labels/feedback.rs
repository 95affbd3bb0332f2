//! Marks from skill-creator's `feedback.json`.
//!
//! Its viewer writes `{"reviews": [{"run_id", "feedback", "timestamp"}], "status"}`: with the status
//! `in_progress` the runs that have a text, and with `complete` all runs, an empty text for those without one
//! (`eval-viewer/viewer.html` of anthropics/skills). Only then does an empty text say that somebody was content.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_diagnostic::counted;
use assay_store::{Mark, Sheet, SheetItem, Store, StoreError, is_annotator_name};
use assay_table::{ReadError, read_documents};
use serde_json::{Value, json};

/// Why the reviews of a file cannot be added as marks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// A name that no annotator can have.
    #[error("{annotator:?} cannot be the name of an annotator")]
    Annotator {
        /// The name.
        annotator: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file has another form.
    #[error("{}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// No run of it is an item of the sheet.
    #[error("{}: none of its runs is an item of {sheet}", path.display())]
    OtherSheet {
        /// The file.
        path: PathBuf,
        /// The sheet.
        sheet: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Marks that were added from the reviews of a file.
#[derive(Debug)]
pub struct AddedFeedback {
    marks: usize,
    present: usize,
    unknown: Vec<String>,
}

impl AddedFeedback {
    /// As a part of `assay.judge-labels/1`.
    pub fn to_json(&self) -> Value {
        json!({ "marks": self.marks, "present": self.present, "unknown": self.unknown })
    }

    /// A sentence without its full stop.
    pub fn to_text(&self) -> String {
        let mut text = format!("{} added from the feedback", counted(self.marks, "mark", "marks"));
        if !self.unknown.is_empty() {
            let runs = counted(self.unknown.len(), "run", "runs");
            text.push_str(&format!("; {runs} of it not in the sheet"));
        }
        text
    }
}

/// Adds the reviews of a file as marks. Those that the store has already are left out.
pub(super) fn add_feedback(
    store: &Store,
    sheet: &Sheet,
    path: &Path,
    annotator: &str,
) -> Result<AddedFeedback, FeedbackError> {
    if !is_annotator_name(annotator) {
        return Err(FeedbackError::Annotator { annotator: annotator.to_owned() });
    }
    let reviews = read_reviews(path)?;
    let items: BTreeSet<&str> = sheet.items().iter().map(SheetItem::id).collect();
    let marks = store.marks(sheet.name())?;
    let known = marks.by_item(annotator);
    let mut added = Vec::new();
    let mut found = AddedFeedback { marks: 0, present: 0, unknown: Vec::new() };
    for review in &reviews {
        let label = review.text.is_empty().then_some(true);
        let is_present = known
            .get(review.run.as_str())
            .is_some_and(|mark| mark.label == label && mark.note == review.text);
        if !items.contains(review.run.as_str()) {
            found.unknown.push(review.run.clone());
        } else if is_present {
            found.present += 1;
        } else {
            let mut mark = Mark::now(&review.run, annotator, label, &review.text);
            mark.at = review.at.clone().unwrap_or(mark.at);
            added.push(mark);
        }
    }
    if found.unknown.len() == reviews.len() && !reviews.is_empty() {
        let (path, sheet) = (path.to_owned(), sheet.name().to_owned());
        return Err(FeedbackError::OtherSheet { path, sheet });
    }
    found.marks = added.len();
    if !added.is_empty() {
        store.add_marks(sheet.name(), &added)?;
    }
    Ok(found)
}

struct RunReview {
    run: String,
    text: String,
    at: Option<String>,
}

fn read_reviews(path: &Path) -> Result<Vec<RunReview>, FeedbackError> {
    let bad = |message: &str| FeedbackError::Format { path: path.to_owned(), message: message.to_owned() };
    let mut documents = read_documents(path)?;
    let (Some(document), None) = (documents.next(), documents.next()) else {
        return Err(bad("not one JSON document"));
    };
    let document = document.value.map_err(|error| bad(&error))?;
    let reviews =
        document.get("reviews").and_then(Value::as_array).ok_or_else(|| bad("no list `reviews`"))?;
    let is_complete = document.get("status").and_then(Value::as_str) != Some("in_progress");
    let mut found = Vec::new();
    for (at, review) in reviews.iter().enumerate() {
        let text = |key: &str| review.get(key).and_then(Value::as_str);
        let Some(run) = text("run_id") else {
            return Err(bad(&format!("review {}: `run_id` must be a text", at + 1)));
        };
        let feedback = match review.get("feedback") {
            None | Some(Value::Null) => "",
            Some(Value::String(feedback)) => feedback.trim(),
            Some(_) => return Err(bad(&format!("review {}: `feedback` must be a text", at + 1))),
        };
        if !feedback.is_empty() || is_complete {
            let at = text("timestamp").filter(|time| time.parse::<jiff::Timestamp>().is_ok());
            found.push(RunReview {
                run: run.to_owned(),
                text: feedback.to_owned(),
                at: at.map(str::to_owned),
            });
        }
    }
    Ok(found)
}
