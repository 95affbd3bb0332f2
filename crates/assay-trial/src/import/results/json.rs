//! Fields of JSON documents whose writers are not trusted.

use serde_json::Value;

/// Longest name or reason that is kept, in characters.
const LONGEST: usize = 300;

/// Parses a document. Python writes `NaN` and `Infinity`, which JSON does not have: they are read as `null`.
pub(super) fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_python_numbers(text) {
        Some(text) => serde_json::from_str(&text).map_err(|_| error),
        None => Err(error),
    })
}

/// The text with `null` for Python's numbers that are none; `None` if it has no such number.
fn without_python_numbers(text: &str) -> Option<String> {
    let (mut replaced, mut found) = (String::with_capacity(text.len()), false);
    let (mut rest, mut quoted) = (text, false);
    while let Some(c) = rest.chars().next() {
        let word =
            ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| !quoted && rest.starts_with(word));
        let length = if let Some(word) = word {
            replaced.push_str("null");
            found = true;
            word.len()
        } else {
            // The character after a backslash ends no string.
            let escaped = quoted && c == '\\';
            quoted ^= c == '"';
            let next = rest[c.len_utf8()..].chars().next().filter(|_| escaped);
            let length = c.len_utf8() + next.map_or(0, char::len_utf8);
            replaced.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    found.then_some(replaced)
}

/// A text field that is not empty, cut to a length that can be shown.
pub(super) fn text_field(value: &Value, key: &str) -> Option<String> {
    shown(value.get(key)?.as_str()?)
}

/// A text that is not empty, cut to a length that can be shown.
pub(super) fn shown(text: &str) -> Option<String> {
    let text: String = text.trim().chars().take(LONGEST).collect();
    (!text.is_empty()).then_some(text)
}

/// A number, or a truth value as 0 or 1.
pub(super) fn score_of(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(passed) => Some(f64::from(u8::from(*passed))),
        value => value.as_f64(),
    }
}

/// A field that is a finite number, at least 0.
pub(super) fn amount(value: &Value, key: &str) -> Option<f64> {
    value.get(key)?.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

/// The entries of a field that is a list; none without it.
pub(super) fn entries<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// A name that is text or a number.
pub(super) fn name_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => shown(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A word of a shell command: quoted where it has to be.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_numbers_are_null_outside_of_strings() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                parse_json(text).ok(),
                expected.map(|text| serde_json::from_str(text).unwrap()),
                "{text}"
            );
        };
        check(r#"{"a": NaN, "b": [-Infinity, Infinity]}"#, Some(r#"{"a": null, "b": [null, null]}"#));
        check(r#"{"NaN": "a \" NaN", "b": NaN}"#, Some(r#"{"NaN": "a \" NaN", "b": null}"#));
        check(r#"{"a": 1}"#, Some(r#"{"a": 1}"#));
        check(r#"{"a": NaN"#, None);
        check(r#"{"a": Nano}"#, None);
        check("", None);
    }
}
