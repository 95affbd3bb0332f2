//! Which checks of the verifier changed with a directive.

use serde::Serialize;
use serde_json::Value;

use super::matching::has_text;
use crate::directive::{Directive, Kind, Probe};

/// A word of fewer characters says little about a check.
const WORD: usize = 3;

/// Longest message of a check that is read, in bytes.
const MESSAGE_CAP: usize = 16 << 10;

/// Most checks of a report that are read.
const CHECKS: usize = 10_000;

/// One check of a verifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestCheck {
    /// Its name.
    pub name: String,
    /// Whether it passed; `None` if it was skipped or the like.
    pub passed: Option<bool>,
    /// What it said; empty where it said nothing.
    pub message: String,
}

/// How a check differs between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It passed with the skill and failed without.
    Gained,
    /// It failed with the skill and passed without.
    Lost,
}

/// A changed check that shares a literal, file or column with a directive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mattered {
    /// The name of the check.
    pub check: String,
    /// How it changed.
    pub change: Change,
}

impl TestCheck {
    /// A check with the beginning of what it said.
    pub fn new(name: String, passed: Option<bool>, message: &str) -> Self {
        let end = message.floor_char_boundary(MESSAGE_CAP);
        Self { name, passed, message: message[..end].to_owned() }
    }

    /// The checks of a CTRF report.
    pub fn of_ctrf(report: &Value) -> Vec<Self> {
        let results = report.get("results").unwrap_or(report);
        let tests = results.get("tests").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let check = |test: &Value| {
            let text = |key: &str| test.get(key).and_then(Value::as_str).unwrap_or_default();
            let (message, trace) = (text("message"), text("trace"));
            let message = if message.is_empty() { trace } else { message };
            let passed = match text("status") {
                "passed" => Some(true),
                "failed" => Some(false),
                _ => None,
            };
            Some(Self::new(test.get("name")?.as_str()?.to_owned(), passed, message))
        };
        tests.iter().take(CHECKS).filter_map(check).collect()
    }
}

/// The checks that changed between a run with the skill and one without, by name.
pub fn changed<'c>(
    with: &'c [TestCheck],
    without: &'c [TestCheck],
) -> Vec<(&'c TestCheck, &'c TestCheck, Change)> {
    let pair = |one: &'c TestCheck| {
        let other = without.iter().find(|other| other.name == one.name)?;
        match (one.passed, other.passed) {
            (Some(true), Some(false)) => Some((one, other, Change::Gained)),
            (Some(false), Some(true)) => Some((one, other, Change::Lost)),
            _ => None,
        }
    };
    with.iter().filter_map(pair).collect()
}

/// For each directive the checks that changed between the runs and share a literal, file or column
/// with it: in the name, divided into words, or in the message of the run that failed.
pub fn mattered(directives: &[Directive], with: &[TestCheck], without: &[TestCheck]) -> Vec<Vec<Mattered>> {
    let changed = changed(with, without);
    let message = |(one, other, change): &(&TestCheck, &TestCheck, Change)| -> String {
        if *change == Change::Gained { other.message.clone() } else { one.message.clone() }
    };
    let messages: Vec<String> = changed.iter().map(message).collect();
    // What several checks say alike, such as that a file is missing, says nothing about one of them.
    let own = |at: usize| messages.iter().filter(|other| **other == messages[at]).count() == 1;
    let of = |directive: &Directive| {
        let texts = literals(directive);
        let shares = |at: usize| {
            let name = words(&changed[at].0.name);
            texts.iter().any(|text| (own(at) && has_text(&messages[at], text)) || names(&name, text))
        };
        let shown = |at: usize| Mattered { check: changed[at].0.name.clone(), change: changed[at].2 };
        (0..changed.len()).filter(|at| shares(*at)).map(shown).collect()
    };
    directives.iter().map(of).collect()
}

/// What of a directive a check can name.
fn literals(directive: &Directive) -> Vec<&str> {
    let mut found = vec![directive.subject.as_str()];
    let mut probes = vec![&directive.probe];
    while let Some(probe) = probes.pop() {
        match probe {
            Probe::Text(text) => found.push(text),
            Probe::Script(path) => found.push(path.rsplit('/').next().unwrap_or(path)),
            Probe::Sequence { first, then } => probes.extend([first.as_ref(), then.as_ref()]),
            Probe::Command { .. } | Probe::Layout(_) | Probe::Number { .. } => {}
        }
    }
    // A bare number is in many messages.
    let is_number = |text: &&str| text.chars().all(|c| !c.is_alphabetic());
    found.retain(|text| !text.is_empty() && (directive.kind == Kind::Literal || !is_number(text)));
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the words of a literal are in the name of a check.
fn names(name: &[String], literal: &str) -> bool {
    let literal = words(literal);
    literal.iter().any(|word| word.len() >= WORD) && literal.iter().all(|word| name.contains(word))
}

/// The words of a name in lower case, without the plural's s.
fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let singular = |part: &str| {
        let part = part.to_lowercase();
        match part.strip_suffix('s') {
            Some(stem) if stem.len() >= WORD => stem.to_owned(),
            _ => part,
        }
    };
    parts.map(singular).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adherence::tests::text_directive;

    fn checks(tests: &[(&str, &str, &str)]) -> Vec<TestCheck> {
        let tests: Vec<Value> = tests
            .iter()
            .map(|(name, status, message)| json!({"name": name, "status": status, "message": message}))
            .collect();
        TestCheck::of_ctrf(&json!({"results": {"tests": tests}}))
    }

    #[test]
    fn changed_checks_are_joined_by_name_and_message() {
        let with = checks(&[
            ("kiln_codes", "passed", ""),
            ("totals", "passed", ""),
            ("order_of_rows", "failed", "row 3"),
            ("header", "passed", ""),
            ("extra", "skipped", ""),
        ]);
        let without = checks(&[
            ("kiln_codes", "failed", "KeyError: 'x'"),
            ("totals", "failed", "no line `fire_total` in out/kiln.csv"),
            ("order_of_rows", "passed", ""),
            ("header", "failed", "KeyError: 'x'"),
            ("extra", "failed", "fire_total"),
        ]);
        let check = |subject: &str, expected: &[(&str, Change)]| {
            let found = mattered(&[text_directive(subject)], &with, &without).remove(0);
            let found: Vec<(&str, Change)> =
                found.iter().map(|found| (found.check.as_str(), found.change)).collect();
            assert_eq!(found, expected, "{subject}");
        };
        check("kiln_code", &[("kiln_codes", Change::Gained)]);
        check("fire_total", &[("totals", Change::Gained)]);
        check("rows", &[("order_of_rows", Change::Lost)]);
        // Two checks say the same.
        check("KeyError", &[]);
        check("x", &[]);
        assert_eq!(changed(&with, &without).len(), 4);
        assert_eq!(TestCheck::of_ctrf(&json!(null)), []);
    }
}
