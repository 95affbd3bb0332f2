//! Drawing from the bank, so that the draw depends on the digest and the seed and repeats nothing
//! of the original.

use super::bank::{Entry, Kind, Piece, entries};
use super::facts::Facts;
use super::words::Mark;

/// A stream of numbers: the extended output of BLAKE3 over (domain, digest, seed, purpose).
pub(super) struct Rng(blake3::OutputReader);

impl Rng {
    /// Begins the stream of one purpose.
    pub(super) fn new(digest_hex: &str, seed: u64, purpose: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in
            [b"assay placebo 1".as_slice(), digest_hex.as_bytes(), &seed.to_le_bytes(), purpose.as_bytes()]
        {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize_xof())
    }

    /// A number below `n`; 0 when `n` is 0. Of 64 random bits the remainder is biased by less than
    /// n / 2^64.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        usize::try_from(u64::from_le_bytes(bytes) % (n.max(1) as u64)).unwrap_or(0)
    }

    fn shuffle<T>(&mut self, cards: &mut [T]) {
        for last in (1..cards.len()).rev() {
            cards.swap(last, self.below(last + 1));
        }
    }
}

/// One part of the bank, shuffled, of which no card is dealt again before all were.
struct Deck {
    cards: Vec<Piece>,
    next: usize,
}

/// How many cards are searched for one of the requested length.
const WINDOW: usize = 48;

/// Draws pieces that repeat nothing of the original.
pub(super) struct Draw<'a> {
    facts: &'a Facts,
    rng: Rng,
    decks: Vec<(Kind, Deck)>,
}

impl<'a> Draw<'a> {
    /// Shuffles what of the bank has nothing in common with the original.
    pub(super) fn new(facts: &'a Facts, mut rng: Rng) -> Self {
        let mut decks = Vec::new();
        for kind in [Kind::Sentence, Kind::Phrase, Kind::Heading, Kind::Cell, Kind::Inert, Kind::Word] {
            // Code blocks may also contain the text of list items, which has no effect either.
            let more = if kind == Kind::Inert { entries(Kind::Phrase) } else { &[] };
            let mut cards: Vec<_> =
                entries(kind).iter().chain(more).filter(|entry| admitted(facts, entry)).cloned().collect();
            rng.shuffle(&mut cards);
            decks.push((kind, Deck { cards, next: 0 }));
        }
        Self { facts, rng, decks }
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }

    /// Whether a run of words repeats nothing.
    pub(super) fn admits(&self, marks: &[Mark]) -> bool {
        self.facts.admits_run(marks)
    }

    /// Whether a text may be used in the placebo, except for some words.
    pub(super) fn admits_text(&self, piece: &Entry, except: &[String]) -> bool {
        piece.words.iter().all(|word| except.contains(word) || self.facts.admits_word(word))
            && piece.marks.windows(3).zip(piece.words.windows(3)).all(|(marks, words)| {
                words.iter().all(|word| except.contains(word)) || self.facts.admits_run(marks)
            })
    }

    fn fits(&self, before: &[Mark], piece: &Entry, after: &[Mark]) -> bool {
        let run: Vec<_> = before.iter().chain(&piece.marks).chain(after).copied().collect();
        self.facts.admits_run(&run)
    }

    /// Deals the next card of a part, or of the next [`WINDOW`] cards the one nearest to `want`
    /// tokens. `None` if no card fits between its neighbours.
    pub(super) fn deal(
        &mut self,
        kind: Kind,
        want: Option<usize>,
        before: &[Mark],
        after: &[Mark],
    ) -> Option<Piece> {
        let at = self.decks.iter().position(|(of, _)| *of == kind)?;
        for fresh in [false, true] {
            let deck = &mut self.decks[at].1;
            if fresh {
                self.rng.shuffle(&mut deck.cards);
                deck.next = 0;
            }
            let deck = &self.decks[at].1;
            let window = if want.is_none() && !fresh {
                8
            } else if fresh {
                deck.cards.len()
            } else {
                WINDOW
            };
            let end = deck.cards.len().min(deck.next + window);
            let mut order: Vec<_> = (deck.next..end).collect();
            if let Some(want) = want {
                order.sort_by_key(|&card| deck.cards[card].tokens.abs_diff(want));
            }
            if let Some(&card) = order.iter().find(|&&card| self.fits(before, &deck.cards[card], after)) {
                let deck = &mut self.decks[at].1;
                deck.cards.swap(deck.next, card);
                deck.next += 1;
                return Some(deck.cards[deck.next - 1].clone());
            }
        }
        None
    }

    /// A card of the same part whose length differs from that of `old` by as near to `delta` tokens
    /// as there is, and by more than nothing in that direction.
    pub(super) fn exchange(
        &mut self,
        old: &Entry,
        delta: isize,
        before: &[Mark],
        after: &[Mark],
    ) -> Option<Piece> {
        let start = self.rng.below(entries(old.kind).len());
        let deck = &self.decks.iter().find(|(of, _)| *of == old.kind)?.1;
        let cards = deck.cards.iter().cycle().skip(start).take(deck.cards.len());
        cards
            .filter(|card| {
                let change = card.tokens.cast_signed() - old.tokens.cast_signed();
                (change - delta).abs() < delta.abs() && self.fits(before, card, after)
            })
            .min_by_key(|card| (card.tokens.cast_signed() - old.tokens.cast_signed() - delta).abs())
            .cloned()
    }

    /// A word that no language has, for when nothing in the bank fits. There is always one: the
    /// words grow until they fit.
    pub(super) fn made_piece(&mut self, before: &[Mark], after: &[Mark]) -> Piece {
        const SYLLABLES: [&str; 20] = [
            "ba", "lo", "mi", "ru", "ta", "ve", "no", "sa", "ki", "du", "pe", "la", "mo", "ri", "fu", "na",
            "zo", "te", "gi", "wa",
        ];
        let mut length = 2;
        loop {
            let word: String = (0..length).map(|_| SYLLABLES[self.rng.below(SYLLABLES.len())]).collect();
            let piece = Entry::new(Kind::Word, word);
            if admitted(self.facts, &piece) && self.fits(before, &piece, after) {
                return piece;
            }
            length += 1;
        }
    }
}

fn admitted(facts: &Facts, entry: &Entry) -> bool {
    entry.words.iter().all(|word| facts.admits_word(word)) && facts.admits_run(&entry.marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_depends_on_all_of_its_parts() {
        let draw = |digest, seed, purpose| Rng::new(digest, seed, purpose).below(usize::MAX);
        assert_eq!(draw("a", 1, "x"), draw("a", 1, "x"));
        assert_ne!(draw("a", 1, "x"), draw("b", 1, "x"));
        assert_ne!(draw("a", 1, "x"), draw("a", 2, "x"));
        assert_ne!(draw("a", 1, "x"), draw("a", 1, "y"));
        assert_eq!(Rng::new("a", 1, "x").below(0), 0);
    }

    #[test]
    fn cards_repeat_only_after_the_whole_deck() {
        let facts = Facts::default();
        let mut draw = Draw::new(&facts, Rng::new("a", 1, "x"));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..entries(Kind::Sentence).len() {
            assert!(seen.insert(draw.deal(Kind::Sentence, Some(12), &[], &[]).unwrap().text.clone()));
        }
        assert!(!seen.insert(draw.deal(Kind::Sentence, Some(12), &[], &[]).unwrap().text.clone()));
    }

    #[test]
    fn draw_never_repeats_the_original() {
        let mut facts = Facts::default();
        for kind in [Kind::Sentence, Kind::Phrase, Kind::Cell, Kind::Word] {
            for entry in entries(kind) {
                facts.code(&entry.text);
            }
        }
        let mut draw = Draw::new(&facts, Rng::new("a", 1, "x"));
        assert_eq!(draw.deal(Kind::Sentence, None, &[], &[]), None);
        let made = draw.made_piece(&[], &[]);
        assert!(facts.repeated_by(&made.text).is_empty(), "{}", made.text);
    }
}
