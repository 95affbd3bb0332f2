//! Tasks of DevAI (arXiv 2410.10934): a query with requirements, some of which depend on others.

use serde::{Deserialize, Serialize};

use super::{FormatError, Id, Read, json, pretty};
use crate::rubric::{Item, Rubric};

/// The name of the set that the requirements become.
pub const SET: &str = "requirements";

/// The keys that are read, and labels of the task.
pub(crate) const KEYS: [&str; 8] = [
    "name",
    "query",
    "tags.*",
    "requirements[].requirement_id",
    "requirements[].prerequisites",
    "requirements[].criteria",
    "requirements[].category",
    "requirements[].satisfied",
];

/// A task of DevAI.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The instruction.
    pub query: String,
    /// The rubric. The id of an item is its requirement's.
    pub read: Read,
}

#[derive(Serialize, Deserialize)]
struct File {
    name: String,
    query: String,
    requirements: Vec<Requirement>,
}

#[derive(Serialize, Deserialize)]
struct Requirement {
    #[serde(rename = "requirement_id")]
    id: Id,
    #[serde(default)]
    prerequisites: Vec<Id>,
    criteria: String,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    satisfied: Option<bool>,
}

/// Reads the text of a task.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str) -> Result<Task, FormatError> {
    let file: File = json(text)?;
    let items = file.requirements.into_iter().map(|own| Item {
        category: own.category,
        prerequisites: own.prerequisites.iter().map(Id::to_string).collect(),
        ..Item::new(own.id.to_string(), own.criteria, 1.0)
    });
    let rubric = Rubric::of_items(SET, items.collect());
    rubric.check()?;
    Ok(Task { name: file.name, query: file.query, read: Read { rubric, notes: Vec::new() } })
}

/// The text of a task. Points and kinds have no place in the format.
pub fn write(task: &Task) -> String {
    let requirements = task.read.rubric.leaves().map(|item| Requirement {
        id: Id::of(&item.id),
        prerequisites: item.prerequisites.iter().map(|id| Id::of(id)).collect(),
        criteria: item.text.clone(),
        category: item.category.clone(),
        satisfied: None,
    });
    pretty(&File { name: task.name.clone(), query: task.query.clone(), requirements: requirements.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_as_read() {
        let text = r#"{"name": "t", "query": "Build it", "requirements": [
            {"requirement_id": 0, "prerequisites": [], "criteria": "Data is loaded", "category": "Data", "satisfied": null},
            {"requirement_id": 1, "prerequisites": [0], "criteria": "A model is trained", "category": null, "satisfied": null}]}"#;
        let task = read(text).unwrap();
        let written: serde_json::Value = serde_json::from_str(&write(&task)).unwrap();
        assert_eq!(written, serde_json::from_str::<serde_json::Value>(text).unwrap());
        let items: Vec<_> = task.read.rubric.leaves().collect();
        assert_eq!(
            (items[1].id.as_str(), items[1].prerequisites.as_slice()),
            ("1", ["0".to_owned()].as_slice())
        );
    }

    #[test]
    fn a_missing_prerequisite_is_an_error() {
        let text = r#"{"name": "t", "query": "q", "requirements": [{"requirement_id": 0, "prerequisites": [4], "criteria": "x"}]}"#;
        assert_eq!(read(text).unwrap_err().to_string(), "0: the prerequisite \"4\" is no item");
    }
}
