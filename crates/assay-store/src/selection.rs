//! Selections of a plan's cells.

use crate::run::{Cell, Exclusion};

/// A selection of a plan's cells; an empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// By task.
    pub tasks: Vec<String>,
    /// By condition.
    pub conditions: Vec<String>,
    /// By agent's name.
    pub agents: Vec<String>,
    /// By repetition.
    pub repetitions: Vec<u32>,
}

impl Selection {
    /// Whether a cell is selected. Patterns may contain `*`.
    pub fn matches(&self, cell: &Cell, agent: &str) -> bool {
        let any = |patterns: &[String], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern_matches(pattern, name))
        };
        any(&self.tasks, &cell.task)
            && any(&self.conditions, &cell.condition)
            && any(&self.agents, agent)
            && (self.repetitions.is_empty() || self.repetitions.contains(&cell.repetition))
    }

    /// Whether an exclusion concerns the selection.
    pub fn covers(&self, excluded: &Exclusion) -> bool {
        let any = |patterns: &[String], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern_matches(pattern, name))
        };
        any(&self.tasks, &excluded.task)
            && excluded.condition.as_deref().is_none_or(|condition| any(&self.conditions, condition))
    }
}

/// Whether a name matches a pattern, in which `*` matches anything.
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    pattern == name || globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}
