//! An item, and the list of a task.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::directives::{DirectiveClass, DirectiveLines};
use crate::error::{DraftError, InputFault};

/// The file of the items, within a task.
pub const ITEMS_FILE: &str = "tests/items.json";

/// Fewest items of directives that a task needs, without controls. With fewer, a task says little of what the skill adds,
/// and a single wrong check decides it.
pub const FEWEST_ITEMS: usize = 4;

/// Most controls of a task.
pub const MOST_CONTROLS: usize = 2;

const SCHEMA: &str = "assay.draft-items/1";

/// A set of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemSet {
    /// Goal completion: what the instruction demands, in any form.
    Gc,
    /// Instruction following: what a directive of the skill demands.
    If,
}

impl ItemSet {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gc => "gc",
            Self::If => "if",
        }
    }
}

/// What a check of a task decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskItem {
    /// Its name in the task. Of an item of [`ItemSet::If`], the id of its directive.
    pub id: String,
    /// Its set.
    pub set: ItemSet,
    /// What the result shows.
    pub text: String,
    /// The file of the skill that has the directive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first line of the directive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// All of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<DirectiveLines>,
    /// Words of these lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The class of the directive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<DirectiveClass>,
    /// What an agent that follows it writes or does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What one does that never saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The exact words, names and numbers that the check looks for and only the skill states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Whether the answer can be read off the given files, as in a task that continues the work of a colleague.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub readable: bool,
    /// Whether nobody can guess the answer: an agent without the skill that has it knows the skill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub canary: bool,
    /// In the copy of the items for a skill with other names and numbers: whether its answer is another one there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
}

impl TaskItem {
    /// Whether it shows what the skill adds: it follows a directive, and is no control.
    pub fn is_measuring(&self) -> bool {
        self.set == ItemSet::If && !self.is_control()
    }

    /// Whether it is a control: an agent meets it with and without the skill.
    pub fn is_control(&self) -> bool {
        self.set == ItemSet::If && self.class == Some(DirectiveClass::Reminder)
    }
}

/// `tests/items.json`: the items of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskItems {
    schema: String,
    /// In the order of the proposal.
    pub items: Vec<TaskItem>,
}

impl TaskItems {
    /// The items of a task.
    pub fn new(items: Vec<TaskItem>) -> Self {
        Self { schema: SCHEMA.to_owned(), items }
    }

    /// Reads the items of a task's folder; `None` if it has none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_from(task: &Path) -> Result<Option<Self>, DraftError> {
        read_document(task, ITEMS_FILE)
    }

    /// The file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The items of a set.
    pub fn list_set(&self, set: ItemSet) -> impl Iterator<Item = &TaskItem> {
        self.items.iter().filter(move |item| item.set == set)
    }

    /// The item of an id.
    pub fn find_by_id(&self, id: &str) -> Option<&TaskItem> {
        self.items.iter().find(|item| item.id == id)
    }
}

/// Reads a document of a task's folder; `None` if there is none.
pub(super) fn read_document<T: serde::de::DeserializeOwned>(
    task: &Path,
    name: &str,
) -> Result<Option<T>, DraftError> {
    let path = task.join(name);
    let bytes = match assay_fs::read_file(&path, assay_fs::DOCUMENT_CAP) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DraftError::read(&path, error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        InputFault::DraftFile { path, line: error.line(), message: error.to_string() }.into()
    })
}
