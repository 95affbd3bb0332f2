//! Marks from skill-creator's `feedback.json`.
//!
//! Its viewer writes `{"reviews": [{"run_id", "feedback", "timestamp"}], "status"}`: with the status
//! `in_progress` the runs that have a text, and with `complete` all runs, an empty text for those without one
//! (`eval-viewer/viewer.html` of anthropics/skills). Only then does an empty text say that somebody was content.

use std::collections::BTreeSet;
use std::path::Path;

use assay_report::counted;
use assay_store::{Mark, Sheet, SheetItem, Store, is_annotator_name};
use assay_table::read_documents;
use serde_json::{Value, json};

use crate::failure::Failure;

/// What became of the reviews of a file.
pub(super) struct AddedFeedback {
    marks: usize,
    present: usize,
    unknown: Vec<String>,
}

impl AddedFeedback {
    pub(super) fn json(&self) -> Value {
        json!({ "marks": self.marks, "present": self.present, "unknown": self.unknown })
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{} added from the feedback", counted(self.marks, "mark", "marks"));
        if !self.unknown.is_empty() {
            let runs = counted(self.unknown.len(), "run", "runs");
            text.push_str(&format!("; {runs} of it not in the sheet"));
        }
        text
    }
}

/// Adds the reviews of a file as marks. Those that the store has already are left out.
pub(super) fn add(
    store: &Store,
    sheet: &Sheet,
    path: &Path,
    annotator: &str,
) -> Result<AddedFeedback, Failure> {
    if !is_annotator_name(annotator) {
        let message = format!("{annotator:?} cannot be the name of an annotator");
        return Err(
            Failure::bad_input(message).hint("use letters, digits, `-`, `_` and `.`, and not `adjudicated`")
        );
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
        let message = format!("{}: none of its runs is an item of {}", path.display(), sheet.name());
        return Err(Failure::bad_input(message).hint("the sheet's column `item` must have the run ids"));
    }
    found.marks = added.len();
    if !added.is_empty() {
        store.add_marks(sheet.name(), &added)?;
    }
    Ok(found)
}

struct Review {
    run: String,
    text: String,
    at: Option<String>,
}

fn read_reviews(path: &Path) -> Result<Vec<Review>, Failure> {
    let bad = |message: &str| {
        Failure::bad_input(format!("{}: {message}", path.display()))
            .hint("expected {\"reviews\": [{\"run_id\": …, \"feedback\": …}], \"status\": \"complete\"}")
    };
    let mut documents =
        read_documents(path).map_err(|error| Failure::bad_input(assay_diagnostic::chain(&error)))?;
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
            found.push(Review { run: run.to_owned(), text: feedback.to_owned(), at: at.map(str::to_owned) });
        }
    }
    Ok(found)
}
