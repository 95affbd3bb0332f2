//! Which checks of a trial passed.

use std::collections::BTreeMap;

use assay_store::Record;

/// The limit of checks in one trial; others are ignored.
const MOST: usize = 2_000;

/// A check's name is cut here.
const NAME: usize = 200;

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
