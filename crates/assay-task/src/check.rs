//! What can be said of a task without running it: does its instruction say enough, do its tests look at what it asks for, does a skill give
//! the answer away.
//!
//! [`find`] looks for tasks, [`check`] asks every rule of [`rules`] about one. All of it is pure text: nothing is executed, nothing is fetched,
//! and the same task gives the same findings in the same order. A rule that guesses says so in its severity: [`Level::Fail`] is kept for what makes a
//! task useless or gives its answer away.

mod dialect;
mod finding;
mod literal;
mod mention;
mod rules;
mod search;
mod shell;
mod subject;
#[cfg(test)]
mod tests;
mod words;

pub use dialect::dialect;
pub use finding::{Finding, Level, Span, Verdict, verdict};
pub use rules::{Rule, rules};
pub use search::{Found, Refusal, find};
pub use subject::{Context, Subject, Text};

use crate::Task;

/// Most findings of one rule about one task; the rest is counted in the last one.
const MOST: usize = 12;

/// Every finding about a task: those of its reader first, then rule by rule, each in the order of the text.
pub fn check(task: &Task, context: &Context<'_>) -> Vec<Finding> {
    let subject = Subject::read(task, context);
    let mut findings = Vec::new();
    for rule in rules() {
        let mut found = Vec::new();
        rule.look(&subject, &mut found);
        let more = found.len().saturating_sub(MOST);
        found.truncate(MOST);
        if more > 0
            && let Some(last) = found.last_mut()
        {
            last.message.push_str(&format!("; and {more} more like it"));
        }
        findings.extend(found);
    }
    findings
}
