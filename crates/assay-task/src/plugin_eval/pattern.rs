//! Patterns of graders: regular expressions of JavaScript.
//!
//! They are executed by `regress`, an engine of ECMAScript's own syntax and semantics. `fancy-regex` would need a
//! translation: `[^]`, `\/`, `$` before a final line break, `\w` on letters beyond ASCII, classes with `[` and
//! `&&`, and characters beyond the basic plane mean something else in it. A text is searched as JavaScript does,
//! by its UTF-16 units.
//!
//! An engine with back-references can take exponential time, and in the original client it does. Here a search
//! that does not end within [`SEARCH_SECONDS`] is given up, and its grader fails with that reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use regress::{Flags, Regex};

/// Most characters of a pattern.
pub const PATTERN_CAP: usize = 10_000;

/// Most groups within groups. The engine's parser recurses.
const NESTING: usize = 64;

/// How long one search may take, in seconds.
pub const SEARCH_SECONDS: u64 = 5;

/// Most bytes of a text that is searched.
pub const TEXT_CAP: usize = 16 << 20;

/// The stack of the thread that searches, in bytes.
const STACK: usize = 16 << 20;

/// Flags that change how a new expression matches, and those that do not.
const KNOWN: &str = "dgimsuv";

/// A regular expression of JavaScript.
#[derive(Debug, Clone)]
pub struct JsPattern {
    source: String,
    flags: String,
    regex: Arc<Regex>,
    /// Whether a search was given up: the next one would be, too.
    gave_up: Arc<AtomicBool>,
}

impl PartialEq for JsPattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.source, &self.flags) == (&other.source, &other.flags)
    }
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It is too long.
    #[error("the pattern has {0} characters, of which at most {PATTERN_CAP} are supported")]
    Long(usize),
    /// Groups in groups.
    #[error("the pattern has groups more than {NESTING} deep")]
    Deep,
    /// An unknown flag, or one of which the meaning depends on the search before.
    #[error("unsupported flag {0:?}: supported are d, g, i, m, s, u and v")]
    Flag(char),
    /// A flag that occurs twice, or `u` and `v` together.
    #[error("invalid flags {0:?}")]
    Flags(String),
    /// JavaScript does not accept it.
    #[error("invalid JavaScript pattern: {0}")]
    Syntax(String),
}

/// Why a search has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// It takes too long.
    #[error("the search did not end within {SEARCH_SECONDS} s")]
    Time,
    /// The text is too long.
    #[error("the text has {0} bytes, of which at most {TEXT_CAP} are searched")]
    Long(usize),
    /// The thread could not be started, or the engine failed.
    #[error("the search failed")]
    Failed,
}

impl JsPattern {
    /// Reads an expression as `new RegExp(source, flags)` does.
    ///
    /// # Errors
    /// It is not a valid expression, or is not supported.
    pub fn new(source: &str, flags: &str) -> Result<Self, PatternError> {
        let length = source.chars().count();
        if length > PATTERN_CAP {
            return Err(PatternError::Long(length));
        }
        if nesting(source) > NESTING {
            return Err(PatternError::Deep);
        }
        if let Some(unknown) = flags.chars().find(|flag| !KNOWN.contains(*flag)) {
            return Err(PatternError::Flag(unknown));
        }
        let is_repeated = flags.chars().any(|flag| flags.matches(flag).count() > 1);
        if is_repeated || (flags.contains('u') && flags.contains('v')) {
            return Err(PatternError::Flags(flags.to_owned()));
        }
        let legacy = if flags.contains(['u', 'v']) { None } else { Some(without_braced_escapes(source)) };
        let regex = Regex::with_flags(legacy.as_deref().unwrap_or(source), Flags::from(flags))
            .map_err(|error| PatternError::Syntax(error.text))?;
        Ok(Self {
            source: source.to_owned(),
            flags: flags.to_owned(),
            regex: Arc::new(regex),
            gave_up: Arc::new(AtomicBool::new(false)),
        })
    }

    /// As it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its flags, as they are written.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// The first match in a text, as text.
    ///
    /// # Errors
    /// The search takes too long.
    pub fn find(&self, text: &str) -> Result<Option<String>, SearchError> {
        Ok(self.search(text, 1)?.first)
    }

    /// How often it matches, as `matchAll` does with the flag `g`. Empty matches count.
    ///
    /// # Errors
    /// The search takes too long.
    pub fn count(&self, text: &str) -> Result<usize, SearchError> {
        Ok(self.search(text, usize::MAX)?.count)
    }

    fn search(&self, text: &str, most: usize) -> Result<PatternMatches, SearchError> {
        if text.len() > TEXT_CAP {
            return Err(SearchError::Long(text.len()));
        }
        if self.gave_up.load(Ordering::Relaxed) {
            return Err(SearchError::Time);
        }
        let units: Vec<u16> = text.encode_utf16().collect();
        let (send, receive) = mpsc::sync_channel(1);
        let regex = Arc::clone(&self.regex);
        let is_unicode = self.flags.contains(['u', 'v']);
        let search = move || {
            // A receiver that has given up hears nothing.
            let _ = send.send(matches(&regex, &units, is_unicode, most));
        };
        thread::Builder::new()
            .name("pattern".to_owned())
            .stack_size(STACK)
            .spawn(search)
            .map_err(|_| SearchError::Failed)?;
        match receive.recv_timeout(Duration::from_secs(SEARCH_SECONDS)) {
            Ok(found) => Ok(found),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                self.gave_up.store(true, Ordering::Relaxed);
                Err(SearchError::Time)
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(SearchError::Failed),
        }
    }
}

#[derive(Debug, Default)]
struct PatternMatches {
    first: Option<String>,
    count: usize,
}

fn matches(regex: &Regex, units: &[u16], is_unicode: bool, most: usize) -> PatternMatches {
    let text = |range: std::ops::Range<usize>| String::from_utf16_lossy(units.get(range).unwrap_or_default());
    let ranges: Box<dyn Iterator<Item = std::ops::Range<usize>>> = if is_unicode {
        Box::new(regex.find_from_utf16(units, 0).map(|found| found.range()))
    } else {
        Box::new(regex.find_from_ucs2(units, 0).map(|found| found.range()))
    };
    let mut found = PatternMatches::default();
    for range in ranges.take(most) {
        found.count += 1;
        found.first.get_or_insert_with(|| text(range));
    }
    found
}

/// Without the flags `u` and `v`, `\u{2}` is the letter u twice (ECMAScript 2025, B.1.2), which the engine reads as a
/// character's number.
fn without_braced_escapes(source: &str) -> String {
    let mut legacy = String::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once('\\') {
        legacy.push_str(before);
        if !after.starts_with("u{") {
            legacy.push('\\');
        }
        let next = after.chars().next().map_or(0, char::len_utf8);
        let (escaped, following) = after.split_at(next);
        legacy.push_str(escaped);
        rest = following;
    }
    legacy.push_str(rest);
    legacy
}

/// How deep groups and classes are within groups, at most.
fn nesting(source: &str) -> usize {
    let (mut depth, mut most, mut escaped) = (0_usize, 0, false);
    for byte in source.bytes() {
        if escaped {
            escaped = false;
            continue;
        }
        match byte {
            b'\\' => escaped = true,
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_javascript() {
        let check = |source: &str, flags: &str, text: &str, first: Option<&str>, count: usize| {
            let pattern = JsPattern::new(source, flags).unwrap();
            assert_eq!(pattern.find(text).unwrap().as_deref(), first, "/{source}/{flags} in {text:?}");
            assert_eq!(pattern.count(text).unwrap(), count, "/{source}/{flags} in {text:?}");
        };
        // Each count is that of `[...text.matchAll(new RegExp(source, flags + "g"))].length` in Node 20.
        check("a+", "", "aa b a", Some("aa"), 2);
        check("MOIN", "i", "Moin moin", Some("Moin"), 2);
        check("^b", "", "a\nb", None, 0);
        check("^b", "m", "a\nb", Some("b"), 1);
        check("a.b", "", "a\nb", None, 0);
        check("a.b", "s", "a\nb", Some("a\nb"), 1);
        // `$` is the end, and not before a last line break.
        check("a$", "", "a\n", None, 0);
        check("[^]", "", "\n", Some("\n"), 1);
        check(r"(?<![\s\S])a(?![\s\S])", "m", "a", Some("a"), 1);
        check(r"(?<![\s\S])a(?![\s\S])", "m", "a\na", None, 0);
        check(r"(\w)\1", "", "aabb", Some("aa"), 2);
        check(r"(?<q>['\x22]).*?\k<q>", "", r#"say "it's" 'now'"#, Some("\"it's\""), 2);
        check(r"\d", "", "\u{664}", None, 0);
        check(r"\bé", "", "né", Some("é"), 1);
        check(r"a\/b", "", "a/b", Some("a/b"), 1);
        check(r"[[a]", "", "[", Some("["), 1);
        check(r"x{,2}", "", "x{,2}", Some("x{,2}"), 1);
        check(r"a\u{2}b", "", "auub a\u{2}b", Some("auub"), 1);
        check(r"a\u{2}b", "u", "auub a\u{2}b", Some("a\u{2}b"), 1);
        // Without `u`, a character beyond the basic plane is two units.
        check("^.$", "", "😀", None, 0);
        check("^.$", "u", "😀", Some("😀"), 1);
        check(r"\p{Lu}", "u", "aÉ", Some("É"), 1);
        check(r"\p{Lu}", "", "p{Lu}", Some("p{Lu}"), 1);
        check("", "", "ab", Some(""), 3);
        check("x*", "", "axb", Some(""), 4);
    }

    #[test]
    fn what_is_not_javascript_is_refused() {
        let check = |source: &str, flags: &str, expected: &str| {
            let error = JsPattern::new(source, flags).unwrap_err().to_string();
            assert!(error.contains(expected), "/{source}/{flags}: {error}");
        };
        check("(?i)moin", "", "invalid JavaScript pattern");
        check("(", "", "invalid JavaScript pattern");
        check("a**", "", "invalid JavaScript pattern");
        check("a", "y", "unsupported flag 'y'");
        check("a", "x", "unsupported flag 'x'");
        check("a", "ii", "invalid flags");
        check("a", "uv", "invalid flags");
        check(&"a".repeat(PATTERN_CAP + 1), "", "at most 10000");
        check(&format!("{}a{}", "(".repeat(4_000), ")".repeat(4_000)), "", "groups more than 64 deep");
    }

    #[test]
    fn a_search_without_end_is_given_up() {
        let pattern = JsPattern::new("^(a+)+$", "").unwrap();
        let text = format!("{}b", "a".repeat(40));
        let begin = std::time::Instant::now();
        assert_eq!(pattern.find(&text), Err(SearchError::Time));
        // The next one is not tried.
        assert_eq!(pattern.find("a"), Err(SearchError::Time));
        assert!(begin.elapsed() < Duration::from_mins(1));
    }
}
