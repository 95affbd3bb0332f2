//! Thresholds: a number near a word of its directive, in another unit too.

use super::run_evidence::{Channel, RunEvidence};

/// Words shorter than this have to be equal, and not only begin alike.
const STEM: usize = 4;

/// A number as a directive demands it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    /// As the skill has it.
    value: f64,
    /// The same in other units, where the directive names one.
    converted: Vec<f64>,
    unit: Option<Unit>,
    near: Vec<String>,
    /// A number that begins with a zero is a code, and has to be written so.
    code: Option<String>,
}

/// A dimension, and how many of its smallest unit one is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    dimension: Dimension,
    factor: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    /// In milliseconds.
    Time,
    /// In bytes.
    Size,
    /// In hundredths.
    Share,
}

/// Time units, in milliseconds.
const TIMES: [f64; 5] = [1.0, 1e3, 6e4, 3.6e6, 8.64e7];

/// Size units, in bytes: decimal and binary.
const SIZES: [f64; 7] = [1.0, 1e3, 1024.0, 1e6, 1_048_576.0, 1e9, 1_073_741_824.0];

impl Number {
    /// A number with the words near it; its unit is read from the directive's line.
    pub(super) fn new(value: &str, near: &[String], line: &str) -> Self {
        let number = value.parse().unwrap_or(f64::NAN);
        let unit = tokens(line).find(|token| equal(token.value, number)).and_then(|token| token.unit);
        let converted = unit.map_or_else(Vec::new, |unit| {
            let base = number * unit.factor;
            let factors: &[f64] = match unit.dimension {
                Dimension::Time => &TIMES,
                Dimension::Size => &SIZES,
                Dimension::Share => &[100.0],
            };
            // 5 % is 0.05; smaller units than the named one give whole numbers.
            let others = factors.iter().filter(|factor| !equal(**factor, unit.factor));
            let values = others.map(|factor| base / factor);
            let mut values: Vec<f64> = match unit.dimension {
                Dimension::Share => values.collect(),
                _ => values.filter(|value| *value > number && value.fract() == 0.0).collect(),
            };
            // Many write KB and mean 1,024 bytes.
            let binary = [(1e3, 1024.0), (1e6, 1_048_576.0), (1e9, 1_073_741_824.0)];
            let binary = binary.iter().find(|(decimal, _)| equal(*decimal, unit.factor));
            if let Some((_, factor)) = binary.filter(|_| unit.dimension == Dimension::Size) {
                values.push(number * factor);
            }
            values
        });
        let code =
            (value.len() > 1 && value.starts_with('0') && !value.contains('.')).then(|| value.to_owned());
        let near = near.iter().map(|word| word.to_lowercase()).collect();
        Self { value: number, converted, unit, near, code }
    }

    /// Whether a line has the number, and near it one of the words or its unit.
    pub(super) fn is_near(&self, line: &str) -> bool {
        self.find(line).is_some_and(|found| found || self.has_near(line))
    }

    /// Whether the line has the number: `Some(true)` with its unit.
    fn find(&self, line: &str) -> Option<bool> {
        let mut found = None;
        for token in tokens(line) {
            if equal(token.value, self.value) {
                if self.code.as_ref().is_some_and(|code| !line[..token.end].ends_with(code.as_str())) {
                    continue;
                }
                let with_unit = self.unit.is_some_and(|unit| {
                    token.unit.is_some_and(|other| other == unit)
                        || multiplied(&line[token.end..]).is_some_and(|by| is_factor(unit, by))
                });
                found = Some(found.unwrap_or_default() || with_unit);
            } else if self.converted.iter().any(|value| equal(token.value, *value)) {
                found.get_or_insert(false);
            }
        }
        found
    }

    fn has_near(&self, line: &str) -> bool {
        self.near.is_empty() || words(line).any(|word| self.near.iter().any(|near| alike(&word, near)))
    }
}

/// Whether a line of the material has a number where it decides what the directive says.
pub(super) fn has_number(number: &Number, material: &RunEvidence, at: usize) -> bool {
    let line = &material.lines[at];
    let Some(with_unit) = number.find(&line.text) else { return false };
    if with_unit || number.has_near(&line.text) {
        return true;
    }
    if line.channel == Channel::Ran {
        return false;
    }
    // A statement may be broken over lines, and a name may be given one line above.
    let beside = [at.checked_sub(1), Some(at + 1)];
    beside
        .into_iter()
        .flatten()
        .filter_map(|at| material.lines.get(at))
        .any(|other| other.block == line.block && other.file == line.file && number.has_near(&other.text))
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Token {
    value: f64,
    /// Where it ends in the line.
    end: usize,
    /// The unit after or before it.
    unit: Option<Unit>,
}

/// The numbers of a line that stand alone: no part of a name, a version, an address or a date.
fn tokens(line: &str) -> impl Iterator<Item = Token> + '_ {
    let bytes = line.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !bytes[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let start = at;
            let mut points = 0;
            while at < bytes.len() {
                let next_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
                match bytes[at] {
                    c if c.is_ascii_digit() => {}
                    b'_' if next_digit => {}
                    b',' if next_digit && groups(&bytes[at + 1..]) && at - start <= 3 => {}
                    b'.' if next_digit => points += 1,
                    _ => break,
                }
                at += 1;
            }
            let before = line[..start].chars().next_back();
            let mut prior = line[..start].chars().rev();
            prior.next();
            let joined = before.is_some_and(|c| {
                c.is_alphabetic()
                    || c == '_'
                    || ((c == '-' || c == ':' || c == '/') && prior.next().is_some_and(char::is_alphanumeric))
            });
            let text: String = line[start..at].chars().filter(|c| !matches!(c, '_' | ',')).collect();
            let (unit, end) = unit_after(line, at);
            let glued =
                line[at..].chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') && unit.is_none();
            let dated = matches!(bytes.get(at), Some(b'-' | b':' | b'/'))
                && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            if points > 1 || joined || glued || dated {
                continue;
            }
            // `.05` and `0.05` are one number.
            let fraction = before == Some('.');
            let value = if fraction { format!("0.{text}") } else { text }.parse();
            let unit = unit.or_else(|| unit_before(&line[..start]));
            if let Ok(value) = value {
                return Some(Token { value, end, unit });
            }
        }
        None
    })
}

/// Whether three digits and no fourth follow: `1,732`.
fn groups(after: &[u8]) -> bool {
    after.len() >= 3
        && after[..3].iter().all(u8::is_ascii_digit)
        && !after.get(3).is_some_and(u8::is_ascii_digit)
}

/// The unit that a number is followed by, and where the number with it ends.
fn unit_after(line: &str, at: usize) -> (Option<Unit>, usize) {
    let rest = &line[at..];
    let spaced = rest.trim_start_matches([' ', '-', '\u{a0}']);
    let skipped = rest.len() - spaced.len();
    if spaced.starts_with('%') {
        return (Some(Unit { dimension: Dimension::Share, factor: 1.0 }), at);
    }
    let word: String = spaced.chars().take_while(|c| c.is_alphabetic()).collect();
    // A single letter after a blank is a name.
    if skipped > 1 || (skipped == 1 && word.chars().count() < 2) {
        return (None, at);
    }
    (unit(&word), at)
}

/// The unit of a keyword or a name before a number: `minutes=20`, `TIMEOUT_MS = 500`.
fn unit_before(before: &str) -> Option<Unit> {
    let before = before.trim_end();
    let before = before.strip_suffix(['=', ':'])?.trim_end_matches([' ', '"', '\'']);
    let name: String = before.chars().rev().take_while(|c| c.is_alphabetic()).collect();
    unit(&name.chars().rev().collect::<String>())
}

fn unit(word: &str) -> Option<Unit> {
    let time = |factor| Some(Unit { dimension: Dimension::Time, factor });
    let size = |factor| Some(Unit { dimension: Dimension::Size, factor });
    match word.to_lowercase().as_str() {
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => time(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => time(1e3),
        "m" | "min" | "mins" | "minute" | "minutes" => time(6e4),
        "h" | "hr" | "hrs" | "hour" | "hours" => time(3.6e6),
        "d" | "day" | "days" => time(8.64e7),
        "b" | "byte" | "bytes" => size(1.0),
        "kb" => size(1e3),
        "k" | "kib" => size(1024.0),
        "mb" => size(1e6),
        "mib" => size(1_048_576.0),
        "gb" => size(1e9),
        "gib" | "g" => size(1_073_741_824.0),
        "percent" | "pct" => Some(Unit { dimension: Dimension::Share, factor: 1.0 }),
        _ => None,
    }
}

/// What a number is multiplied by: `20 * 60_000`.
fn multiplied(after: &str) -> Option<f64> {
    let rest = after.trim_start().strip_prefix('*')?;
    tokens(rest.trim_start()).next().map(|token| token.value)
}

/// Whether a factor turns a unit into a smaller one.
fn is_factor(unit: Unit, by: f64) -> bool {
    let factors: &[f64] = match unit.dimension {
        Dimension::Time => &TIMES,
        Dimension::Size => &SIZES,
        Dimension::Share => return false,
    };
    // `20 * 60 * 1000` begins with a factor of one step.
    factors.iter().any(|factor| *factor < unit.factor && equal(unit.factor / factor, by))
}

fn equal(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// The words of a line in lower case, names divided at `_` and at humps.
fn words(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split(|c: char| !c.is_alphanumeric()).flat_map(|name| {
        let mut parts = vec![String::new()];
        let mut lower = false;
        for c in name.chars() {
            if c.is_uppercase() && lower {
                parts.push(String::new());
            }
            lower = c.is_lowercase();
            if let Some(last) = parts.last_mut() {
                last.extend(c.to_lowercase());
            }
        }
        parts.into_iter().filter(|part| !part.is_empty())
    })
}

/// Whether two words are forms of one: the shorter begins the longer.
fn alike(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    short == long
        || long.strip_suffix('s') == Some(short)
        || (short.chars().count() >= STEM && long.starts_with(short) && long.len() <= short.len() + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_near_a_word_or_with_its_unit() {
        let near = ["gap".to_owned(), "session".to_owned()];
        let check = |value: &str, text: &str, line: &str, expected: bool| {
            assert_eq!(Number::new(value, &near, text).is_near(line), expected, "{value} in {line}");
        };
        let minutes = "A gap of more than 20 minutes begins a new session.";
        check("20", minutes, "GAP_LIMIT = 20", true);
        check("20", minutes, "if x > 20:", false);
        check("20", minutes, "if x > 20 * 60:", true);
        check("20", minutes, "if x > 20 * 60_000:", true);
        check("20", minutes, "if x > 20 * 7:", false);
        check("20", minutes, "timedelta(minutes=20)", true);
        check("20", minutes, "timedelta(hours=20)", false);
        check("20", minutes, "session_gap = 1200", true);
        check("20", minutes, "sessionGap: 1_200_000,", true);
        check("20", minutes, "gap at 2025-01-20", false);
        check("20", minutes, "gap of web20", false);
        check("20", minutes, "gap 1.20.3", false);
        check("20", minutes, "sleep 20m", true);
        check("64", "A session holds at most 64 KiB.", "MAX_SESSION = 65536", true);
        check("5", "The gap is at most 5%.", "gap <= 0.05", true);
        check("5", "The gap is at most 5%.", "gap <= .05", true);
        check("1732", "The session ends after 1,732 rows.", "session[:1732]", true);
        check("1732", "The session ends after 1,732 rows.", "rows[:1_732]", false);
        check("0020", "The gap is written as 0020.", "gap = \"0020\"", true);
        check("0020", "The gap is written as 0020.", "gap = 20", false);
        let alone = Number::new("999983", &[], "Sums are modulo 999983.");
        assert!(alone.is_near("x % 999983") && alone.is_near("999_983") && !alone.is_near("1999983"));
    }

    #[test]
    fn names_fall_into_words() {
        let found: Vec<String> = words("maxRetry_count = HTTPTimeout").collect();
        assert_eq!(found, ["max", "retry", "count", "httptimeout"]);
        assert!(alike("sessions", "session") && alike("gaps", "gap") && !alike("gape", "gap"));
    }
}
