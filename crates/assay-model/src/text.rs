//! Text from outside, made fit for messages.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How much of an answer an error shows, in bytes.
const SHOWN: usize = 200;

/// A key. It shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes it over.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The key itself, for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Takes the key out of a text that is to be shown.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }

    /// Takes the key out of an answer that is to be kept. Keys of fewer than 16 characters are passwords of local
    /// servers (`ollama`, `EMPTY`): words that a model may well say.
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

/// The first 200 bytes of an answer, on one line, with everything escaped that a terminal would act on.
pub fn excerpt(bytes: &[u8]) -> String {
    let end = bytes.len().min(SHOWN);
    let shown = bytes.get(..end).unwrap_or_default();
    let mut out = escape(&String::from_utf8_lossy(shown));
    if bytes.len() > end {
        let _ = write!(out, "… ({} bytes)", bytes.len());
    }
    if out.is_empty() { "nothing".to_owned() } else { out }
}

/// A text on one line: tabs and line ends become spaces; controls, format characters and what reverses a line's direction
/// are written as code points.
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
        // A character cut in two does no harm.
        assert!(excerpt("ä".repeat(300).as_bytes()).starts_with('ä'));
    }

    #[test]
    fn keys_are_taken_out() {
        let key = Secret::new("sk-0123456789abcdef".to_owned());
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.scrub("bad sk-0123456789abcdef!"), "bad [key]!");
        assert_eq!(key.scrub_kept(b"{\"k\":\"sk-0123456789abcdef\"}").as_ref(), b"{\"k\":\"[key]\"}");
        let word = Secret::new("ollama".to_owned());
        assert_eq!(word.scrub_kept(b"I like ollama").as_ref(), b"I like ollama");
        assert_eq!(Secret::new(String::new()).scrub("as it was"), "as it was");
    }
}
