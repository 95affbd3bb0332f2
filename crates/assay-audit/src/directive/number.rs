//! Numbers that decide something, with the words near them.

use std::ops::Range;

/// A number in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuotedNumber {
    /// Its digits, without separators.
    pub(super) value: String,
    /// As it stands, with its unit.
    pub(super) range: Range<usize>,
    /// Lower-case words of the sentence, the nearest first.
    pub(super) near: Vec<String>,
}

/// Most words that are kept near a number.
const NEAR: usize = 8;

/// Words by which a number is a limit rather than a mention.
const LIMITS: [&str; 71] = [
    "above",
    "add",
    "alpha",
    "at least",
    "at most",
    "batch",
    "below",
    "by",
    "cap",
    "capped",
    "code",
    "counts from",
    "coverage",
    "cut",
    "deadline",
    "default",
    "depth",
    "divide",
    "equal",
    "every",
    "exactly",
    "exceed",
    "exceeds",
    "exit",
    "exit with",
    "factor",
    "fewer than",
    "first",
    "greater",
    "height",
    "last",
    "length",
    "less than",
    "limit",
    "longer than",
    "margin",
    "max",
    "maximum",
    "min",
    "minimum",
    "more than",
    "multiply",
    "no more",
    "over",
    "per",
    "port",
    "rate",
    "ratio",
    "remainder",
    "retry",
    "round",
    "rounded",
    "score",
    "seed",
    "shorter than",
    "size",
    "start at",
    "starts at",
    "subtract",
    "temperature",
    "threshold",
    "timeout",
    "times",
    "tolerance",
    "top",
    "truncate",
    "under",
    "weight",
    "width",
    "window",
    "within",
];

/// Words by which a number before them is a limit.
const LIMITS_AFTER: [&str; 12] = [
    "each",
    "inclusive",
    "limit",
    "max",
    "maximum",
    "min",
    "minimum",
    "or above",
    "or fewer",
    "or less",
    "or more",
    "per",
];

/// Units of measure, in lower case.
const UNITS: [&str; 79] = [
    "%",
    "attempts",
    "bit",
    "bits",
    "bp",
    "bytes",
    "characters",
    "chars",
    "cm",
    "columns",
    "cores",
    "day",
    "days",
    "db",
    "decimal",
    "decimals",
    "degrees",
    "digits",
    "dpi",
    "elements",
    "epochs",
    "fields",
    "fps",
    "g",
    "gb",
    "gib",
    "hour",
    "hours",
    "hz",
    "items",
    "iterations",
    "k",
    "kb",
    "kg",
    "khz",
    "kib",
    "km",
    "kw",
    "l",
    "letters",
    "lines",
    "m",
    "mb",
    "meters",
    "mhz",
    "mib",
    "minute",
    "minutes",
    "ml",
    "mm",
    "month",
    "months",
    "ms",
    "mw",
    "pages",
    "percent",
    "pixel",
    "pixels",
    "places",
    "points",
    "ppm",
    "pt",
    "px",
    "records",
    "requests",
    "retries",
    "rows",
    "s",
    "samples",
    "sec",
    "second",
    "seconds",
    "steps",
    "times",
    "tokens",
    "weeks",
    "words",
    "years",
    "µl",
];

/// Words before a number that make it a name: a version, a step, a chapter.
const NAMES: [&str; 24] = [
    "step", "phase", "section", "chapter", "table", "figure", "version", "v", "python", "java", "node",
    "junit", "level", "part", "pattern", "example", "rule", "option", "task", "issue", "stage", "tier",
    "appendix", "rfc",
];

/// Words too common to stand for anything.
const COMMON: [&str; 64] = [
    "about", "after", "again", "also", "always", "and", "any", "are", "been", "before", "being", "between",
    "but", "can", "does", "each", "else", "every", "for", "from", "has", "have", "how", "into", "its",
    "just", "less", "like", "may", "more", "most", "must", "never", "not", "only", "other", "out", "over",
    "own", "same", "should", "some", "such", "take", "than", "that", "the", "their", "them", "then", "there",
    "they", "this", "use", "used", "using", "was", "were", "when", "where", "which", "will", "with", "you",
];

/// A number with its suffix for thousands or millions: `18k` is 18000, `1M` is 1000000. `text`
/// begins with the number.
pub(super) fn scaled(value: &str, text: &str) -> String {
    let mut suffix = text.chars().skip_while(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
    let zeros = match suffix.next() {
        Some('k' | 'K') => 3,
        Some('M') => 6,
        Some('B') => 9,
        _ => return value.to_owned(),
    };
    if suffix.next().is_some_and(char::is_alphanumeric) || value.contains('.') {
        return value.to_owned();
    }
    value.to_owned() + &"0".repeat(zeros)
}

/// The number that a cell of a table holds and nothing else, of two digits or more.
pub(super) fn cell(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let length = digits(&lower);
    let unit = lower[length..].trim();
    let value = value(&lower[..length]);
    (value.len() >= 2 && (unit.is_empty() || UNITS.contains(&unit))).then_some(value)
}

/// The numbers of a sentence that decide something. `masked` is the sentence in lower case with
/// inline code blanked out. Of what is only `described`, numbers beside a word of limits count.
pub(super) fn numbers(masked: &str, described: bool) -> Vec<QuotedNumber> {
    let bytes = masked.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() && found.len() < 20 {
        if !bytes[at].is_ascii_digit() || !begins_number(masked, at) {
            at += 1;
            continue;
        }
        let length = digits(&masked[at..]);
        let end = at + length;
        if let Some(number) = read_number(masked, at..end, described) {
            found.push(number);
        }
        at = end;
    }
    found
}

/// Whether the text of a piece of inline code is a number with or without a unit.
pub(super) fn bare(code: &str) -> Option<String> {
    let lower = code.trim().to_lowercase();
    let length = digits(&lower);
    let unit = lower[length..].trim();
    (length > 0 && (unit.is_empty() || UNITS.contains(&unit))).then(|| value(&lower[..length]))
}

/// The only number of a text that is one with its unit, as in "at most 25 minutes", and its place.
pub(super) fn quantity(text: &str) -> Option<(String, Range<usize>)> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let end = start + digits(&text[start..]);
    let rest = text[end..].trim_start_matches([' ', '-']).to_lowercase();
    let unit = rest.split(|c: char| !c.is_alphabetic() && c != '%').next().unwrap_or_default();
    let measured = UNITS.contains(&unit);
    let value = value(&text[start..end]);
    let joined = text[end..].starts_with(|c: char| c.is_alphanumeric() || "_/:.".contains(c)) && !measured;
    let small = matches!(value.as_str(), "0" | "1" | "2") && !measured;
    let only = !text[end..].contains(|c: char| c.is_ascii_digit());
    (begins_number(text, start) && only && !joined && !small).then_some((value, start..end))
}

fn begins_number(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let joined = before
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '#' | '`' | ':' | '%' | '&'));
    let hyphenated = before == Some('-') && text[..at - 1].ends_with(char::is_alphanumeric);
    !joined && !hyphenated
}

/// The length of a number: digits with separators of thousands and one decimal point.
fn digits(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    let mut point = false;
    while end < bytes.len() {
        let next_is_digit = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        match bytes[end] {
            b'0'..=b'9' => {}
            b',' if next_is_digit
                && !point
                && bytes[end + 1..].iter().take_while(|b| b.is_ascii_digit()).count() == 3 => {}
            b'.' if next_is_digit && !point => point = true,
            _ => break,
        }
        end += 1;
    }
    end
}

fn value(digits: &str) -> String {
    digits.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect()
}

fn read_number(masked: &str, range: Range<usize>, described: bool) -> Option<QuotedNumber> {
    let (before, after) = (&masked[..range.start], &masked[range.end..]);
    let previous =
        before.split(|c: char| !c.is_alphanumeric()).rfind(|word| !word.is_empty()).unwrap_or_default();
    // Versions, dates, list numbers, ranges of lines and times of day are names.
    let joined = after.starts_with(['-', '/', ':', '_', '`', '.'])
        && after[1..].starts_with(|c: char| c.is_alphanumeric());
    let lettered = after.starts_with(char::is_alphabetic);
    // `255,255,0` is a list.
    let listed = after.starts_with(',') && after[1..].starts_with(|c: char| c.is_ascii_digit());
    let ordinal = ["st", "nd", "rd", "th"].iter().any(|end| after.starts_with(end));
    let digits = &masked[range.clone()];
    let year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    if NAMES.contains(&previous)
        || (joined && !(after.starts_with('-') && after[1..].starts_with(char::is_alphabetic)))
        || ordinal
        || listed
        || (before.trim().is_empty() && after.starts_with([')', '.']))
    {
        return None;
    }
    let trimmed = after.trim_start_matches([' ', '-']);
    let unit: &str = if trimmed.starts_with('%') {
        "%"
    } else {
        let end = trimmed.find(|c: char| !c.is_alphabetic()).unwrap_or(trimmed.len());
        &trimmed[..end]
    };
    let measured = UNITS.contains(&unit);
    let hyphenated = after.starts_with('-') && !after[1..].starts_with(' ') && after.len() > 1;
    if (lettered || hyphenated) && !measured {
        return None;
    }
    let decimal = digits.contains('.') && digits.starts_with('0');
    let large = digits.chars().filter(char::is_ascii_digit).count() >= 5;
    let clause_start = before.rfind([';', '.']).map_or(0, |at| at + 1);
    let clause_end = after.find([';', '.']).unwrap_or(after.len());
    let limited = {
        let close = &before[floor(before, before.len().saturating_sub(40)).max(clause_start)..];
        let follow = &after[..floor(after, clause_end.min(24))];
        LIMITS.iter().any(|word| contains_word(close, word))
            || LIMITS_AFTER.iter().any(|word| contains_word(follow, word))
            || close.contains(['≥', '≤', '>', '<', '=', '±'])
    };
    // "The seed is 42": what is said to be a number of two digits or more.
    // "`heat` is 216 for stoneware, 96 for raku": a name that is set as code has a value.
    let coded = before.ends_with("` is ") || (before.contains("` is ") && after.starts_with(" for "));
    let said = matches!(previous, "is" | "are" | "be" | "equals");
    let stated = coded || (!described && digits.len() >= 2 && said);
    let limited = limited || stated;
    if year && !measured {
        return None;
    }
    // 0, 1 and 2 are in every text: only a comparison makes them limits.
    let small = matches!(digits, "0" | "1" | "2") && !measured;
    if small {
        let close = &before[floor(before, before.len().saturating_sub(16)).max(clause_start)..];
        let follow = &after[..floor(after, clause_end.min(12))];
        let compared = ["at least", "at most", "more than", "less than", "exactly", "max", "min", "no more"];
        if !compared.iter().any(|word| close.contains(word))
            && !["or more", "or less"].iter().any(|word| follow.contains(word))
        {
            return None;
        }
    }
    if !(limited || (!described && (measured || decimal || large))) {
        return None;
    }
    let near = near(&before[clause_start..], &after[..clause_end]);
    let end = range.end + if measured { (after.len() - trimmed.len()) + unit.len() } else { 0 };
    Some(QuotedNumber { value: value(digits), range: range.start..end, near })
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && !text[at + word.len()..].starts_with(char::is_alphanumeric)
    })
}

/// The telling words around a number, the nearest first.
pub(super) fn near(before: &str, after: &str) -> Vec<String> {
    let telling = |word: &&str| {
        word.chars().count() >= 3
            && !COMMON.contains(word)
            && word.starts_with(char::is_alphabetic)
            && !word.contains('`')
    };
    let split = |c: char| !(c.is_alphanumeric() || c == '_' || c == '`');
    let left = before.rsplit(split).filter(telling);
    let right = after.split(split).filter(telling);
    let mut near: Vec<String> = Vec::new();
    let mut sides: [Box<dyn Iterator<Item = &str>>; 2] = [Box::new(left), Box::new(right)];
    let mut open = [true, true];
    while near.len() < NEAR && open.contains(&true) {
        for (side, open) in sides.iter_mut().zip(&mut open) {
            match side.next() {
                Some(word) if near.len() < NEAR && !near.iter().any(|found| found == word) => {
                    near.push(word.to_owned());
                }
                Some(_) => {}
                None => *open = false,
            }
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_measures_are_found_with_the_words_near_them() {
        let check = |text: &str, expected: &[(&str, &str, &[&str])]| {
            let lower = text.to_lowercase();
            let found = numbers(&lower, false);
            let shown: Vec<(&str, &str, Vec<&str>)> = found
                .iter()
                .map(|n| {
                    (
                        n.value.as_str(),
                        &lower[n.range.clone()],
                        n.near.iter().map(String::as_str).take(2).collect(),
                    )
                })
                .collect();
            let expected: Vec<(&str, &str, Vec<&str>)> =
                expected.iter().map(|(value, subject, near)| (*value, *subject, near.to_vec())).collect();
            assert_eq!(shown, expected, "{text}");
        };
        check(
            "A soak of more than 25 minutes cracks the glaze.",
            &[("25", "25 minutes", &["soak", "minutes"])],
        );
        check("Keep a clay ratio of 0.35.", &[("0.35", "0.35", &["ratio", "clay"])]);
        check("Labels are cut to 18.", &[("18", "18", &["cut", "labels"])]);
        check("At least 1,500 pots", &[("1500", "1,500", &["least", "pots"])]);
        check("See step 3 and section 12.", &[]);
        check("Python 3.12 of 2024 on 2024-05-06", &[]);
        check("Three pots and 7 bowls", &[]);
        check("Reach 85% coverage", &[("85", "85%", &["reach", "coverage"])]);
        check(
            "take the remainder of a division by 999983",
            &[("999983", "999983", &["division", "remainder"])],
        );
    }

    #[test]
    fn suffixes_scale_a_number() {
        let check = |text: &str, expected: &str| assert_eq!(scaled("18", text), expected, "{text}");
        check("18k rows", "18000");
        check("18M", "18000000");
        check("18 minutes", "18");
        check("18MB", "18");
        check("18", "18");
    }

    #[test]
    fn inline_code_may_be_a_number() {
        assert_eq!(bare("0.05").as_deref(), Some("0.05"));
        assert_eq!(bare("20 min").as_deref(), None);
        assert_eq!(bare("30s").as_deref(), Some("30"));
        assert_eq!(bare("A00"), None);
    }
}
