//! The role of a condition, by its name in plans and records.

/// The role of a condition in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionRole {
    /// The skills that belong to the task.
    Curated,
    /// A text as long as a skill that teaches nothing: it should not help.
    Placebo,
    /// A skill that is not about the task: it should not help.
    Unrelated,
    /// Any other, the baseline among them: its comparison needs no remark.
    Other,
}

impl ConditionRole {
    /// The role of the condition with this name.
    pub fn of(name: &str) -> Self {
        match name {
            "curated" => Self::Curated,
            "placebo" => Self::Placebo,
            "negative" => Self::Unrelated,
            _ => Self::Other,
        }
    }
}
