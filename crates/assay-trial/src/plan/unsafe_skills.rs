//! The error of skills that have a safety error.

/// The code of the diagnostic for them.
pub(crate) const UNSAFE: &str = "skill-unsafe";

/// Skills with safety errors that agents would be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} (hint: `assay lint` explains the rules; if you trust the skill, pass --allow-unsafe)",
    .0.join("; ")
)]
pub struct UnsafeSkills(pub Vec<String>);
