//! Checks of a verifier that declare which directive of the task's skill they test.
//!
//! `assay draft` writes tasks whose verifier names for each item of instruction following the line of the skill,
//! the answer, and whether nobody can guess it (docs/FORMATS.md, "Two sets of checks"). Whether a run gave the
//! answer is then known from the check, and need not be searched for.

/// A check that tests a directive of the task's skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredCheck {
    /// The name of the check.
    pub name: String,
    /// Whether the run gave the answer; `None` if the check was skipped or the like.
    pub passed: Option<bool>,
    /// The file of the skill.
    pub file: String,
    /// The line in it, from 1; 0 if the verifier does not say it.
    pub line: usize,
    /// What a run that follows the directive writes or does; empty if the verifier does not say it.
    pub answer: String,
    /// Whether nobody can guess the answer.
    pub canary: bool,
}

/// A declared answer that a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredAnswer {
    /// The check that found it.
    pub check: DeclaredCheck,
    /// What it adds to the evidence of the score, in [0, 1]; what directives of the same line weigh is taken off.
    pub weight: f64,
}
