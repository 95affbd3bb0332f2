//! Pieces of text with a length to reach: paragraphs, headings, cells, code.

use super::bank::{Kind, Piece};
use super::draw::Draw;
use super::words::Mark;
use crate::tokens;

/// The kind of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Running text.
    Text,
    /// The title of a section.
    Heading,
    /// A cell of a table.
    Cell,
    /// The lines of a code block.
    Code,
}

/// A piece of text with a length to reach, in tokens.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Its kind.
    pub(super) shape: Shape,
    /// The tokens of the original's text in its place. 0 stays empty.
    pub(super) target: usize,
    /// Lines that are not blank.
    lines: usize,
    /// The lines with a blank one before them.
    gaps: Vec<usize>,
    /// The words drawn.
    pub(super) pieces: Vec<Piece>,
}

impl Leaf {
    /// An empty leaf.
    pub(super) fn new(shape: Shape, target: usize, lines: usize) -> Self {
        Self { shape, target, lines: lines.max(1), gaps: Vec::new(), pieces: Vec::new() }
    }

    /// An empty leaf in place of some code.
    pub(super) fn code(code: &str) -> Self {
        let mut gaps = Vec::new();
        let mut lines = 0;
        for line in code.lines() {
            if !line.trim().is_empty() {
                lines += 1;
            } else if lines > 0 && gaps.last() != Some(&lines) {
                gaps.push(lines);
            }
        }
        let target = if lines == 0 { 0 } else { tokens(code) };
        Self { gaps, ..Self::new(Shape::Code, target, lines) }
    }

    /// Which part of the bank suits some tokens of it.
    fn kind(&self, want: usize) -> Kind {
        match self.shape {
            Shape::Heading => Kind::Heading,
            Shape::Code => Kind::Inert,
            Shape::Cell if want <= 5 => Kind::Cell,
            Shape::Text | Shape::Cell if want <= 9 => Kind::Phrase,
            Shape::Text | Shape::Cell => Kind::Sentence,
        }
    }

    /// The text, without a line break at its end.
    pub(super) fn text(&self) -> String {
        match self.shape {
            Shape::Code => self.code_text(),
            Shape::Heading => {
                self.pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(", ")
            }
            Shape::Cell if !self.pieces.iter().any(|piece| piece.is_sentence()) => {
                self.pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(", ")
            }
            Shape::Text | Shape::Cell => wrap(
                &prose(&self.pieces, self.target > 2),
                if self.shape == Shape::Text { self.lines } else { 1 },
            ),
        }
    }

    fn code_text(&self) -> String {
        let lines = self.lines.min(self.pieces.len());
        let mut out = String::new();
        for line in 0..lines {
            if line > 0 {
                out.push('\n');
                if self.gaps.binary_search(&line).is_ok() {
                    out.push('\n');
                }
            }
            let pieces =
                &self.pieces[line * self.pieces.len() / lines..(line + 1) * self.pieces.len() / lines];
            out.push_str(&pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(", "));
        }
        out
    }
}

/// Sentences unchanged; other pieces between them in lists, as separate sentences. A capital letter
/// can cost a token, which is too much for the shortest texts.
fn prose(pieces: &[Piece], capital: bool) -> String {
    let whole = pieces.iter().any(|piece| piece.is_sentence());
    let mut out = String::new();
    for run in pieces.chunk_by(|a, b| !a.is_sentence() && !b.is_sentence()) {
        if !out.is_empty() {
            out.push(' ');
        }
        let text = run.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(", ");
        let from = out.len();
        out.push_str(&text);
        if capital && let Some(first) = out.get_mut(from..from + 1) {
            first.make_ascii_uppercase();
        }
        if whole && !out.ends_with('.') {
            out.push('.');
        }
    }
    out
}

/// Breaks a text between words into a number of lines of about the same length.
fn wrap(text: &str, lines: usize) -> String {
    if lines <= 1 {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut broken = 1;
    for word in text.split(' ') {
        if !out.is_empty() {
            // The n-th break is where the text has passed n parts of its length.
            if broken < lines && out.len() * lines >= broken * text.len() {
                out.push('\n');
                broken += 1;
            } else {
                out.push(' ');
            }
        }
        out.push_str(word);
    }
    out
}

/// The last two words before piece `keep` of leaf `at`.
fn before(leaves: &[Leaf], at: usize, keep: usize) -> Vec<Mark> {
    let here = leaves[at].pieces[..keep].iter().rev();
    let there = leaves[..at].iter().rev().flat_map(|leaf| leaf.pieces.iter().rev());
    let mut marks: Vec<_> =
        here.chain(there).flat_map(|piece| piece.marks.iter().rev()).take(2).copied().collect();
    marks.reverse();
    marks
}

/// The first two words from piece `from` of leaf `at` on.
fn after(leaves: &[Leaf], at: usize, from: usize) -> Vec<Mark> {
    let here = leaves[at].pieces[from..].iter();
    let there = leaves[at + 1..].iter().flat_map(|leaf| leaf.pieces.iter());
    here.chain(there).flat_map(|piece| piece.marks.iter()).take(2).copied().collect()
}

/// Tokens that a piece adds at the end of a leaf: its own and its separator.
fn added(leaf: &Leaf, piece: &Piece) -> usize {
    let separated = !leaf.pieces.is_empty() && !piece.is_sentence();
    piece.tokens + usize::from(separated)
}

/// Appends about `want` tokens to a leaf: from a suitable part of the bank, else from its single
/// words, else invented words.
fn append(
    leaves: &mut [Leaf],
    at: usize,
    want: usize,
    any: bool,
    after: &[Mark],
    draw: &mut Draw<'_>,
) -> usize {
    let keep = leaves[at].pieces.len();
    let before = before(leaves, at, keep);
    let kind = leaves[at].kind(want);
    let wanted = if any { None } else { Some(want) };
    let piece = draw
        .deal(kind, wanted, &before, after)
        // A short gap gets no long word, and a long one no single word, unless nothing else is
        // left.
        .filter(|piece| piece.tokens <= want + 3 || kind == Kind::Inert)
        .or_else(|| draw.deal(Kind::Phrase, wanted, &before, after).filter(|piece| piece.tokens <= want + 3))
        .or_else(|| draw.deal(Kind::Word, wanted, &before, after))
        .unwrap_or_else(|| draw.made_piece(&before, after));
    let more = added(&leaves[at], &piece);
    leaves[at].pieces.push(piece);
    more
}

/// Fills the leaves in order, each with about as many tokens as its target. Leaves after the one
/// being filled are still empty.
pub(super) fn fill(leaves: &mut [Leaf], draw: &mut Draw<'_>) {
    for at in 0..leaves.len() {
        let target = leaves[at].target;
        let line = if leaves[at].shape == Shape::Code {
            (target / leaves[at].lines).clamp(2, 14)
        } else {
            usize::MAX
        };
        let mut have: usize = leaves[at].pieces.iter().map(|piece| piece.tokens).sum();
        while have < target {
            let rest = target - have;
            if have > 0 && rest < 2 {
                break;
            }
            let newline = usize::from(line < usize::MAX);
            have += append(leaves, at, rest.min(line), rest.min(line) >= 30, &[], draw) + newline;
        }
    }
}

/// Changes one leaf by about `want` tokens, and returns the exact number.
pub(super) fn edit(leaves: &mut [Leaf], at: usize, want: isize, draw: &mut Draw<'_>) -> isize {
    let last = leaves[at].pieces.len();
    if want >= 5 || (want > 0 && last == 0) {
        let after = after(leaves, at, last);
        return append(leaves, at, want.unsigned_abs(), false, &after, draw).cast_signed();
    }
    if want < 0 && last > 1 {
        let piece = &leaves[at].pieces[last - 1];
        let tokens = piece.tokens.cast_signed();
        let run: Vec<_> = before(leaves, at, last - 1).into_iter().chain(after(leaves, at, last)).collect();
        if tokens <= 1 - want && draw.admits(&run) {
            leaves[at].pieces.pop();
            return -tokens;
        }
    }
    if want < 0 && leaves[at].pieces.iter().all(|piece| piece.tokens <= 1) {
        return 0;
    }
    for old in (0..last).rev().take(4) {
        let (before, after) = (before(leaves, at, old), after(leaves, at, old + 1));
        let piece = leaves[at].pieces[old].clone();
        if let Some(new) = draw.exchange(&piece, want, &before, &after) {
            let change = new.tokens.cast_signed() - piece.tokens.cast_signed();
            leaves[at].pieces[old] = new;
            return change;
        }
    }
    if want > 0 {
        let (before, after) = (before(leaves, at, last), after(leaves, at, last));
        let piece = draw
            .deal(Kind::Word, Some(1), &before, &after)
            .unwrap_or_else(|| draw.made_piece(&before, &after));
        let more = added(&leaves[at], &piece).cast_signed();
        leaves[at].pieces.push(piece);
        return more;
    }
    if last > 0 && leaves[at].pieces[last - 1].kind != Kind::Lead {
        // No piece of its kind is short enough: a single word is.
        let (before, after) = (before(leaves, at, last - 1), after(leaves, at, last));
        let old = leaves[at].pieces[last - 1].clone();
        if let Some(new) =
            draw.deal(Kind::Word, Some(1), &before, &after).filter(|new| new.tokens < old.tokens)
        {
            let change = new.tokens.cast_signed() - old.tokens.cast_signed();
            leaves[at].pieces[last - 1] = new;
            return change;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::super::bank::Entry;
    use super::*;

    #[test]
    fn pieces_become_sentences() {
        let check = |pieces: &[(Kind, &str)], expected: &str| {
            let pieces: Vec<_> =
                pieces.iter().map(|(kind, text)| Entry::new(*kind, (*text).to_owned())).collect();
            assert_eq!(prose(&pieces, true), expected);
        };
        check(&[], "");
        check(&[(Kind::Phrase, "a calm start")], "A calm start");
        check(&[(Kind::Phrase, "calm"), (Kind::Word, "elm")], "Calm, elm");
        check(
            &[(Kind::Sentence, "It rains."), (Kind::Phrase, "calm"), (Kind::Word, "elm")],
            "It rains. Calm, elm.",
        );
        check(
            &[(Kind::Word, "elm"), (Kind::Sentence, "It rains."), (Kind::Sentence, "It shines.")],
            "Elm. It rains. It shines.",
        );
    }

    #[test]
    fn text_is_broken_into_lines() {
        let check = |text: &str, lines, expected: &str| assert_eq!(wrap(text, lines), expected);
        check("a b c d", 1, "a b c d");
        check("aa bb cc dd", 2, "aa bb cc\ndd");
        check("a b", 9, "a\nb");
        check("", 3, "");
    }
}
