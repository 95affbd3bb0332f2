//! Classes of characters in BERT's normalizer in `tokenizers`.
//!
//! Its tables are of Unicode 8.0 (the crate `unicode_categories`): later characters have no class
//! there. Some characters have changed since, and are listed separately. A test compares all code
//! points with the original.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, Hir, HirKind};

/// Characters of a pattern that is a class.
struct Table(Vec<(char, char)>);

impl Table {
    fn new(pattern: &str) -> Self {
        let hir = regex_syntax::parse(pattern).map(Hir::into_kind);
        match hir {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Self(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            _ => Self(Vec::new()),
        }
    }

    fn holds(&self, c: char) -> bool {
        self.0
            .binary_search_by(|&(first, last)| {
                if last < c {
                    std::cmp::Ordering::Less
                } else if first > c {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
    }
}

static OTHER: LazyLock<Table> = LazyLock::new(|| Table::new(r"[[\p{Cc}\p{Cf}\p{Co}]&&\p{Age:8.0}]"));
static MARKS: LazyLock<Table> = LazyLock::new(|| {
    Table::new(r"[[\p{Mn}&&\p{Age:8.0}--\u{1885}\u{1886}\u{a9bd}\u{111c9}]\u{1734}\u{1171e}]")
});
static PUNCTUATION: LazyLock<Table> =
    LazyLock::new(|| Table::new(r"[[\p{P}&&\p{Age:8.0}]\u{166d}\u{111c9}]"));

/// Removed characters: controls, formats, and characters for private use; tabs and ends of lines
/// are blanks.
pub(super) fn is_removed(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    }
    c == '\u{fffd}' || OTHER.holds(c)
}

/// Marks that are taken off letters.
pub(super) fn is_mark(c: char) -> bool {
    !c.is_ascii() && MARKS.holds(c)
}

/// Characters that are words by themselves.
pub(super) fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || !c.is_ascii() && PUNCTUATION.holds(c)
}

/// Ideographs, which are words by themselves. The third of the extensions begins 256 too late, as
/// in the original.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f
        | 0x2b740..=0x2b81f | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f)
}
