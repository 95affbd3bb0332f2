//! Hostile texts for pages: control characters made visible, long texts shortened.

use assay_report::clean;

/// Longest text in a page, in characters; attempts keep the files.
pub(crate) const SHOWN: usize = 20_000;

/// Longest text that is shown to be judged, in characters.
const WHOLE: usize = 1_000_000;

/// Longest line in a page, in characters.
const LINE: usize = 2_000;

/// A text of several lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Its beginning.
    pub(crate) text: String,
    /// Characters that are left out.
    pub(crate) more: usize,
    /// Lines in the text as it was.
    pub(crate) lines: usize,
}

impl Passage {
    /// The beginning of a text.
    pub(crate) fn new(text: &str) -> Self {
        Self::up_to(text, SHOWN)
    }

    /// A text with long lines whole, up to a million characters.
    pub(crate) fn whole(text: &str) -> Self {
        Self::cut(text, WHOLE, WHOLE)
    }

    /// At most `most` characters of a text.
    pub(crate) fn up_to(text: &str, most: usize) -> Self {
        Self::cut(text, most, LINE)
    }

    fn cut(text: &str, most: usize, longest: usize) -> Self {
        let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
        let mut more = text[end..].chars().count();
        let mut lines = Vec::new();
        for line in text[..end].lines() {
            let cut = line.char_indices().nth(longest).map_or(line.len(), |(at, _)| at);
            let left = line[cut..].chars().count();
            more += left;
            let mark = if left > 0 { "…" } else { "" };
            lines.push(format!("{}{mark}", clean(&line[..cut].replace('\t', "    "))));
        }
        Self { text: lines.join("\n"), more, lines: text.lines().count() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether a page shows it folded.
    pub(crate) fn is_long(&self) -> bool {
        self.lines > 12 || self.text.len() > 1_500
    }
}

/// At most `most` characters in one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let mark = if end < text.len() { "…" } else { "" };
    format!("{}{mark}", clean(&text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_cleaned_and_cut() {
        let check = |text: &str, most, expected: &str, more| {
            let found = Passage::up_to(text, most);
            assert_eq!((found.text.as_str(), found.more), (expected, more), "{text:?}");
        };
        check("", 5, "", 0);
        check("ab\ncd", 9, "ab\ncd", 0);
        check("ab\ncd", 4, "ab\nc", 1);
        check("a\tb", 9, "a    b", 0);
        check("äöü", 2, "äö", 1);
        let long = "x".repeat(50_000_000);
        let found = Passage::new(&long);
        assert_eq!((found.text.chars().count(), found.more), (LINE + 1, 50_000_000 - LINE));
        for hostile in ["\u{1b}[31mred", "a\u{202e}b", "a\u{0}b"] {
            let shown = Passage::new(hostile).text;
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{shown:?}");
        }
    }
}
