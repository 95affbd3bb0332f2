//! Labels of a task: what an analysis groups it by, and no trial can see.
//!
//! They are in `task.toml` or `metadata.json`, beside what changes trials. The digest of a task leaves them out,
//! so that labels can be added after its trials were executed.

use std::path::Path;

use assay_fs::tree::Tree;
use assay_skill::Digest;
use serde_json::{Map, Value};

/// The labels among the keys of `[metadata.assay]`. Other keys there change trials.
const OWN_LABELS: [&str; 4] = ["cluster", "negative_control", "few_tests", "many_tests"];

/// The labels among the keys of `metadata.json`; the others name skills.
const JSON_LABELS: [&str; 3] = ["category", "difficulty", "notes"];

/// A `task.toml` without labels: `[metadata]` is the author's, except for assay's own table in it. Its keys are
/// sorted, and comments are left out.
pub(super) fn toml_without_labels(raw: &toml::Table) -> Value {
    let mut content = Map::new();
    for (key, value) in raw.iter().filter(|(key, _)| *key != "metadata") {
        content.insert(key.clone(), json(value));
    }
    if let Some(own) = raw.get("metadata").and_then(|metadata| metadata.get("assay")) {
        let mut own = json(own);
        if let Some(own) = own.as_object_mut() {
            own.retain(|key, _| !OWN_LABELS.contains(&key.as_str()));
        }
        if own.as_object().is_none_or(|own| !own.is_empty()) {
            content.insert("metadata.assay".to_owned(), own);
        }
    }
    let mut content = Value::Object(content);
    content.sort_all_objects();
    content
}

/// A `metadata.json` without labels, with sorted keys. `None` if it is not an object.
pub(super) fn json_without_labels(text: &str) -> Option<Value> {
    let mut content: Value = serde_json::from_str(text).ok()?;
    content.as_object_mut()?.retain(|key, _| !JSON_LABELS.contains(&key.as_str()));
    content.sort_all_objects();
    Some(content)
}

/// A value of TOML as JSON. A number that JSON does not have is a text.
fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => serde_json::Number::from_f64(*number)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        toml::Value::Boolean(flag) => Value::Bool(*flag),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
    }
}

/// A folder in which the content of one file is another.
pub(super) fn replace_content(tree: &Tree, file: &str, content: &Value) -> Tree {
    let mut entries = tree.entries.clone();
    if let Some(entry) = entries.iter_mut().find(|entry| entry.path == Path::new(file)) {
        let text = content.to_string();
        entry.size = text.len() as u64;
        entry.digest = Digest::of(text.as_bytes());
    }
    Tree { entries, problems: Vec::new() }
}
