//! Static checks of a task: whether its instruction is complete, its tests check what it asks for,
//! and no skill gives the answer away.
//!
//! [`find`] finds tasks, [`check`] applies every rule of [`TASK_RULES`] to one. Rules only read text:
//! nothing is executed or downloaded, and the same task gives the same findings in the same order.
//! Heuristic rules only warn: [`Severity::Error`] is for what makes a task useless or gives its
//! answer away.

mod declared;
mod dialect;
mod finding;
#[cfg(test)]
mod instruction_tests;
mod literal;
mod mention;
mod rule;
mod rules;
mod search;
mod shell;
mod subject;
#[cfg(test)]
mod tests;
mod words;

pub use dialect::dialect;
pub use finding::{Finding, Span, Verdict, verdict};
pub use rule::TaskRule;
pub use rules::TASK_RULES;
pub use search::{Refusal, TaskSearch, find};
pub use subject::{Context, Subject, Text};

use std::collections::BTreeMap;

use assay_diagnostic::Severity;

use self::declared::DeclaredAnswers;
use crate::Task;

/// Most findings of one code and severity about one task; the rest is counted in the last one.
const MOST: usize = 12;

/// Whether a task's verifier writes several rewards and none of the name `reward`, as far as its text
/// shows.
pub fn writes_several_rewards(task: &Task) -> bool {
    let context = Context::default();
    rules::writes_several_rewards(&Subject::read(task, &context).tests)
}

/// Every finding about a task: those of its reader first, then by rule, in the order of the text.
/// Opt-in rules are applied if the context requests them.
///
/// Of many findings of one code and severity the first are returned, and the last of them gives the
/// number of the others. The limit is for each severity, so the verdict is that of all findings.
pub fn check(task: &Task, context: &Context<'_>) -> Vec<Finding> {
    let subject = Subject::read(task, context);
    let declared = DeclaredAnswers::read_from(&subject);
    let mut findings: Vec<Finding> = Vec::new();
    // For each code and severity: the index of its last finding, the number of findings, and how
    // many are left out.
    let mut seen: BTreeMap<(String, Severity), (usize, usize, usize)> = BTreeMap::new();
    for rule in TASK_RULES.iter().filter(|rule| context.all_rules || !rule.is_opt_in) {
        let mut found = Vec::new();
        (rule.check)(&subject, &mut found);
        found.retain(|finding| !declared.exempts(&subject, finding));
        for finding in found {
            let (last, count, more) =
                seen.entry((finding.code.clone(), finding.severity)).or_insert((0, 0, 0));
            if *count == MOST {
                *more += 1;
                continue;
            }
            (*last, *count) = (findings.len(), *count + 1);
            findings.push(finding);
        }
    }
    for (last, _, more) in seen.into_values().filter(|(_, _, more)| *more > 0) {
        findings[last].message.push_str(&format!("; {more} more like it"));
    }
    findings
}
