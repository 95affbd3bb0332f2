//! From the text of a `metadata.json` to a [`TaskConfig`].

use std::path::Path;

use assay_diagnostic::escape;
use assay_skill::{Diagnostic, Severity};
use serde_json::{Map, Value};

use super::{EnvironmentConfig, NetworkWish, TaskConfig};
use crate::TaskError;

/// The keys that are known.
const KEYS: [&str; 9] = [
    "id",
    "slug",
    "target_skill",
    "irrelevant_skill",
    "related_skill",
    "unrelated_skill",
    "category",
    "difficulty",
    "notes",
];

/// The content of `metadata.json`.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// The defaults, without network, and the file as `[metadata]`.
    pub(crate) config: TaskConfig,
    /// `target_skill`; empty for a negative control.
    pub(crate) target: Vec<String>,
    /// Whether `target_skill` is `"none"`.
    pub(crate) negative_control: bool,
    pub(crate) irrelevant: Option<String>,
    pub(crate) related: Option<String>,
    pub(crate) unrelated: Option<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads the text of a `metadata.json`. `file` is only named.
pub(crate) fn metadata(text: &str, file: &Path) -> Result<Metadata, TaskError> {
    let map = object(text, file)?;
    let mut reader = Reader { file, map: &map, diagnostics: Vec::new() };
    let target = reader.names("target_skill");
    if target.is_none() {
        reader.note(
            Severity::Warning,
            "target-skill",
            "no `target_skill`: the skill that belongs to the task is unknown",
            "set it, or set \"none\" if no skill should help",
        );
    }
    let irrelevant = reader.name("irrelevant_skill");
    let related = reader.name("related_skill");
    let unrelated = reader.name("unrelated_skill");
    let name = reader.text("slug");
    for key in ["id", "category", "difficulty", "notes"] {
        reader.text(key);
    }
    let mut unknown: Vec<String> = map.keys().filter(|key| !KEYS.contains(&key.as_str())).cloned().collect();
    unknown.sort();
    for key in &unknown {
        let message = format!("`{}` is not a key of the format: it has no effect", escape(key));
        reader.note(Severity::Info, "unknown-key", &message, "check the spelling");
    }
    let table: toml::Table =
        map.iter().filter_map(|(key, value)| Some((key.clone(), toml(value)?))).collect();
    let config = TaskConfig {
        name,
        environment: EnvironmentConfig { network: NetworkWish::None, ..EnvironmentConfig::default() },
        metadata: table.clone(),
        unknown,
        raw: table,
        ..TaskConfig::default()
    };
    Ok(Metadata {
        config,
        negative_control: target.as_ref().is_some_and(Vec::is_empty),
        target: target.unwrap_or_default(),
        irrelevant,
        related,
        unrelated,
        diagnostics: reader.diagnostics,
    })
}

/// The object that a JSON text is.
pub(crate) fn object(text: &str, file: &Path) -> Result<Map<String, Value>, TaskError> {
    let error = |line: usize, column: usize, message: &str, hint: &str| TaskError::Line {
        path: file.to_path_buf(),
        line: line.max(1),
        column: column.max(1),
        message: message.to_owned(),
        hint: hint.to_owned(),
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(error(1, 1, "not a JSON object", "write `{` first and `}` last")),
        Err(broken) => {
            let told = broken.to_string();
            let message = told.split(" at line ").next().unwrap_or("not valid JSON");
            let hint = "the file is not valid JSON: fix the line";
            Err(error(broken.line(), broken.column(), message, hint))
        }
    }
}

struct Reader<'a> {
    file: &'a Path,
    map: &'a Map<String, Value>,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn note(&mut self, severity: Severity, code: &'static str, message: &str, hint: &str) {
        self.diagnostics.push(Diagnostic::new(severity, code, self.file, message).hint(hint));
    }

    fn report_wrong_type(&mut self, key: &str) {
        let message = format!("`{key}` is not a string and is ignored");
        self.note(Severity::Warning, "metadata-type", &message, "write a string");
    }

    /// A text, or a number read as one.
    fn text(&mut self, key: &str) -> Option<String> {
        match self.map.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(_) => {
                self.report_wrong_type(key);
                None
            }
        }
    }

    /// The name of one skill.
    fn name(&mut self, key: &str) -> Option<String> {
        self.names(key)?.into_iter().next()
    }

    /// The names of skills, one or a list of them; empty for `"none"`.
    fn names(&mut self, key: &str) -> Option<Vec<String>> {
        let named = |text: &String| {
            let text = text.trim();
            (!text.is_empty() && !text.eq_ignore_ascii_case("none")).then(|| text.to_owned())
        };
        match self.map.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.trim().is_empty() => None,
            Some(Value::String(text)) => Some(named(text).into_iter().collect()),
            Some(Value::Array(items)) => {
                let texts: Option<Vec<&String>> = items
                    .iter()
                    .map(|item| if let Value::String(text) = item { Some(text) } else { None })
                    .collect();
                if texts.is_none() {
                    self.report_wrong_type(key);
                }
                Some(texts?.into_iter().filter_map(named).collect())
            }
            Some(_) => {
                self.report_wrong_type(key);
                None
            }
        }
    }
}

/// The same value in TOML, which has no null.
fn toml(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => toml::Value::Boolean(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => toml::Value::Integer(whole),
            None => toml::Value::Float(number.as_f64()?),
        },
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Array(items) => toml::Value::Array(items.iter().filter_map(toml).collect()),
        Value::Object(map) => toml::Value::Table(
            map.iter().filter_map(|(key, value)| Some((key.clone(), toml(value)?))).collect(),
        ),
    })
}
