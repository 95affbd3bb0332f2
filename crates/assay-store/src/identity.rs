//! A trial's identity: the hash of everything that can change its outcome, and nothing else.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Hexadecimal digits of an id.
const DIGITS: usize = 64;

/// BLAKE3 of the canonical JSON of a trial's specification, as 64 hexadecimal digits. They are kept
/// without an allocation, because plans have up to a million of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrialId([u8; DIGITS]);

impl TrialId {
    /// The identity of a specification.
    pub fn of(specification: &Value) -> Self {
        let mut digits = [b'0'; DIGITS];
        digits.copy_from_slice(blake3::hash(canonical(specification).as_bytes()).to_hex().as_bytes());
        Self(digits)
    }

    /// The complete hash.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Enough of it for people.
    pub fn short(&self) -> &str {
        &self.as_str()[..12]
    }

    /// A number drawn from it, for seeding.
    pub fn seed(&self) -> u64 {
        u64::from_str_radix(&self.as_str()[..16], 16).unwrap_or_default()
    }
}

/// A text that is not 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a trial id")]
pub struct InvalidTrialId {
    /// As given by the caller.
    pub text: String,
}

impl fmt::Debug for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TrialId").field(&self.as_str()).finish()
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TrialId {
    type Err = InvalidTrialId;

    fn from_str(text: &str) -> Result<Self, InvalidTrialId> {
        match <[u8; DIGITS]>::try_from(text.as_bytes()) {
            Ok(digits) if digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) => {
                Ok(Self(digits))
            }
            _ => Err(InvalidTrialId { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for TrialId {
    type Error = InvalidTrialId;

    fn try_from(text: String) -> Result<Self, InvalidTrialId> {
        text.parse()
    }
}

impl From<TrialId> for String {
    fn from(id: TrialId) -> Self {
        id.as_str().to_owned()
    }
}

/// JSON with sorted keys and no spaces, so that equal values give equal bytes.
pub fn canonical(value: &Value) -> String {
    sorted(value).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            Value::Object(keys.into_iter().map(|key| (key.clone(), sorted(&map[key]))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn trial_id_ignores_only_key_order() {
        let one = TrialId::of(&json!({ "a": 1, "b": { "c": [1, 2], "d": null } }));
        assert_eq!(one, TrialId::of(&json!({ "b": { "d": null, "c": [1, 2] }, "a": 1 })));
        for other in [
            json!({ "a": 2, "b": { "c": [1, 2], "d": null } }),
            json!({ "a": 1, "b": { "c": [2, 1], "d": null } }),
            json!({ "a": 1, "b": { "c": [1, 2] } }),
            json!({ "a": "1", "b": { "c": [1, 2], "d": null } }),
        ] {
            assert_ne!(one, TrialId::of(&other));
        }
    }

    #[test]
    fn only_valid_ids_parse() {
        let id = TrialId::of(&Value::Null);
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for bad in ["", "abc", "../../etc/passwd", &"g".repeat(64), &"A".repeat(64)] {
            assert!(bad.parse::<TrialId>().is_err(), "{bad}");
        }
    }
}
