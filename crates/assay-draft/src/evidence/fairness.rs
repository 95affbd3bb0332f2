//! The reader who says which items are unfair.

use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use crate::complaint::Complaint;
use crate::items::{TaskItem, TaskItems};

/// What a reader says of an item. The fields are the questions of the prompt.
#[expect(clippy::struct_excessive_bools, reason = "each answers a question")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FairnessAnswer {
    /// The item.
    pub id: String,
    /// Whether the quoted line demands just what the check demands.
    pub demanded: bool,
    /// Whether following the line in another sound way can fail the check.
    pub other_way: bool,
    /// Whether the instruction or a given file shows the answer.
    pub given_away: bool,
    /// The item that measures the same fact; empty if none does.
    #[serde(default)]
    pub same_as: String,
    /// Whether the owner of the skill would call a result that fails this item only wrong.
    pub wrong: bool,
    /// Why, if something counts against it.
    #[serde(default)]
    pub reason: String,
}

impl FairnessAnswer {
    /// What counts against an item; `None` if nothing does. Another item with the same fact does not count here: one of
    /// the two may stay.
    pub fn find_objection(&self, item: &TaskItem) -> Option<String> {
        let objection = match self {
            Self { demanded: false, .. } => "the line does not demand what the check demands",
            Self { other_way: true, .. } => "the line can be followed in a way that fails the check",
            Self { given_away: true, .. } if !item.readable => "the task shows the answer",
            Self { wrong: false, .. } => "a result without it is fine, too",
            _ => return None,
        };
        let reason = self.reason.trim();
        Some(if reason.is_empty() { objection.to_owned() } else { format!("{objection}: {reason}") })
    }
}

#[derive(Deserialize)]
struct FairnessReply {
    items: Vec<FairnessAnswer>,
}

/// Reads what a reader says of the items of a task: an answer for each item of a directive.
///
/// # Errors
/// The reply contains no JSON of the form, or lacks an item. The message is a complaint to the model.
pub(super) fn read_fairness(reply: &str, items: &TaskItems) -> Result<Vec<FairnessAnswer>, Complaint> {
    let FairnessReply { items: answers } = read_document(reply)?;
    let measuring = || items.items.iter().filter(|item| item.is_measuring());
    if let Some(missing) = measuring().find(|item| !answers.iter().any(|answer| answer.id == item.id)) {
        return Err(Complaint::new(format!("`items` lacks {}", missing.id)));
    }
    let first = |item: &TaskItem| answers.iter().find(|answer| answer.id == item.id).cloned();
    Ok(measuring().filter_map(first).collect())
}
