//! Values of tables.

use assay_table::Value;

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
