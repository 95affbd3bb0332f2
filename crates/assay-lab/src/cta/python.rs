//! Text as CPython sees it.
//!
//! The released auditor is Python, and its results hang on what Python takes for a word, a blank or
//! a lower-case letter. None of these classes is one of Rust's: `\w` has no combining marks but has
//! `²`, and the separators U+001C to U+001F are blanks. (Python library reference: `str.isalnum`,
//! `str.isspace`, `re`, `repr`.)

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};
use serde_json::Value;

/// Whether `\s` matches, and `str.strip` removes, a character.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{1c}'..='\u{20}' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Whether `\w` matches a character: letters and numbers of every script, and the underscore.
pub(super) fn is_word(c: char) -> bool {
    static WORD: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(r"[\p{L}\p{N}_]"));
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { WORD.contains(c) }
}

/// Whether `\d` matches a character.
pub(super) fn is_digit(c: char) -> bool {
    static DIGIT: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(r"\p{Nd}"));
    if c.is_ascii() { c.is_ascii_digit() } else { DIGIT.contains(c) }
}

/// `str.isprintable` of a character, as `repr` asks it.
fn is_printable(c: char) -> bool {
    static HIDDEN: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(r"[\p{C}\p{Z}]"));
    if c.is_ascii() { !c.is_ascii_control() } else { !HIDDEN.contains(c) }
}

/// Ascending ranges of characters.
struct Ranges(Vec<(char, char)>);

impl Ranges {
    /// The characters of a class of Unicode categories.
    fn of(class: &str) -> Self {
        let hir = regex_syntax::parse(class).expect("the classes here are spelled well");
        match hir.kind() {
            HirKind::Class(Class::Unicode(class)) => {
                Self(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            // A class of one byte or one character only; none of those here is.
            _ => Self(Vec::new()),
        }
    }

    fn contains(&self, c: char) -> bool {
        let after = self.0.partition_point(|&(start, _)| start <= c);
        after > 0 && c <= self.0[after - 1].1
    }
}

/// `str.strip()`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.lower()`. Both follow the Unicode default with its rule for a final sigma.
pub(super) fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// The first `n` code points.
pub(super) fn head(text: &str, n: usize) -> &str {
    // No text has more code points than bytes.
    if text.len() <= n {
        return text;
    }
    text.char_indices().nth(n).map_or(text, |(at, _)| &text[..at])
}

/// Whether `\b` matches before position `at`.
pub(super) fn boundary(text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).is_some_and(|i| is_word(text[i]));
    before != text.get(at).is_some_and(|&c| is_word(c))
}

/// Text with the line breaks that Python's text mode makes of it: `\r\n` and `\r` become `\n`.
pub(super) fn universal_newlines(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

/// `str(value)` of what `json.loads` made of a JSON value.
pub(super) fn str_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// `repr(value)` of what `json.loads` made of a JSON value.
fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => repr_float(float),
            _ => number.to_string(),
        },
        Value::String(text) => repr_text(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(repr).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", repr_text(key), repr(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// The shortest digits that read back, as Python writes them: with an exponent from 1e16 and below
/// 1e-4.
fn repr_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = match exponent.strip_prefix('-') {
            Some(power) => ('-', power),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{power:0>2}");
    }
    format!("{float:?}")
}

fn repr_text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                out.push_str(&match code {
                    0..=0xff => format!("\\x{code:02x}"),
                    0x100..=0xffff => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_pythons() {
        // By CPython 3.11: "x".isalnum(), "x".isspace() of each.
        for (c, word, space) in [
            ('a', true, false),
            ('_', true, false),
            ('é', true, false),
            ('²', true, false),
            ('Ⅷ', true, false),
            ('漢', true, false),
            ('\u{301}', false, false),
            ('\u{fe0f}', false, false),
            ('‿', false, false),
            ('-', false, false),
            ('→', false, false),
            ('\u{1c}', false, true),
            ('\u{85}', false, true),
            ('\u{200b}', false, false),
            ('\u{3000}', false, true),
        ] {
            assert_eq!((is_word(c), is_space(c)), (word, space), "{c:?}");
        }
        assert!(is_digit('٣') && is_digit('7') && !is_digit('²'));
    }

    #[test]
    fn values_are_written_as_python_writes_them() {
        // By CPython 3.11: str(json.loads(text)).
        let check = |json: &str, expected: &str| {
            assert_eq!(str_of(&serde_json::from_str(json).expect("JSON")), expected, "{json}");
        };
        check("null", "None");
        check("\"it's\"", "it's");
        check(r#"{"a": [true, false, null], "b": {}}"#, "{'a': [True, False, None], 'b': {}}");
        check(r#"["it's", "\"", "\"'", "\\"]"#, r#"["it's", '"', '"\'', '\\']"#);
        check(r#"["\n\t\r\u0001\u00e9\u200b\ud83d\ude00\u00a0"]"#, r"['\n\t\r\x01é\u200b😀\xa0']");
        check("[1, -3, 12345678901234567890]", "[1, -3, 12345678901234567890]");
        check(
            "[1.0, 0.1, 1e16, 1.5e-7, 1e22, -0.0, 0.0001, 123456789012345680.0]",
            "[1.0, 0.1, 1e+16, 1.5e-07, 1e+22, -0.0, 0.0001, 1.2345678901234568e+17]",
        );
    }

    #[test]
    fn cuts_count_code_points() {
        assert_eq!(head("aé漢😀b", 4), "aé漢😀");
        assert_eq!(head("ab", 2), "ab");
        assert_eq!(head("", 3), "");
        assert_eq!(strip("\u{1c} \u{3000}a b\u{85}\n"), "a b");
        assert_eq!(universal_newlines("a\r\nb\rc\n"), "a\nb\nc\n");
    }
}
