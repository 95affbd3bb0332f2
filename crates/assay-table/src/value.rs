//! Cells and columns.

/// The type of a column. Every column may contain [`Value::Null`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// A 64-bit integer.
    Integer,
    /// A 64-bit float.
    Float,
    /// UTF-8 text.
    Text,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Kind,
}

impl Column {
    /// A column by name and type.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Unknown or absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A 64-bit float.
    Float(f64),
    /// UTF-8 text.
    Text(String),
}

impl Value {
    /// As a number: integers and floats as they are, `true` as 1 and `false` as 0.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Bool(value) => Some(f64::from(u8::from(*value))),
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Null | Self::Text(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_booleans_convert_to_floats() {
        let check = |value: Value, expected: Option<f64>| assert_eq!(value.as_f64(), expected, "{value:?}");
        check(Value::Bool(true), Some(1.0));
        check(Value::Integer(-3), Some(-3.0));
        check(Value::Float(0.5), Some(0.5));
        check(Value::Text("1".into()), None);
        check(Value::Null, None);
    }
}
