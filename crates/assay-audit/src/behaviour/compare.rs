//! How the actions of two runs differ: aligned by what is done to what, not by when.

use std::collections::{BTreeMap, BTreeSet};

use super::action::{Action, Phase};
use super::verb::Verb;
use crate::evidence::keys;

/// Writes to one file that share fewer of their features than this have other content.
const SAME_CONTENT: f64 = 0.5;

/// A way in which two runs differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// Only the first run does this to that.
    OnlyWith,
    /// Only the second.
    OnlyWithout,
    /// Both do, and it ends in failure in one of them only.
    Outcome,
    /// Both write the file, and less than half of what they write is shared.
    Content,
}

impl DifferenceKind {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnlyWith => "only_with",
            Self::OnlyWithout => "only_without",
            Self::Outcome => "outcome",
            Self::Content => "content",
        }
    }
}

/// One difference. An action that is repeated on a target is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// How they differ.
    pub kind: DifferenceKind,
    /// What was done.
    pub verb: Verb,
    /// To what.
    pub target: String,
    /// The phase of the first such action in the run that has it; the first run's where both have.
    pub phase: Phase,
    /// Its step there.
    pub step: usize,
}

struct Group<'a> {
    first: &'a Action,
    failed: bool,
    content: BTreeSet<u64>,
}

/// The differences between two runs, by verb and target.
pub fn differences(with: &[Action], without: &[Action]) -> Vec<Difference> {
    let (with, without) = (groups(with), groups(without));
    let mut found = Vec::new();
    for (&(verb, target), group) in &with {
        let mut add = |kind| {
            let (phase, step) = (group.first.phase, group.first.step);
            found.push(Difference { kind, verb, target: target.to_owned(), phase, step });
        };
        match without.get(&(verb, target)) {
            None => add(DifferenceKind::OnlyWith),
            Some(other) if other.failed != group.failed => add(DifferenceKind::Outcome),
            Some(other) if verb == Verb::Write && overlap(&group.content, &other.content) < SAME_CONTENT => {
                add(DifferenceKind::Content);
            }
            Some(_) => {}
        }
    }
    for (&(verb, target), group) in without.iter().filter(|(key, _)| !with.contains_key(key)) {
        let (phase, step) = (group.first.phase, group.first.step);
        found.push(Difference {
            kind: DifferenceKind::OnlyWithout,
            verb,
            target: target.to_owned(),
            phase,
            step,
        });
    }
    found
}

fn groups(actions: &[Action]) -> BTreeMap<(Verb, &str), Group<'_>> {
    let mut groups: BTreeMap<(Verb, &str), Group<'_>> = BTreeMap::new();
    for action in actions {
        let group = groups.entry((action.verb, action.target.as_str())).or_insert_with(|| Group {
            first: action,
            failed: false,
            content: BTreeSet::new(),
        });
        // What counts is how it ended.
        group.failed = action.failed;
        group.content.extend(keys(&action.content));
    }
    groups
}

/// Shared features over all features; 1 where neither has any.
fn overlap(one: &BTreeSet<u64>, other: &BTreeSet<u64>) -> f64 {
    let all = one.union(other).count();
    if all == 0 { 1.0 } else { one.intersection(other).count() as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(step: usize, verb: Verb, target: &str, failed: bool, content: &str) -> Action {
        let (target, content) = (target.to_owned(), content.to_owned());
        Action {
            step,
            call: 0,
            verb,
            target,
            failed,
            check: false,
            phase: Phase::Implementation,
            content,
            compound: false,
            missing: Vec::new(),
        }
    }

    #[test]
    fn runs_are_aligned_by_what_is_done_to_what() {
        let with = [
            action(1, Verb::Read, "a", false, ""),
            action(2, Verb::Write, "a", false, "first write everything here twice"),
            action(3, Verb::Run, "make", true, ""),
            action(4, Verb::Run, "make", false, ""),
            action(5, Verb::Search, "x", false, ""),
        ];
        let without = [
            action(1, Verb::Run, "make", true, ""),
            action(2, Verb::Write, "a", false, "something altogether different stands here"),
            action(3, Verb::Read, "a", false, ""),
            action(4, Verb::Write, "b", false, ""),
        ];
        let found: Vec<_> =
            differences(&with, &without).into_iter().map(|d| (d.kind, d.verb, d.target, d.step)).collect();
        let row = |kind, verb, target: &str, step| (kind, verb, target.to_owned(), step);
        assert_eq!(
            found,
            [
                row(DifferenceKind::OnlyWith, Verb::Search, "x", 5),
                row(DifferenceKind::Content, Verb::Write, "a", 2),
                row(DifferenceKind::Outcome, Verb::Run, "make", 3),
                row(DifferenceKind::OnlyWithout, Verb::Write, "b", 4),
            ]
        );
        assert!(differences(&with, &with).is_empty());
    }
}
