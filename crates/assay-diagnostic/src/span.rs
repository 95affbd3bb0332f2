//! Places in texts.

use std::ops::Range;

use serde::Serialize;

/// A place in a file, in lines and columns from 1 (columns in characters), the end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The first line.
    pub line: usize,
    /// The first column.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// The column after the last.
    pub end_column: usize,
}

impl Span {
    /// The place of a range of bytes in a text.
    pub fn of(text: &str, range: &Range<usize>) -> Self {
        let (line, column) = position(text, range.start);
        let (end_line, end_column) = position(text, range.end.max(range.start));
        Self { line, column, end_line, end_column }
    }

    /// A place of which only line and column are known.
    pub fn at(line: usize, column: usize) -> Self {
        Self { line, column, end_line: line, end_column: column }
    }
}

/// Line and column, both from 1 and the column in characters, of a byte offset into a text.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_positions() {
        let check = |offset, expected| assert_eq!(position("aé\nb\n", offset), expected, "{offset}");
        check(0, (1, 1));
        check(1, (1, 2));
        check(2, (1, 2));
        check(3, (1, 3));
        check(4, (2, 1));
        check(6, (3, 1));
        check(99, (3, 1));
    }

    #[test]
    fn ranges_become_spans() {
        let text = "aé\nb\n";
        assert_eq!(Span::of(text, &(1..5)), Span { line: 1, column: 2, end_line: 2, end_column: 2 });
        // A range that ends before it starts is empty.
        #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
        let reversed = 4..1;
        assert_eq!(Span::of(text, &reversed), Span::at(2, 1));
    }
}
