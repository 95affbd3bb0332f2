//! Solutions that ignore one directive each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::item::read_document;
use crate::error::DraftError;

/// The file of the mutants, within a task.
pub const MUTANTS_FILE: &str = "solution/mutants.json";

const SCHEMA: &str = "assay.draft-mutants/1";

/// A replacement in the solution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutantEdit {
    /// A text that occurs once.
    pub find: String,
    /// What takes its place.
    pub replace: String,
}

/// A solution that ignores one directive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SolutionMutant {
    /// The item of the directive.
    pub item: String,
    /// What makes it of the solution.
    pub edits: Vec<MutantEdit>,
}

/// Why a mutant cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MutantError {
    /// It has no replacement.
    #[error("it replaces nothing")]
    Empty,
    /// A text to replace does not occur, or more than once.
    #[error("{find:?} occurs {count} times in solution/solve.sh, and has to occur once")]
    Occurs {
        /// The text.
        find: String,
        /// How often it occurs.
        count: usize,
    },
    /// What it makes is the solution itself.
    #[error("it is the solution itself")]
    Same,
}

impl SolutionMutant {
    /// Makes the mutant of a solution.
    ///
    /// # Errors
    /// A text to replace does not occur exactly once, or nothing changes.
    pub fn apply_to(&self, solution: &str) -> Result<String, MutantError> {
        if self.edits.is_empty() {
            return Err(MutantError::Empty);
        }
        let mut text = solution.to_owned();
        for edit in &self.edits {
            let count = if edit.find.is_empty() { 0 } else { text.matches(&edit.find).count() };
            if count != 1 {
                let find = edit.find.chars().take(80).collect();
                return Err(MutantError::Occurs { find, count });
            }
            text = text.replacen(&edit.find, &edit.replace, 1);
        }
        if text == solution { Err(MutantError::Same) } else { Ok(text) }
    }
}

/// `solution/mutants.json`: the mutants of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMutants {
    schema: String,
    /// One for each item of a directive that is no control.
    pub mutants: Vec<SolutionMutant>,
}

impl TaskMutants {
    /// The mutants of a task.
    pub fn new(mutants: Vec<SolutionMutant>) -> Self {
        Self { schema: SCHEMA.to_owned(), mutants }
    }

    /// Reads the mutants of a task's folder; none if there is no file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_from(task: &Path) -> Result<Self, DraftError> {
        Ok(read_document(task, MUTANTS_FILE)?.unwrap_or_else(|| Self::new(Vec::new())))
    }

    /// The file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_replaces_what_occurs_once() {
        let check = |edits: &[(&str, &str)], expected: Result<&str, &str>| {
            let edits = edits.iter().map(|(find, replace)| MutantEdit {
                find: (*find).to_owned(),
                replace: (*replace).to_owned(),
            });
            let mutant = SolutionMutant { item: "d01".to_owned(), edits: edits.collect() };
            let found = mutant.apply_to("cat a\nsort -r\ncat b\n").map_err(|error| error.to_string());
            match (found, expected) {
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned)),
            }
        };
        check(&[("sort -r", "sort")], Ok("cat a\nsort\ncat b\n"));
        check(&[("cat a", "cat c"), ("cat c\nsort", "sort")], Ok("sort -r\ncat b\n"));
        check(&[], Err("replaces nothing"));
        check(&[("cat ", "tac ")], Err("\"cat \" occurs 2 times"));
        check(&[("tac", "cat")], Err("\"tac\" occurs 0 times"));
        check(&[("", "x")], Err("\"\" occurs 0 times"));
        check(&[("sort -r", "sort -r")], Err("the solution itself"));
    }
}
