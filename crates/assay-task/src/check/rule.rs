//! What a rule is.

use crate::check::finding::Finding;
use crate::check::subject::Subject;

/// A rule about tasks.
#[derive(Debug, Clone, Copy)]
pub struct TaskRule {
    /// Its name in findings: kebab case, stable.
    pub code: &'static str,
    /// The severities of its findings, for the table of rules.
    pub levels: &'static str,
    /// A summary for the table of rules: one line.
    pub summary: &'static str,
    /// Whether it runs only where every rule is requested: it is wrong too often to run by default.
    pub is_opt_in: bool,
    /// Appends its findings about a task.
    pub(super) check: fn(&Subject<'_>, &mut Vec<Finding>),
}
