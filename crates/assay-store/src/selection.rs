//! Selections of a plan's cells.

use globset::{Glob, GlobSet};

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

/// Whether a name matches a pattern, in which `*` matches anything. An invalid pattern, or one that
/// is too large, matches itself only.
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    // A set, because compiling a single pattern panics if it is too large.
    let set = || GlobSet::builder().add(Glob::new(pattern).ok()?).build().ok();
    pattern == name || set().is_some_and(|set| set.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_and_bad_ones_match_themselves() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(
                pattern_matches(pattern, name),
                expected,
                "{} {name}",
                &pattern[..pattern.len().min(40)]
            );
        };
        check("ledger-*", "ledger-intake", true);
        check("ledger-*", "log-volume", false);
        check("[a", "[a", true);
        check("[a", "a", false);
        check(&"[^a-z]*".repeat(100_000), "ledger-intake", false);
    }
}
