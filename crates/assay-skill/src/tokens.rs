//! Token counts.

use std::cell::RefCell;

/// Places for pieces that a thread remembers, as a power of two: 6 MB.
const PLACES: u32 = 18;
/// The longest piece that is remembered, in bytes.
const PIECE: usize = 22;

/// The bytes of a piece, then its length, then the number of its tokens.
type Entry = [u64; 3];

thread_local! {
    /// Most pieces of a text are words that were in another before. Each has one place, and takes
    /// it from the piece before.
    static KNOWN: RefCell<Vec<Entry>> = RefCell::new(vec![[0; 3]; 1 << PLACES]);
}

/// A piece's entry without the number of its tokens; `None` if it is too long.
fn entry(piece: &[u8]) -> Option<Entry> {
    let mut bytes = [0; 24];
    bytes.get_mut(..piece.len()).filter(|_| piece.len() <= PIECE)?.copy_from_slice(piece);
    bytes[PIECE] = u8::try_from(piece.len()).ok()?;
    Some(std::array::from_fn(|part| u64::from_le_bytes(std::array::from_fn(|at| bytes[8 * part + at]))))
}

/// The slot of a piece: multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4).
fn place(entry: &Entry) -> usize {
    let hash = entry
        .iter()
        .fold(0, |hash: u64, part| (hash.rotate_left(29) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    usize::try_from(hash >> (64 - PLACES)).unwrap_or_default()
}

/// Counts tokens of the `cl100k_base` vocabulary. Every model has its own tokeniser: this is a
/// common measure, not a bill.
pub fn tokens(text: &str) -> usize {
    count(text, |_, _| true).unwrap_or_default()
}

/// The same if there are at least `least`; `None` if there are fewer, and as soon as the rest
/// cannot reach that number at two bytes a token: no text of the corpus that assay is tested on has
/// fewer.
pub fn tokens_from(text: &str, least: usize) -> Option<usize> {
    count(text, |found, left| found + left / 2 >= least).filter(|&found| found >= least)
}

/// Counts as long as `on` is true for the count and the remaining bytes.
fn count(text: &str, on: impl Fn(usize, usize) -> bool) -> Option<usize> {
    let vocabulary = bpe_openai::cl100k_base();
    let text = vocabulary.normalize(text);
    let (mut found, mut left) = (0, text.as_str().len());
    KNOWN.with_borrow_mut(|known| {
        for piece in vocabulary.split(text.as_str()) {
            if !on(found, left) {
                return None;
            }
            left -= piece.len();
            let Some(own) = entry(piece.as_bytes()) else {
                found += vocabulary.bpe.count(piece.as_bytes());
                continue;
            };
            let there = &mut known[place(&own)];
            if there[..2] != own[..2] || there[2] << 8 != own[2] << 8 {
                let count = vocabulary.bpe.count(piece.as_bytes()) as u64;
                *there = [own[0], own[1], own[2] | count << 56];
            }
            found += (there[2] >> 56) as usize;
        }
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_known_texts() {
        let check = |text, expected| assert_eq!(tokens(text), expected, "{text:?}");
        check("", 0);
        check("hello world", 2);
        // The worked example of the vocabulary's own documentation.
        check("tiktoken is great!", 6);
        let long = "A long text of words. ".repeat(100);
        assert_eq!((tokens_from(&long, 600), tokens_from(&long, 602)), (Some(600 + 1), None));
    }

    proptest! {
        #[test]
        fn counts_as_the_whole_text_at_once(text in "([a-c]{1,3}|[ \\n'.!0-9é技]){0,60}") {
            let whole = bpe_openai::cl100k_base().count(text.as_str());
            prop_assert_eq!(tokens(&text), whole);
            prop_assert_eq!(tokens_from(&text, whole + 1), None);
            prop_assert!(tokens_from(&text, whole).is_none_or(|count| count == whole));
        }
    }
}
