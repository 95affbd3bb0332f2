//! Stand-ins for MCP servers, and what they answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::pattern::JsPattern;
use super::stringify::compact_json;

/// A server of which tools are answered from files.
#[derive(Debug, Clone, PartialEq)]
pub struct MockedServer {
    /// Its name in the plugin's configuration.
    pub name: String,
    /// Its name as agents see it, `plugin_PLUGIN_NAME`.
    pub public_name: String,
    /// Its tools, by name.
    pub tools: Vec<MockedTool>,
    /// Texts that answers insert, by their path.
    pub fixtures: BTreeMap<String, String>,
}

/// A tool that is answered from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct MockedTool {
    /// Its name.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// What the model is told of it; empty if the suite has no `_tools.json`.
    pub description: String,
    /// The JSON schema of its input.
    pub input_schema: Value,
    /// What the input has to be.
    pub expect: Vec<Guard>,
    /// The result.
    pub answer: MockAnswer,
}

/// A condition on an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// The place in the input, in dots.
    pub path: String,
    /// What has to be there.
    pub expected: Expected,
}

/// What has to be at a place of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// A value of this type: `string`, `number`, `boolean`, `array`, `object`.
    Type(String),
    /// A text with a match of a pattern.
    Pattern(JsPattern),
    /// One of these values.
    OneOf(Vec<Value>),
}

/// The result of a mocked tool.
#[derive(Debug, Clone, PartialEq)]
pub enum MockAnswer {
    /// A text, in which `{{input.FIELD}}` and `{{file:fixtures/NAME}}` are replaced.
    Fixed {
        /// The text.
        text: String,
        /// Whether it is an error of the tool.
        error: bool,
    },
    /// What a model answered to some inputs, as it was recorded.
    Recorded(Vec<Recording>),
}

/// A recorded answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The input.
    pub input: Value,
    /// The result.
    pub text: String,
    /// Whether it is an error of the tool.
    pub error: bool,
}

/// What a mock does at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MockReply {
    /// It answers.
    Text {
        /// The result.
        text: String,
        /// Whether it is an error of the tool.
        error: bool,
    },
    /// The call violates a guard, which ends a run with the score 0. Why.
    Abort(String),
    /// There is no answer to this input. Why.
    Unknown(String),
}

/// A file that an answer inserts is not there.
struct MissingFixture(String);

impl MockedServer {
    /// Whether it is one of the plugin's servers, which an arm without the plugin does not have.
    pub fn is_of_plugin(&self) -> bool {
        self.public_name != self.name
    }

    /// A tool's name as agents see it.
    pub fn public_tool(&self, tool: &MockedTool) -> String {
        format!("mcp__{}__{}", self.public_name, tool.name)
    }

    /// What a tool answers to an input.
    pub fn answer(&self, tool: &MockedTool, input: &Value) -> MockReply {
        for guard in &tool.expect {
            if let Some(why) = guard.fault(input) {
                return MockReply::Abort(why);
            }
        }
        match &tool.answer {
            MockAnswer::Fixed { text, error } => match self.fill(text, input) {
                Ok(text) => MockReply::Text { text, error: *error },
                Err(MissingFixture(path)) => MockReply::Unknown(format!("{}: no file {path}", tool.name)),
            },
            MockAnswer::Recorded(recordings) => {
                let found = recordings.iter().find(|recording| recording.input == *input);
                found.map_or_else(
                    || {
                        let input = assay_diagnostic::clean_start(&compact_json(input), 200);
                        MockReply::Unknown(format!("{}: no recorded answer for {input}", tool.name))
                    },
                    |found| MockReply::Text { text: found.text.clone(), error: found.error },
                )
            }
        }
    }

    /// Replaces what is in double braces.
    fn fill(&self, text: &str, input: &Value) -> Result<String, MissingFixture> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let Some((inner, next)) = braced(after) else {
                filled.push_str("{{");
                rest = after;
                continue;
            };
            if let Some(field) = inner.strip_prefix("input.") {
                filled.push_str(&shown(at(input, field)));
            } else if let Some(path) = inner.strip_prefix("file:") {
                let path = inserted(path, input);
                filled.push_str(self.fixtures.get(&path).ok_or(MissingFixture(path))?);
            } else {
                filled.push_str(&format!("{{{{{inner}}}}}"));
            }
            rest = next;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The text up to `}}`, in which `{…}` may be, and what follows.
fn braced(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' if text[at..].starts_with("}}") => return Some((&text[..at], &text[at + 2..])),
            _ => {}
        }
    }
    None
}

/// A path with `{input.FIELD}` replaced.
fn inserted(path: &str, input: &Value) -> String {
    let mut filled = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("{input.") {
        filled.push_str(before);
        let Some((field, next)) = after.split_once('}') else {
            filled.push_str("{input.");
            rest = after;
            continue;
        };
        filled.push_str(&shown(at(input, field)));
        rest = next;
    }
    filled.push_str(rest);
    filled
}

/// The value at a place in dots.
fn at<'v>(input: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(input, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

/// A text as it is, anything else as JSON, and nothing for what is not there.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => compact_json(other),
    }
}

impl Guard {
    /// Why an input violates it.
    fn fault(&self, input: &Value) -> Option<String> {
        let found = at(input, &self.path);
        let wanted = match &self.expected {
            Expected::Type(name) if found.is_some_and(|value| is_of_type(value, name)) => return None,
            Expected::Type(name) => format!("of the type {name}"),
            Expected::Pattern(pattern) => {
                let text = found.and_then(plain_text);
                match text.map(|text| pattern.find(&text)) {
                    Some(Ok(Some(_))) => return None,
                    Some(Err(error)) => return Some(format!("{}: {error}", self.path)),
                    _ => format!("a text that matches /{}/", pattern.source()),
                }
            }
            // Numbers and truth values are compared by their texts.
            Expected::OneOf(values)
                if found.and_then(plain_text).is_some_and(|found| {
                    values.iter().any(|value| plain_text(value).as_ref() == Some(&found))
                }) =>
            {
                return None;
            }
            Expected::OneOf(values) => values.iter().map(compact_json).collect::<Vec<_>>().join(" or "),
        };
        let value = found.map_or_else(|| "nothing".to_owned(), compact_json);
        Some(format!("{} is {value}, and must be {wanted}", self.path))
    }
}

/// A text, a number or a truth value as text.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(compact_json(value)),
        _ => None,
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" | "bool" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
