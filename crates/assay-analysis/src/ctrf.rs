//! Which tests a verifier reports as passed.

use std::collections::BTreeMap;

use serde_json::Value;

/// The limit of checks in one report; larger ones are ignored.
const MOST: usize = 2_000;

/// A test's name is cut here.
const NAME: usize = 200;

/// Whether each test of a CTRF report passed, by name. One that was skipped or never ended is left
/// out; of several with one name, all have to pass.
pub(crate) fn verdicts(ctrf: &Value) -> BTreeMap<String, bool> {
    let mut verdicts = BTreeMap::new();
    let tests = ctrf.get("tests").and_then(Value::as_array);
    for test in tests.into_iter().flatten().take(MOST) {
        let text = |key: &str| test.get(key).and_then(Value::as_str);
        let passed = match text("status") {
            Some("passed") => true,
            Some("failed") => false,
            _ => continue,
        };
        let Some(name) = text("name").filter(|name| !name.is_empty()) else { continue };
        let name: String = name.chars().take(NAME).collect();
        verdicts.entry(name).and_modify(|all| *all &= passed).or_insert(passed);
    }
    verdicts
}
