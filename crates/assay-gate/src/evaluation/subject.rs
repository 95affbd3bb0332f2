//! A skill that a gate has a row for, and what a pull request does to it.

use serde::Serialize;

use crate::terms::SkillTerms;

/// What a pull request does to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Its files differ.
    Changed,
    /// It is new.
    Added,
    /// Its folder has another name.
    Renamed,
    /// It lies in another folder.
    Moved,
    /// It is gone.
    Removed,
    /// Its files are the same.
    Unchanged,
}

/// A skill that a gate has a row for.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its folder in the pull request, relative to the policy's; the target's, if it was removed.
    pub skill: String,
    /// Its folder at the target, if that is another.
    pub from: Option<String>,
    /// What the pull request does to it.
    pub change: Change,
    /// The name of the tasks that it is measured by: a hash of their paths at the target.
    pub lineage: Option<String>,
    /// The digest of its normalized text at the target, if it is there.
    pub target_content: Option<String>,
    /// Whether the target has it.
    pub is_known: bool,
    /// Whether a rule covers it.
    pub is_covered: bool,
    /// Whether its content is the target's, wherever it lies.
    pub is_same: bool,
    /// Why it cannot be evaluated.
    pub problem: Option<String>,
    /// What the pull request's own rules demand, for a skill that only they have tasks for.
    pub untrusted: Option<Box<SkillTerms>>,
}

impl Subject {
    /// A skill of a working tree that is compared with nothing.
    pub fn of_working_tree(skill: &str) -> Self {
        Self { change: Change::Changed, ..Self::added(skill.to_owned(), true) }
    }

    /// Whether the pull request does anything to it.
    pub fn is_changed(&self) -> bool {
        self.change != Change::Unchanged
    }

    pub(super) fn added(skill: String, is_covered: bool) -> Self {
        Self {
            skill,
            from: None,
            change: Change::Added,
            lineage: None,
            target_content: None,
            is_known: false,
            is_covered,
            is_same: false,
            problem: None,
            untrusted: None,
        }
    }
}
