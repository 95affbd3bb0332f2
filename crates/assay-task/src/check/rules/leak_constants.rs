//! Constants that a skill shares with a task.

use std::collections::{BTreeMap, BTreeSet};

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::literal::{self, Literal};
use crate::check::rule::TaskRule;
use crate::check::rules::leak_words::Side;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "leak-constants",
    levels: "warn, info",
    summary: "numbers of four or more digits and quoted strings that a skill shares with tests or solution and that are not shown to the agent; warn if a test compares with them",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for skill in &subject.skills {
        let mut known: BTreeMap<&str, (&Text, usize)> = BTreeMap::new();
        for text in &skill.texts {
            for literal in literal::literals(&text.text).into_iter().filter(counts) {
                known.entry(literal.value).or_insert((text, literal.line));
            }
        }
        for (side, texts) in Side::all(subject).into_iter().filter(|(side, _)| *side != Side::Instruction) {
            let mut seen = BTreeSet::new();
            for task in texts.iter().filter(|text| text.is_code() || text.extension() == "json") {
                for literal in literal::literals(&task.text).into_iter().filter(counts) {
                    let Some((from, at)) = known.get(literal.value) else { continue };
                    if !seen.insert(literal.value)
                        || seen.len() > MOST
                        || subject.is_shown_to_agent(literal.value)
                    {
                        continue;
                    }
                    let there = task.text.lines().nth(literal.line - 1).unwrap_or_default();
                    let compared = side == Side::Tests && COMPARES.iter().any(|sign| there.contains(sign));
                    let level = if compared { Severity::Warning } else { Severity::Info };
                    let short: String = literal.value.chars().take(60).collect();
                    let message =
                        format!("the skill `{}` and the {} share `{short}`", skill.name, side.word());
                    let hint = "acceptable for domain knowledge, wrong for this task's answer";
                    let (skill, task) = (from.span(*at, *at), task.span(literal.line, literal.line));
                    found.push(Finding::shared(level, RULE.code, message, hint, skill, task));
                }
            }
        }
    }
}

/// Most constants of one part that are considered.
const MOST: usize = 200;

/// What compares.
const COMPARES: [&str; 5] = ["assert", "==", "expected", "isclose", "approx"];

fn counts(literal: &Literal<'_>) -> bool {
    if literal.quoted {
        // Paths are another rule's, and a literal with a template is a piece of program.
        literal::is_distinctive(literal.value) && !literal.value.contains(['/', '{', '%', '\\', '$', '('])
    } else {
        !literal::is_common(literal.value)
    }
}
