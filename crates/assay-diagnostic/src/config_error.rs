//! Errors of configuration files, as the people who write these files read them.

use std::ops::Range;

use crate::nearest::nearest;

/// Lines of a file that are longer are not shown.
const LONGEST_LINE: usize = 120;

/// An error in a configuration file: where it is and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong and how to fix it.
    pub message: String,
    /// The line, and a line with carets below what is wrong; empty if the line is very long.
    pub excerpt: Vec<String>,
}

impl ConfigError {
    /// An error at a place in bytes of a text. A place beyond the end is the end.
    pub fn at(source: &str, place: Range<usize>, message: impl Into<String>) -> Self {
        let start = floor_boundary(source, place.start);
        let end = floor_boundary(source, place.end.max(start));
        let begin = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &source[begin..];
        let text = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let before = source[begin..start].chars().count();
        let line = source[..begin].matches('\n').count() + 1;
        let number = line.to_string();
        let marked = source[start..end].split('\n').next().unwrap_or_default().trim_end().chars().count();
        let fits = text.chars().count() <= LONGEST_LINE;
        let excerpt = fits.then(|| {
            // Tabs keep the caret below its text.
            let gap: String = text.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let gutter = " ".repeat(number.len());
            [format!("{number} | {text}"), format!("{gutter} | {gap}{}", "^".repeat(marked.max(1)))]
        });
        Self {
            line,
            column: before + 1,
            message: message.into(),
            excerpt: excerpt.map_or_else(Vec::new, Vec::from),
        }
    }

    /// An error of a deserializer: its message in other words, with a suggestion for an unknown key.
    pub fn of_serde(source: &str, place: Option<Range<usize>>, message: &str) -> Self {
        Self::at(source, place.unwrap_or(0..0), reword_serde(message))
    }
}

/// The message of a serde deserializer in words for people who write configuration: with a
/// suggestion for a misspelled key or word, and names of types that are not those of Rust.
///
/// A message of another form is returned as it is, on one line.
pub fn reword_serde(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    reword(&message).unwrap_or(message)
}

fn reword(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (key, known) = parts(rest)?;
        let help = did_you_mean(&nearest(&key, known.iter().map(String::as_str)))
            .unwrap_or_else(|| format!("known keys are {}", known.join(", ")));
        return Some(format!("unknown key `{key}`: {help}"));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (word, known) = parts(rest)?;
        let near = nearest(&word, known.iter().map(String::as_str));
        let help = did_you_mean(&near).unwrap_or_else(|| format!("expected one of {}", known.join(", ")));
        return Some(format!("unknown value `{word}`: {help}"));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return Some(format!("missing key {rest}"));
    }
    let (kind, rest) = ["invalid type: ", "invalid value: "]
        .into_iter()
        .find_map(|kind| Some((kind, message.strip_prefix(kind)?)))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    // A value of the right type is out of range.
    let range = if kind == "invalid value: " && is_unsigned(expected) { " of at least 0" } else { "" };
    Some(format!("expected {}{range}, found {}", kind_of(expected), with_article(found)))
}

/// The name in the first pair of backticks, and those in the others.
fn parts(text: &str) -> Option<(String, Vec<String>)> {
    let mut quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    Some((quoted.next()?, quoted.collect()))
}

/// `did you mean A, B or C?`, if there are suggestions.
pub fn did_you_mean(near: &[String]) -> Option<String> {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let (last, first) = quoted.split_last()?;
    Some(if first.is_empty() {
        format!("did you mean {last}?")
    } else {
        format!("did you mean {} or {last}?", first.join(", "))
    })
}

fn is_unsigned(expected: &str) -> bool {
    matches!(expected, "u8" | "u16" | "u32" | "u64" | "u128" | "usize")
}

/// The kind of value that a Rust type stands for.
fn kind_of(expected: &str) -> String {
    match expected {
        "f32" | "f64" => "a number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            "a whole number".to_owned()
        }
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other if other.starts_with("path string") => "a string".to_owned(),
        other => other.to_owned(),
    }
}

fn with_article(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => match other.split_once(' ') {
            Some(("string", value)) => format!("the string {value}"),
            Some(("integer" | "floating", _)) => {
                format!("the number {}", other.rsplit(' ').next().unwrap_or_default().trim_matches('`'))
            }
            Some(("boolean", value)) => value.trim_matches('`').to_owned(),
            _ => other.to_owned(),
        },
    }
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_serde_are_reworded() {
        for (message, expected) in [
            (
                "unknown field `repetition`, expected one of `schema`, `repetitions`, `seed`",
                "unknown key `repetition`: did you mean `repetitions`?",
            ),
            (
                "unknown field `zzzzzz`, expected `schema` or `seed`",
                "unknown key `zzzzzz`: known keys are schema, seed",
            ),
            (
                "unknown variant `fial`, expected `warn` or `fail`",
                "unknown value `fial`: did you mean `fail`?",
            ),
            ("missing field `rules`", "missing key `rules`"),
            ("invalid type: string \"x\", expected f64", "expected a number, found the string \"x\""),
            ("invalid type: integer `3`, expected a sequence", "expected a list, found the number 3"),
            (
                "invalid type: floating point `0.5`, expected u32",
                "expected a whole number, found the number 0.5",
            ),
            (
                "invalid value: integer `-5`, expected u32",
                "expected a whole number of at least 0, found the number -5",
            ),
            ("invalid type: boolean `true`, expected a string", "expected a string, found true"),
            ("invalid type: sequence, expected struct SandboxTable", "expected a table, found a list"),
            ("duplicate key", "duplicate key"),
            ("one\ntwo", "one, two"),
        ] {
            assert_eq!(reword_serde(message), expected, "{message}");
        }
    }

    #[test]
    fn the_excerpt_points_at_the_place() {
        let text = "a = 1\n\tbéta = 2 # two\nc = 3\n";
        let start = text.find("béta").unwrap_or_default();
        let error = ConfigError::at(text, start..start + "béta".len(), "no");
        assert_eq!((error.line, error.column), (2, 2));
        assert_eq!(error.excerpt, ["2 | \tbéta = 2 # two", "  | \t^^^^"]);
        let end = ConfigError::at(text, 999..1000, "no");
        assert_eq!((end.line, end.column), (4, 1));
        let inside = ConfigError::at("é", 1..2, "no");
        assert_eq!((inside.line, inside.column), (1, 1));
        let long = ConfigError::at(&"x".repeat(500), 3..4, "no");
        assert!(long.excerpt.is_empty());
    }
}
