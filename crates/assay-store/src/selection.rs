//! Which cells of a plan are meant.

use crate::run::{Cell, Exclusion};

/// Which cells of a plan are meant; an empty list means all.
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
    /// Whether a cell is meant. Names may hold `*`.
    pub fn matches(&self, cell: &Cell, agent: &str) -> bool {
        let any = |patterns: &[String], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern_matches(pattern, name))
        };
        any(&self.tasks, &cell.task)
            && any(&self.conditions, &cell.condition)
            && any(&self.agents, agent)
            && (self.repetitions.is_empty() || self.repetitions.contains(&cell.repetition))
    }

    /// Whether what was left out would have been meant.
    pub fn covers(&self, excluded: &Exclusion) -> bool {
        let any = |patterns: &[String], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern_matches(pattern, name))
        };
        any(&self.tasks, &excluded.task)
            && excluded.condition.as_deref().is_none_or(|condition| any(&self.conditions, condition))
    }
}

/// Whether a name is meant by a pattern, in which `*` stands for anything.
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    pattern == name || globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}
