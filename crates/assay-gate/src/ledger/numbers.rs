//! How often a lineage was measured, and the level that is left for the next look.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::entry::LedgerEntry;

/// The share of a version's level that looks after the first have together.
const LATER: f64 = 0.2;

/// Which look at which version of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// Which content of the lineage since its last merge, from 1.
    pub version: u32,
    /// Which look at this content, from 1.
    pub look: u32,
}

/// The error rate of a look: version j has 6/(π²j²) of the budget, of which its first look has 80% and each later one 20%
/// of what is left. The rates of any number of versions and looks sum to the budget, because Σ 1/j² = π²/6 (Euler, 1735).
pub fn level(budget: f64, version: u32, look: u32) -> f64 {
    let version = f64::from(version.max(1));
    let before = i32::try_from(look.max(1) - 1).unwrap_or(i32::MAX);
    budget * 6.0 / (PI * PI * version * version) * (1.0 - LATER) * LATER.powi(before)
}

/// The numbers of the next look at a content.
///
/// `entries` are in order. Looks that an entry saw and that are not there any more count as other versions: what they
/// were looks at is unknown.
pub(super) fn numbers(
    entries: &[LedgerEntry],
    lineage: &str,
    content: &str,
    target: Option<&str>,
) -> Numbers {
    let own: Vec<&LedgerEntry> = entries.iter().filter(|entry| entry.opening.lineage == lineage).collect();
    let passed: BTreeSet<&str> =
        own.iter().filter(|entry| entry.passed()).map(|entry| entry.opening.content.as_str()).collect();
    let has_passed = |content: &str| passed.contains(content);
    let window: Vec<&LedgerEntry> = if target.is_some_and(has_passed) {
        own.iter().copied().filter(|entry| of_target(entry) == target).collect()
    } else {
        // The last version known to have been merged after a pass.
        let merged = own.iter().rev().find_map(|entry| of_target(entry).filter(|known| has_passed(known)));
        let first = merged.and_then(|merged| own.iter().position(|entry| of_target(entry) == Some(merged)));
        own.iter().copied().skip(first.unwrap_or(0)).collect()
    };
    let mut before: BTreeSet<&str> = BTreeSet::new();
    for entry in &window {
        if entry.opening.content == content {
            break;
        }
        before.insert(&entry.opening.content);
    }
    let looks = window.iter().filter(|entry| entry.opening.content == content).count();
    let versions = before.len() + lost(entries, &window, own.len());
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    Numbers { version: count(versions), look: count(looks) }
}

fn of_target(entry: &LedgerEntry) -> Option<&str> {
    entry.opening.target_content.as_deref()
}

/// Looks that entries of a window, or later ones of any lineage, saw and that are not there any more.
fn lost(entries: &[LedgerEntry], window: &[&LedgerEntry], own: usize) -> usize {
    let since = match window.first() {
        // The whole history.
        _ if window.len() == own => 0,
        Some(first) => entries.iter().position(|entry| entry.id == first.id).unwrap_or(0),
        None => entries.len(),
    };
    missing(entries, since).len()
}

/// Ids that entries saw, from one of them on, and that are not among all entries.
pub(super) fn missing(entries: &[LedgerEntry], since: usize) -> BTreeSet<&str> {
    let known: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let seen = entries.iter().skip(since).flat_map(|entry| &entry.seen);
    seen.map(String::as_str).filter(|id| !known.contains(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::entry::tests::entry;

    /// Looks as `content/target`, with `+` if it passed and `-` if not; `?ID` is seen and not there.
    fn looks(text: &str) -> Vec<LedgerEntry> {
        let mut entries: Vec<LedgerEntry> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            if let Some(lost) = word.strip_prefix('?') {
                seen.push(lost.to_owned());
                continue;
            }
            let (content, target) = word.trim_end_matches(['+', '-']).split_once('/').unwrap();
            let mut new = entry(&format!("{}", entries.len()), "l", content, target);
            if word.ends_with(['+', '-']) {
                new = new.decided(if word.ends_with('+') { "pass" } else { "fail" });
            }
            new.seen = std::mem::take(&mut seen);
            seen.push(new.id.clone());
            entries.push(new);
        }
        entries
    }

    fn check(before: &str, next: &str, expected: (u32, u32)) {
        let (content, target) = next.split_once('/').unwrap();
        let found = numbers(&looks(before), "l", content, Some(target));
        assert_eq!((found.version, found.look), expected, "{before:?}, then {next}");
        assert_eq!(numbers(&looks(before), "other", content, Some(target)).look, 1, "{before:?}");
    }

    #[test]
    fn versions_and_looks_are_counted_since_the_last_merge() {
        check("", "b/a", (1, 1));
        check("b/a-", "b/a", (1, 2));
        // Opened and never completed.
        check("b/a", "b/a", (1, 2));
        check("b/a- c/a-", "d/a", (3, 1));
        // An older version again: it keeps its number, and has one look more.
        check("b/a- c/a-", "b/a", (1, 2));
        check("b/a- c/a- b/a-", "c/a", (2, 2));
        // A pass that is not merged changes nothing.
        check("b/a+", "c/a", (2, 1));
        // Merged: the count begins again.
        check("b/a- c/a+", "d/c", (1, 1));
        check("b/a- c/a+ d/c-", "e/c", (2, 1));
        check("b/a- c/a+ d/c-", "b/c", (2, 1));
        // The target changed without a gate: nothing begins again.
        check("b/a- c/a-", "d/x", (3, 1));
        check("b/a- c/a+ d/c-", "e/x", (2, 1));
        // The version that is on the target did not pass.
        check("b/a- c/a-", "d/b", (3, 1));
    }

    #[test]
    fn looks_that_are_gone_are_counted() {
        check("?x b/a-", "c/a", (3, 1));
        check("?x ?y b/a-", "b/a", (3, 2));
        check("?x b/a- c/a+", "d/c", (1, 1));
        check("?x b/a- c/a+ ?y d/c-", "e/c", (3, 1));
    }

    #[test]
    fn all_versions_and_looks_share_the_budget() {
        let sum = |versions: u32| -> f64 {
            (1..=versions).flat_map(|j| (1..30).map(move |i| level(0.05, j, i))).sum()
        };
        assert!(sum(5000) < 0.05 && sum(5000) > 0.0499, "{}", sum(5000));
        for (version, look, expected) in
            [(1, 1, 0.024_317), (1, 2, 0.004_863_4), (2, 1, 0.006_079_3), (10, 1, 0.000_243_17)]
        {
            let found = level(0.05, version, look);
            assert!((found / expected - 1.0).abs() < 1e-4, "{version}, {look}: {found}");
        }
    }
}
