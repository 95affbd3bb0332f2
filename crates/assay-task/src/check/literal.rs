//! Numbers and quoted texts, with their lines.

/// A number or a quoted text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Literal<'a> {
    /// Its value, without quotes.
    pub(super) value: &'a str,
    /// Its line, from 1.
    pub(super) line: usize,
    /// Whether it was quoted.
    pub(super) quoted: bool,
}

/// Longest quoted text that is considered, in bytes.
const LONGEST: usize = 200;

/// Every number of at least four digits, and every text between quotes on one line.
pub(super) fn literals(text: &str) -> Vec<Literal<'_>> {
    let mut found = Vec::new();
    for (index, there) in text.lines().enumerate() {
        quoted(there, index + 1, &mut found);
        numbers(there, index + 1, &mut found);
    }
    found
}

fn quoted<'a>(there: &'a str, line: usize, found: &mut Vec<Literal<'a>>) {
    let mut rest = there;
    let mut before = ' ';
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let quote = rest[at..].chars().next().unwrap_or('"');
        let left = rest[..at].chars().next_back().unwrap_or(before);
        let inside = &rest[at + 1..];
        // An apostrophe within a word is not an opening quote.
        let opens = quote != '\'' || !left.is_alphanumeric() || matches!(left, 'r' | 'b' | 'f' | 'u');
        match inside.find(quote).filter(|_| opens) {
            Some(end) => {
                let value = &inside[..end];
                if !value.trim().is_empty() && value.len() <= LONGEST {
                    found.push(Literal { value, line, quoted: true });
                }
                rest = &inside[end + 1..];
            }
            None => rest = inside,
        }
        before = quote;
    }
}

fn numbers<'a>(there: &'a str, line: usize, found: &mut Vec<Literal<'a>>) {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_');
    for token in there.split(|c: char| !part(c)) {
        let token = token.trim_matches(|c| c == '.' || c == '_');
        let digits = token.chars().filter(char::is_ascii_digit).count();
        let whole = token.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
        if digits >= 4 && whole && token.matches('.').count() <= 1 {
            found.push(Literal { value: token, line, quoted: false });
        }
    }
}

/// Whether a number is one that everybody uses: a year, a power of ten or two, seconds of a day, a
/// file's mode.
pub(super) fn is_common(number: &str) -> bool {
    let plain: String = number.chars().filter(char::is_ascii_digit).collect();
    let Ok(value) = plain.parse::<u64>() else { return false };
    let year = plain.len() == 4 && (1900..=2100).contains(&value);
    let ten = plain.trim_end_matches('0') == "1" || value == 0;
    let mode = plain.len() == 4 && plain.starts_with('0');
    // 999.0 is used for missing values.
    let nines = plain.trim_end_matches('0').chars().all(|c| c == '9');
    year || ten || nines || mode || value.is_power_of_two() || matches!(value, 3600 | 86400 | 8080 | 65535)
}

/// Whether a quoted text is distinctive: not a plain word, not a bare name, not punctuation.
pub(super) fn is_distinctive(value: &str) -> bool {
    let word = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.');
    let signs = value.chars().filter(|c| c.is_alphanumeric()).count();
    value.chars().count() >= 6 && signs >= 4 && !value.chars().all(word)
}
