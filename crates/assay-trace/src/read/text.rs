//! What several formats share: texts in parts, and arguments.

use serde_json::{Map, Value, json};

use crate::{ObservationResult, ToolCall};

/// Adds a part to a text.
pub(super) fn join(text: &mut String, part: &str) {
    if !text.is_empty() && !part.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
}

/// The text of a content: a string, or parts with text among them.
pub(super) fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().map(part_text).collect::<Vec<_>>().join("\n")),
        _ => None,
    }
}

/// A part's text, or a description of what it is instead.
pub(super) fn part_text(part: &Value) -> String {
    let word = |key: &str| part.get(key).and_then(Value::as_str);
    match (part, word("text")) {
        (Value::String(text), _) => text.clone(),
        (_, Some(text)) => text.to_owned(),
        (_, None) => format!("[{}]", word("type").unwrap_or("part")),
    }
}

/// Arguments as the format allows them: objects only.
pub(super) fn object(arguments: Value) -> Value {
    match arguments {
        Value::Object(_) => arguments,
        Value::Null => Value::Object(Map::new()),
        other => json!({ "input": other }),
    }
}

/// Arguments that the log has as the text the model wrote.
pub(super) fn parsed(arguments: &Value) -> Value {
    let text = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    object(text.unwrap_or_else(|| arguments.clone()))
}

/// A call in the shape of chat completions. Its name and arguments are under `function` or in the
/// call itself, where `function` may be the name, as in Inspect's logs, and LangChain's arguments are
/// `args`; `id` replaces a missing id.
pub(super) fn function_call(call: &Value, id: &str) -> ToolCall {
    let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = word(function, "name").or(word(call, "function")).unwrap_or_default();
    let arguments = ["arguments", "input", "args"].into_iter().find_map(|key| function.get(key));
    let mut made =
        ToolCall::new(word(call, "id").unwrap_or(id), name, parsed(arguments.unwrap_or(&Value::Null)));
    // What the model wrote was no JSON.
    if let Some(error) = word(call, "parse_error") {
        made.extra.insert("parse_error".to_owned(), error.into());
    }
    made
}

/// A call of the shell, for formats with commands and no calls.
pub(super) fn shell_call(id: &str, command: &str) -> ToolCall {
    ToolCall::new(id, "bash", json!({ "command": command }))
}

/// Records with a result whether the call failed, if its log says so.
pub(super) fn mark_error(result: &mut ObservationResult, flag: Option<&Value>) {
    if let Some(flag) = flag.filter(|flag| flag.is_boolean()) {
        result.extra.insert("is_error".to_owned(), flag.clone());
    }
}

/// The string of a member.
pub(super) fn word<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// The list of a member; empty if missing.
pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The count of a member; 0 if missing.
pub(super) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}
