//! The fixed bank: true and useless sentences, written for this purpose and stored as text, one a
//! line.

use std::sync::{Arc, LazyLock};

use super::words::{Mark, words};

/// The parts of the bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Complete sentences, with their full stop.
    Sentence,
    /// The text of a list item.
    Phrase,
    /// Titles of sections.
    Heading,
    /// The text of a table cell.
    Cell,
    /// Lines for code blocks: none of their first words is known to a shell or compiler.
    Inert,
    /// Single words.
    Word,
    /// The opening of a description, with the words of the skill's name in it. Made for each skill
    /// and never dealt.
    Lead,
}

/// A piece of the bank, or a word made up when the bank does not suffice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Which part it belongs to.
    pub(super) kind: Kind,
    /// The text.
    pub(super) text: String,
    /// Its words, lower-cased.
    pub(super) words: Vec<String>,
    /// The same words, for comparing runs.
    pub(super) marks: Vec<Mark>,
    /// Tokens after a space.
    pub(super) tokens: usize,
}

/// A shared entry.
pub(super) type Piece = Arc<Entry>;

impl Entry {
    /// Measures a text.
    pub(super) fn new(kind: Kind, text: String) -> Piece {
        let words: Vec<_> = words(&text).collect();
        let marks = words.iter().map(|word| Mark::of(word)).collect();
        let tokens = crate::tokens(&format!(" {text}"));
        Arc::new(Self { kind, text, words, marks, tokens })
    }

    /// Whether it ends with a full stop.
    pub(super) fn is_sentence(&self) -> bool {
        matches!(self.kind, Kind::Sentence | Kind::Lead)
    }
}

static SENTENCES: LazyLock<Vec<Piece>> =
    LazyLock::new(|| load(Kind::Sentence, include_str!("bank/sentences.txt")));
static PHRASES: LazyLock<Vec<Piece>> = LazyLock::new(|| load(Kind::Phrase, include_str!("bank/phrases.txt")));
static HEADINGS: LazyLock<Vec<Piece>> =
    LazyLock::new(|| load(Kind::Heading, include_str!("bank/headings.txt")));
static CELLS: LazyLock<Vec<Piece>> = LazyLock::new(|| load(Kind::Cell, include_str!("bank/cells.txt")));
static INERT: LazyLock<Vec<Piece>> = LazyLock::new(|| load(Kind::Inert, include_str!("bank/inert.txt")));
static WORDS: LazyLock<Vec<Piece>> = LazyLock::new(|| load(Kind::Word, include_str!("bank/words.txt")));

/// The openings of a description; `{}` is replaced by the words of the skill's name.
pub(super) const LEADS: &str = include_str!("bank/leads.txt");

fn load(kind: Kind, text: &str) -> Vec<Piece> {
    text.lines().map(|line| Entry::new(kind, line.to_owned())).collect()
}

/// One part of the bank, in the order of its file.
pub(super) fn entries(kind: Kind) -> &'static [Piece] {
    match kind {
        Kind::Sentence => &SENTENCES,
        Kind::Phrase => &PHRASES,
        Kind::Heading => &HEADINGS,
        Kind::Cell => &CELLS,
        Kind::Inert => &INERT,
        Kind::Word => &WORDS,
        Kind::Lead => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const KINDS: [Kind; 6] =
        [Kind::Sentence, Kind::Phrase, Kind::Heading, Kind::Cell, Kind::Inert, Kind::Word];

    #[test]
    fn bank_is_large_enough_without_duplicates() {
        let check = |kind, least| {
            let distinct: BTreeSet<_> = entries(kind).iter().map(|entry| &entry.text).collect();
            assert!(distinct.len() >= least, "{kind:?}: {}", distinct.len());
            assert_eq!(distinct.len(), entries(kind).len(), "{kind:?}");
        };
        check(Kind::Sentence, 150);
        check(Kind::Heading, 40);
        check(Kind::Phrase, 60);
        check(Kind::Cell, 40);
        check(Kind::Inert, 40);
        check(Kind::Word, 100);
    }

    #[test]
    fn the_bank_is_plain_text() {
        for kind in KINDS {
            for entry in entries(kind) {
                assert!(
                    entry.text.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, ' ' | ',' | '.')),
                    "{}",
                    entry.text
                );
                assert_eq!(entry.text.ends_with('.'), kind == Kind::Sentence, "{}", entry.text);
                assert_eq!(
                    entry.text.matches('.').count(),
                    usize::from(kind == Kind::Sentence),
                    "{}",
                    entry.text
                );
                assert_eq!(entry.text, entry.text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }

    #[test]
    fn bank_has_no_procedures_or_numbers() {
        const FORBIDDEN: &str = "run test tests verify check checks file files code script build open read write save print install \
            use data table list command step steps error debug output input format parse query validate ensure must follow \
            one two three four five six seven eight nine ten first second third half once twice dozen hundred";
        let forbidden: BTreeSet<_> = FORBIDDEN.split_whitespace().collect();
        for kind in KINDS {
            for entry in entries(kind) {
                for word in &entry.words {
                    assert!(!forbidden.contains(word.as_str()), "{word}: {}", entry.text);
                }
            }
        }
    }
}
