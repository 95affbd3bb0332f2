//! Words and numbers for people.

use std::borrow::Cow;

pub(crate) use assay_diagnostic::clean_code;
pub use assay_diagnostic::{clean, counted};

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A difference of two shares in percentage points, with its sign and without its unit.
pub fn points(difference: f64) -> String {
    let points = (100.0 * difference).round();
    // No "-0".
    let points = if points == 0.0 { 0.0 } else { points };
    format!("{points:+.0}").replace('-', "−")
}

/// A difference of two shares with its unit.
pub fn pp(difference: f64) -> String {
    format!("{} pp", points(difference))
}

/// The level of an interval, as `95%` or `98.3%`.
pub(crate) fn level(level: f64) -> String {
    let text = format!("{:.1}", 100.0 * level);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// An interval of shares.
pub(crate) fn percents(interval: Option<[f64; 2]>) -> String {
    interval
        .map_or_else(|| "–".to_owned(), |[low, high]| format!("{:.0} to {:.0}%", 100.0 * low, 100.0 * high))
}

/// An interval of differences in percentage points, without its unit.
pub(crate) fn points_between(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(|| "–".to_owned(), |[low, high]| format!("{} to {}", points(low), points(high)))
}

/// A p-value.
pub(crate) fn p_value(p: Option<f64>) -> String {
    match p {
        None => "–".to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

/// A count with commas between its thousands.
pub(crate) fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Money.
pub fn usd(usd: f64) -> String {
    format!("${usd:.4}")
}

/// A length of time.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A word of a POSIX shell: quoted unless it is plain.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| {
        c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '=' | ':' | ',' | '@' | '%')
    };
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How a command in a message begins.
const COMMAND: &str = "`assay";

/// A message whose commands, in backticks, name a store, which is a word of a shell. Those that name one keep it.
pub fn with_store<'a>(text: &'a str, store: Option<&str>) -> Cow<'a, str> {
    let Some(store) = store.filter(|_| text.contains(COMMAND)) else { return Cow::Borrowed(text) };
    let mut parts = text.split(COMMAND);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(COMMAND);
        // A line may end here.
        if part.starts_with([' ', '\n']) && !part.trim_start().starts_with("--store") {
            out.push_str(&format!(" --store {store}"));
        }
        out.push_str(part);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must_be() {
        for (word, expected) in [
            ("a/experiment.toml", "a/experiment.toml"),
            ("my suite/e.toml", "'my suite/e.toml'"),
            ("it's", r"'it'\''s'"),
            ("$HOME/x", "'$HOME/x'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), expected);
        }
    }

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(points(0.354), "+35");
        assert_eq!(points(-0.354), "−35");
        assert_eq!(points(-0.001), "+0");
        assert_eq!(pp(0.354), "+35 pp");
        assert_eq!(level(0.95), "95%");
        assert_eq!(level(1.0 - 0.05 / 3.0), "98.3%");
        assert_eq!(p_value(Some(0.0312)), "0.031");
        assert_eq!(p_value(Some(1.0)), "1.000");
        assert_eq!(p_value(Some(0.000_9)), "<0.001");
        assert_eq!(count(1_234_567.4), "1,234,567");
        assert_eq!(count(12.0), "12");
        assert_eq!(seconds(0.44), "0.4 s");
        assert_eq!(seconds(600.0), "10 min");
    }

    #[test]
    fn hostile_names_are_escaped() {
        assert_eq!(clean("a\u{1b}[31mb\nc"), "a\u{fffd}[31mb\u{fffd}c");
        assert_eq!(clean("safe\u{202e}txt"), "safe\u{fffd}txt");
        assert_eq!(clean("one\u{2028}two\u{61c}"), "one\u{fffd}two\u{fffd}");
        assert_eq!(clean("Übung – 技能"), "Übung – 技能");
    }
}
