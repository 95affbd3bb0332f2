//! Extracted or transformed text with a map to its source.

use std::ops::Range;

/// A text, with the source position of each of its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// The text.
    pub(crate) text: String,
    /// Where a stretch begins: in the text, and in the source. Ascending in the first.
    pieces: Vec<(usize, usize)>,
}

impl Mapped {
    /// A text that is an unchanged range of the source.
    pub(crate) fn verbatim(text: &str, source: usize) -> Self {
        let mut mapped = Self::default();
        mapped.push(text, source);
        mapped
    }

    /// Appends a text that begins at `source`.
    pub(crate) fn push(&mut self, text: &str, source: usize) {
        self.mark(source);
        self.text.push_str(text);
    }

    /// Appends a character from `source`.
    pub(crate) fn push_char(&mut self, c: char, source: usize) {
        self.mark(source);
        self.text.push(c);
    }

    fn mark(&mut self, source: usize) {
        let at = self.text.len();
        match self.pieces.last_mut() {
            Some(&mut (text, from)) if from + (at - text) == source => {}
            Some(last) if last.0 == at => last.1 = source,
            _ => self.pieces.push((at, source)),
        }
    }

    /// The position in the source of a byte of the text.
    pub(crate) fn source(&self, at: usize) -> usize {
        let next = self.pieces.partition_point(|&(text, _)| text <= at);
        match next.checked_sub(1).map(|index| self.pieces[index]) {
            Some((text, source)) => source + (at - text),
            None => at,
        }
    }

    /// The source range of a range of the text.
    pub(crate) fn span(&self, range: Range<usize>) -> Range<usize> {
        let start = self.source(range.start);
        let last = self.source(range.end.saturating_sub(1).max(range.start));
        start..(last + 1).max(start)
    }
}

/// Normalizes text: lowercase, look-alikes as the letters they imitate, without invisible
/// characters, one space between words, and s p a c e d letters joined.
pub(crate) fn fold(mapped: &Mapped) -> Mapped {
    let mut folded = Mapped::default();
    folded.text.reserve(mapped.text.len());
    let mut space = true;
    let mut pieces = mapped.pieces.iter().peekable();
    let mut piece = (0, 0);
    for (at, c) in mapped.text.char_indices() {
        while let Some(next) = pieces.next_if(|&&(text, _)| text <= at) {
            piece = *next;
        }
        let source = piece.1 + (at - piece.0);
        if c.is_ascii() && !c.is_ascii_whitespace() && c != '\x0b' {
            folded.push_char(c.to_ascii_lowercase(), source);
            space = false;
            continue;
        }
        if super::unicode::invisible(c) {
            continue;
        }
        if c.is_whitespace() {
            if !space {
                folded.push_char(' ', source);
            }
            space = true;
            continue;
        }
        space = false;
        match super::unicode::imitates(c) {
            Some(ascii) => folded.push_char(ascii.to_ascii_lowercase(), source),
            None => c.to_lowercase().for_each(|lower| folded.push_char(lower, source)),
        }
    }
    gather(&folded).unwrap_or(folded)
}

/// Joins runs of at least six single letters (`i g n o r e`); two spaces have become one by then,
/// so that the words of such a run are gone, and the rules match them without spaces. `None` if
/// there is no such run.
fn gather(mapped: &Mapped) -> Option<Mapped> {
    let bytes = mapped.text.as_bytes();
    let single = |at: usize| {
        bytes.get(at).is_some_and(u8::is_ascii_alphabetic)
            && bytes.get(at + 1).is_none_or(|&b| b" -._*".contains(&b))
    };
    let mut out = Mapped::default();
    let (mut at, mut copied, mut found) = (0, 0, false);
    while at < bytes.len() {
        let starts = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        if !starts || !single(at) {
            at += 1;
            continue;
        }
        let mut end = at;
        while single(end) && (end == at || bytes[end - 1] == bytes[at + 1]) {
            end += 2;
        }
        if (end - at) / 2 >= 6 {
            found = true;
            out.push(&mapped.text[copied..at], mapped.source(copied));
            for letter in (at..end).step_by(2) {
                out.push(&mapped.text[letter..=letter], mapped.source(letter));
            }
            copied = end.min(bytes.len());
        }
        at = end.max(at + 1);
    }
    found.then(|| {
        out.push(&mapped.text[copied..], mapped.source(copied));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_matches_the_visible_text() {
        let check = |text: &str, expected: &str| {
            assert_eq!(fold(&Mapped::verbatim(text, 0)).text, expected, "{text:?}");
        };
        check("Ignore\n  ALL previous", "ignore all previous");
        check("ign\u{200b}ore", "ignore");
        check("ign\u{43e}re", "ignore");
        check("ｉｇｎｏｒｅ", "ignore");
        check("\u{1d422}gnore", "ignore");
        check("say i g n o r e now", "say ignorenow");
        check("plan a b c", "plan a b c");
    }

    #[test]
    fn stretches_map_back_to_the_source() {
        let text = "ab \u{200b} \u{43e}cd";
        let folded = fold(&Mapped::verbatim(text, 10));
        assert_eq!(folded.text, "ab ocd");
        let at = folded.text.find("ocd").expect("there");
        let span = folded.span(at..at + 3);
        assert_eq!(&text[span.start - 10..span.end - 10], "\u{43e}cd");
    }
}
