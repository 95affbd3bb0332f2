//! What is said about the text of a rubric's file: the lines of keys and values, keys that are not read, and values
//! that are references.

use std::collections::BTreeMap;

use serde_json::Value;

/// Most keys that a note names.
const NAMED: usize = 20;

/// Endings of files that a value may name in place of a text.
const ENDINGS: [&str; 12] = [
    ".csv",
    ".j2",
    ".json",
    ".jsonl",
    ".markdown",
    ".md",
    ".njk",
    ".prompt",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
];

/// The line of a key, from 1: the first place where it is written as one, in JSON, YAML or TOML.
pub(super) fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let is_key = |line: &str| {
        line.match_indices(key).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
            let starts = before.is_none_or(|c| c.is_whitespace() || "\"'{,-.".contains(c));
            let ends =
                after.starts_with([':', '=']) || after.starts_with(']') && line.trim().starts_with('[');
            starts && ends
        })
    };
    text.lines().position(is_key).map(|at| at + 1)
}

/// The line of the first place that has a text, from 1. Of a text with several lines, that of the first one.
pub(crate) fn line_of(text: &str, part: &str) -> Option<usize> {
    let first = part.lines().map(str::trim).find(|line| !line.is_empty())?;
    let quoted = Value::from(first).to_string();
    let inner = quoted.trim_matches('"');
    text.lines().position(|line| line.contains(first) || line.contains(inner)).map(|at| at + 1)
}

/// A key with its line: `` `key` (line 3) ``.
pub(super) fn named_key(text: &str, key: &str) -> String {
    match line_of_key(text, key) {
        Some(line) => format!("`{key}` (line {line})"),
        None => format!("`{key}`"),
    }
}

/// A message with the line of a part of the text before it.
pub(crate) fn at_line(line: Option<usize>, message: &str) -> String {
    line.map_or_else(|| message.to_owned(), |line| format!("line {line}: {message}"))
}

/// A note on the keys of a document that are not among the known ones.
///
/// Known keys are paths: `evals[].prompt`, with `[]` for each entry of a list; what is below `config.*` may be anything.
pub(crate) fn unread_note(text: &str, document: &Value, known: &[&str]) -> Option<String> {
    let mut unread = BTreeMap::new();
    collect_unread(document, "", known, &mut unread);
    let mut keys: Vec<(Option<usize>, String)> =
        unread.into_values().map(|key| (line_of_key(text, &key), named_key(text, &key))).collect();
    keys.sort();
    let more = keys.len().saturating_sub(NAMED);
    let mut names: Vec<String> = keys.into_iter().take(NAMED).map(|(_, name)| name).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    (!names.is_empty()).then(|| format!("keys that are not read: {}", names.join(", ")))
}

fn collect_unread(value: &Value, path: &str, known: &[&str], unread: &mut BTreeMap<String, String>) {
    match value {
        Value::Array(list) => {
            let mut below = format!("{path}[]");
            // A tree has nodes of one form.
            if let Some(inner) = below.strip_suffix("sub_tasks[].sub_tasks[]") {
                below = format!("{inner}sub_tasks[]");
            }
            for value in list {
                collect_unread(value, &below, known, unread);
            }
        }
        Value::Object(table) => {
            for (key, value) in table {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let is_within = |known: &&&str| {
                    known
                        .strip_prefix(below.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
                };
                let within: Vec<&&str> = known.iter().filter(is_within).collect();
                if within.is_empty() {
                    unread.entry(below).or_insert_with(|| key.clone());
                } else if !within.iter().any(|known| known.strip_prefix(below.as_str()) == Some(".*")) {
                    collect_unread(value, &below, known, unread);
                }
            }
        }
        _ => {}
    }
}

/// The reference that a text, or a line of it, is: `file://…`, `@file`, the name of a file, or a template's placeholder
/// alone. Such a value stands for another text.
pub(crate) fn reference_in(text: &str) -> Option<&str> {
    let is_whole = text.trim().lines().count() == 1;
    text.lines().map(str::trim).find(|line| {
        let is_word = !line.is_empty() && !line.contains(char::is_whitespace);
        let is_file = line.starts_with("file://")
            || line.starts_with('@') && line.len() > 1 && line.contains(['.', '/'])
            || is_whole && ENDINGS.iter().any(|end| line.len() > end.len() && line.ends_with(end));
        let is_placeholder = [("{{", "}}"), ("{%", "%}"), ("${", "}")].iter().any(|(open, close)| {
            let inner = line.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
            is_whole && inner.is_some_and(|inner| !inner.contains(close))
        });
        is_word && is_file || is_placeholder
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_lines() {
        let check = |text: &str, key: &str, expected: Option<usize>| {
            assert_eq!(line_of_key(text, key), expected, "{key} in {text}");
        };
        check("{\n \"a\": 1,\n \"bad\": 2}", "bad", Some(3));
        check("a: bad\nx: {bad: 1}\n", "bad", Some(2));
        check("- bad: 1\n", "bad", Some(1));
        check("[judge]\nbad = 1", "bad", Some(2));
        check("[[bad]]\n", "bad", None);
        check("badder: 1", "bad", None);
        assert_eq!(line_of("a\n- first \\\"x\\\"\n", "first \"x\""), Some(2));
        assert_eq!(line_of("a\nb\n  c", "\n b\nc"), Some(2));
    }

    #[test]
    fn unknown_keys_are_named_once() {
        let text = "{\n\"a\": {\"x\": 1, \"y\": 2},\n\"list\": [{\"n\": 1, \"m\": 1},\n{\"n\": 1, \"m\": 2}],\n\"any\": {\"z\": 1}}";
        let document: Value = serde_json::from_str(text).unwrap();
        let note = unread_note(text, &document, &["a.x", "list[].n", "any.*"]);
        assert_eq!(note.as_deref(), Some("keys that are not read: `y` (line 2), `m` (line 3)"));
        assert_eq!(
            unread_note(text, &document, &["a", "a.x", "a.y", "list[].n", "list[].m", "any"]),
            Some("keys that are not read: `z` (line 5)".to_owned())
        );
    }

    #[test]
    fn references_are_values_that_stand_for_others() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(reference_in(text), expected, "{text}");
        check("file://rubrics/tone.txt", Some("file://rubrics/tone.txt"));
        check(" @rubrics/tone.txt ", Some("@rubrics/tone.txt"));
        check("rubrics/tone.yaml", Some("rubrics/tone.yaml"));
        check("{{ rubric }}", Some("{{ rubric }}"));
        check("${RUBRIC}", Some("${RUBRIC}"));
        check("Judge this:\nfile://rubrics/tone.txt", Some("file://rubrics/tone.txt"));
        check("It uses `{{#each}}` blocks and {{ name }} is set", None);
        check("Writes report.md", None);
        check("@someone reviewed it", None);
        check("{{a}} and {{b}}", None);
        check("See:\nreport.md", None);
    }
}
