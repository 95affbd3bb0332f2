//! Marks: what people say of items.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::run::is_run_name;

/// The annotator whose marks are final labels.
pub const ADJUDICATED: &str = "adjudicated";

/// Whether a person can have this name: as names of runs, and none with a meaning of its own.
pub fn is_annotator_name(name: &str) -> bool {
    is_run_name(name) && !matches!(name, ADJUDICATED | "adjudicate")
}

/// What somebody said of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The item's id.
    pub item: String,
    /// Who, or [`ADJUDICATED`].
    pub annotator: String,
    /// Whether the criterion is met; `None` if the material does not show it.
    pub label: Option<bool>,
    /// A remark; empty if there is none.
    pub note: String,
    /// When, RFC 3339.
    pub at: String,
}

impl Mark {
    /// A mark of this moment.
    pub fn now(item: &str, annotator: &str, label: Option<bool>, note: &str) -> Self {
        let at = jiff::Timestamp::now().to_string();
        Self { item: item.to_owned(), annotator: annotator.to_owned(), label, note: note.to_owned(), at }
    }

    pub(super) fn line(&self) -> String {
        let Self { item, annotator, label, note, at } = self;
        let mut line = json!({ "item": item, "annotator": annotator, "label": label, "at": at });
        if !note.is_empty() {
            line["note"] = json!(note);
        }
        line.to_string()
    }
}

/// The line that undoes somebody's last mark of an item.
pub(super) fn undo_line(item: &str, annotator: &str) -> String {
    let at = jiff::Timestamp::now().to_string();
    json!({ "item": item, "annotator": annotator, "undo": true, "at": at }).to_string()
}

/// Why a log of marks cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum MarksError {
    /// A line that is no JSON object.
    #[error("line {line}: {error}")]
    Json { line: usize, error: serde_json::Error },
    /// A key with another value than it may have.
    #[error("line {line}: {fault}")]
    Key { line: usize, fault: &'static str },
}

/// The marks of a sheet that were not undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// By annotator, oldest first.
    given: BTreeMap<String, Vec<Mark>>,
}

impl Marks {
    /// Reads the lines of a log. A last line without an end counts as absent.
    pub(super) fn parse(text: &str) -> Result<Self, MarksError> {
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut marks = Self::default();
        for (at, line) in complete.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let number = at + 1;
            let line: Map<String, Value> =
                serde_json::from_str(line).map_err(|error| MarksError::Json { line: number, error })?;
            let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
            let (Some(item), Some(annotator)) = (text("item"), text("annotator")) else {
                return Err(MarksError::Key { line: number, fault: "`item` and `annotator` must be texts" });
            };
            if line.get("undo") == Some(&Value::Bool(true)) {
                let given = marks.given.entry(annotator).or_default();
                if let Some(last) = given.iter().rposition(|mark| mark.item == item) {
                    given.remove(last);
                }
                continue;
            }
            let label = match line.get("label") {
                Some(Value::Bool(label)) => Some(*label),
                Some(Value::Null) => None,
                _ => {
                    return Err(MarksError::Key {
                        line: number,
                        fault: "`label` must be true, false or null",
                    });
                }
            };
            let (note, at) = (text("note").unwrap_or_default(), text("at").unwrap_or_default());
            marks.add(Mark { item, annotator, label, note, at });
        }
        Ok(marks)
    }

    /// Adds a mark as the last one.
    pub fn add(&mut self, mark: Mark) {
        self.given.entry(mark.annotator.clone()).or_default().push(mark);
    }

    /// Who has marked items, in order, without [`ADJUDICATED`].
    pub fn annotators(&self) -> Vec<&str> {
        let given = self.given.iter().filter(|(name, marks)| !marks.is_empty() && *name != ADJUDICATED);
        given.map(|(name, _)| name.as_str()).collect()
    }

    /// The last mark that somebody gave.
    pub fn last(&self, annotator: &str) -> Option<&Mark> {
        self.given.get(annotator)?.last()
    }

    /// Somebody's marks by item: the last one for each.
    pub fn by_item(&self, annotator: &str) -> BTreeMap<&str, &Mark> {
        let given = self.given.get(annotator).into_iter().flatten();
        given.map(|mark| (mark.item.as_str(), mark)).collect()
    }
}
