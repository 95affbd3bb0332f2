//! Which checks of a trial passed.

use std::collections::BTreeMap;

use assay_store::{CheckLabel, CheckSet, Record};

/// The limit of checks in one trial; others are ignored.
const MOST: usize = 2_000;

/// A check's name is cut here.
const NAME: usize = 200;

/// What a check said is cut here.
const SAID: usize = 300;

/// A check of a task with two sets.
#[derive(Debug, Clone)]
pub(crate) struct SetCheck {
    /// What identifies it in its task: the directive, else the check's name.
    pub(crate) key: String,
    /// The check's name.
    pub(crate) name: String,
    /// What it tests.
    pub(crate) label: CheckLabel,
    /// Whether it passed; `None` if it was skipped or never ended.
    pub(crate) passed: Option<bool>,
    /// What it said: its message, else the end of its trace.
    pub(crate) said: String,
}

/// The checks of a trial whose verifier says to which set they belong. Of several on one directive all have to pass.
pub(crate) fn labeled(record: &Record) -> Vec<SetCheck> {
    let mut found: Vec<SetCheck> = Vec::new();
    let mut at: BTreeMap<(CheckSet, String), usize> = BTreeMap::new();
    for check in record.checks().into_iter().take(MOST) {
        let passed = check.passed();
        let Some(label) = check.label else { continue };
        let name: String = check.name.chars().take(NAME).collect();
        let directive = label.item.clone().filter(|_| label.set == CheckSet::If);
        let key = directive.unwrap_or_else(|| name.clone());
        let said = said(&check.message, &check.trace);
        if let Some(known) = at.get(&(label.set, key.clone())).and_then(|at| found.get_mut(*at)) {
            let both = [known.passed, passed];
            // The one that failed speaks for all.
            if passed == Some(false) && known.passed != Some(false) {
                (known.name, known.said) = (name, said);
            }
            known.passed = both.into_iter().flatten().reduce(|one, other| one && other);
            continue;
        }
        at.insert((label.set, key.clone()), found.len());
        found.push(SetCheck { key, name, label, passed, said });
    }
    found
}

/// A message in one line, else the last line of a trace.
fn said(message: &str, trace: &str) -> String {
    let line = if message.trim().is_empty() {
        trace.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
    } else {
        message
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ").chars().take(SAID).collect()
}

/// Whether each check of a trial passed, by name. One that was skipped or never ended is left out; of
/// several with one name, all have to pass.
pub(crate) fn verdicts(record: &Record) -> BTreeMap<String, bool> {
    let mut verdicts = BTreeMap::new();
    for check in record.checks().into_iter().take(MOST) {
        let Some(passed) = check.passed() else { continue };
        let name: String = check.name.chars().take(NAME).collect();
        verdicts.entry(name).and_modify(|all| *all &= passed).or_insert(passed);
    }
    verdicts
}
