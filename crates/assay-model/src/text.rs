//! Untrusted text, made safe for messages.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Maximum bytes of a reply that an error shows.
const EXCERPT: usize = 200;

/// A key that is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The key itself, for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Removes the key from a text that will be displayed.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }

    /// Removes the key from a reply that will be stored. Keys of fewer than 16 characters are
    /// placeholders for local servers (`ollama`, `EMPTY`): words that a model may well write.
    pub fn scrub_kept<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        const SHORTEST: usize = 16;
        let key = self.0.as_bytes();
        if key.len() < SHORTEST || !bytes.windows(key.len()).any(|window| window == key) {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(self.scrub(&String::from_utf8_lossy(bytes)).into_bytes())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[key]")
    }
}

/// The first 200 bytes of a reply, on one line, with terminal control characters escaped.
pub fn excerpt(bytes: &[u8]) -> String {
    let end = bytes.len().min(EXCERPT);
    let shown = bytes.get(..end).unwrap_or_default();
    let mut out = escape(&String::from_utf8_lossy(shown));
    if bytes.len() > end {
        let _ = write!(out, "… ({} bytes)", bytes.len());
    }
    if out.is_empty() { "nothing".to_owned() } else { out }
}

/// A text on one line: tabs and line ends become spaces; control characters, format characters and
/// bidirectional overrides are written as code points.
pub fn escape(text: &str) -> String {
    assay_diagnostic::escape(&text.trim().replace(['\n', '\r', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_and_harmless() {
        let check = |input: &[u8], expected: &str| assert_eq!(excerpt(input), expected);
        check(b"", "nothing");
        check(b"<html>\n<b>no</b>", "<html> <b>no</b>");
        check(b"\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}");
        check("a\u{202e}b".as_bytes(), "a\\u{202e}b");
        check(b"\xff\xfe", "\u{fffd}\u{fffd}");
        let long = excerpt(&[b'x'; 5_000]);
        assert_eq!(long, format!("{}… (5000 bytes)", "x".repeat(200)));
        // A character that is cut in two is replaced.
        assert!(excerpt("ä".repeat(300).as_bytes()).starts_with('ä'));
    }

    #[test]
    fn keys_are_removed() {
        let key = Secret::new("sk-0123456789abcdef".to_owned());
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.scrub("bad sk-0123456789abcdef!"), "bad [key]!");
        assert_eq!(key.scrub_kept(b"{\"k\":\"sk-0123456789abcdef\"}").as_ref(), b"{\"k\":\"[key]\"}");
        let word = Secret::new("ollama".to_owned());
        assert_eq!(word.scrub_kept(b"I like ollama").as_ref(), b"I like ollama");
        assert_eq!(Secret::new(String::new()).scrub("as it was"), "as it was");
    }
}
