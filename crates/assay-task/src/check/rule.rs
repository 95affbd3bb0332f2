//! What every rule implements.

use super::finding::Finding;
use super::subject::Subject;

/// A static check of a task.
pub trait Rule: Sync {
    /// Its name in findings: kebab case, stable.
    fn code(&self) -> &'static str;
    /// The severities of its findings, for the table of rules.
    fn levels(&self) -> &'static str;
    /// A summary for the table of rules: one line.
    fn summary(&self) -> &'static str;
    /// Whether it runs only where every rule is requested: it is wrong too often to run by default.
    fn is_opt_in(&self) -> bool {
        false
    }
    /// Appends its findings about a task.
    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Finding>);
}
