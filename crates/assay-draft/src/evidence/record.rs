//! `evidence/NAME.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FairnessAnswer;
use crate::error::DraftError;
use crate::folder::DraftFolder;

/// Work on a task by a request, graded by the checks of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradedWork {
    /// The model, as `provider:model`.
    pub model: String,
    /// Whether it met each item, by id.
    pub met: BTreeMap<String, bool>,
    /// The end of what the work and the checks printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// A solution that ignores one directive, graded by the checks of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradedMutant {
    /// The item of the directive.
    pub item: String,
    /// Whether it met each item, by id.
    pub met: BTreeMap<String, bool>,
}

/// An item that was left out of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedItem {
    /// Its id.
    pub id: String,
    /// Why, in a sentence without its full stop.
    pub reason: String,
}

/// The checks of a task for the skill with other names and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterfactualCopy {
    /// The seed of the table of replacements.
    pub seed: u64,
    /// The items whose answer is another one.
    pub replaced: Vec<String>,
}

/// `evidence/NAME.json`: what decided the items of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEvidence {
    pub(crate) schema: String,
    /// The digest of the task's folder as it was examined.
    pub(crate) digest: String,
    /// Work without the skill; replies that no script can be read of are left out.
    #[serde(default)]
    pub blind: Vec<GradedWork>,
    /// Work with the skill, by another model than the author's.
    #[serde(default)]
    pub with_skill: Vec<GradedWork>,
    /// Solutions that ignore one directive each.
    #[serde(default)]
    pub mutants: Vec<GradedMutant>,
    /// The model that read the items for fairness; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader: Option<String>,
    /// What it said.
    #[serde(default)]
    pub fairness: Vec<FairnessAnswer>,
    /// What is missing, and why, such as a reply that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Items that were left out.
    #[serde(default)]
    pub dropped: Vec<DroppedItem>,
    /// The checks for the skill with other names and numbers; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<CounterfactualCopy>,
}

impl TaskEvidence {
    pub(super) const SCHEMA: &'static str = "assay.draft-evidence/1";
}

/// What decided the items of a task; `None` if nothing has yet.
pub(crate) fn read_evidence(folder: &DraftFolder, task: &str) -> Result<Option<TaskEvidence>, DraftError> {
    folder.read_json(&path_of(task))
}

pub(crate) fn write_evidence(
    folder: &DraftFolder,
    task: &str,
    evidence: &TaskEvidence,
) -> Result<(), DraftError> {
    folder.write_json(&path_of(task), evidence)
}

fn path_of(task: &str) -> String {
    format!("evidence/{task}.json")
}
