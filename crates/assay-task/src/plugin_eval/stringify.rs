//! JSON as JavaScript writes it.

use serde_json::Value;

/// A value as `JSON.stringify` writes it: without spaces, and numbers without a needless fraction.
pub fn compact_json(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64() {
            // Every integer below this is written without an exponent.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e21 => {
                format!("{}", float + 0.0)
            }
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(compact_json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                format!("{}:{}", Value::String(key.clone()), compact_json(value))
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}
