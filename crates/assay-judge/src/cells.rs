//! Values of tables, as text and JSON.

use assay_table::Value;
use serde_json::json;

/// The text of a value, unless it is empty.
pub(crate) fn cell_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.clone(),
    };
    (!text.trim().is_empty()).then_some(text)
}

/// A value as JSON.
fn cell_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => json!(null),
        Value::Bool(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Text(text) => json!(text),
    }
}

/// A row as an object.
pub(crate) fn row_json(columns: &[(String, Value)]) -> serde_json::Map<String, serde_json::Value> {
    columns.iter().map(|(name, value)| (name.clone(), cell_json(value))).collect()
}
