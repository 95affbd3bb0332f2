//! Token counts.

use std::cell::RefCell;
use std::collections::HashMap;

/// Pieces that a thread remembers, and the longest of them in bytes: 2 MB or so.
const PIECES: usize = 1 << 15;
const PIECE: usize = 24;

thread_local! {
    /// Most pieces of a text are words that were in another before.
    static KNOWN: RefCell<HashMap<Box<str>, usize>> = RefCell::new(HashMap::new());
}

/// Counts tokens of the `cl100k_base` vocabulary. Every model has its own tokeniser: this is a common measure, not a bill.
pub fn tokens(text: &str) -> usize {
    count(text, |_, _| true).unwrap_or_default()
}

/// The same where there are at least `least`; `None` where there are fewer, and as soon as what is left cannot make it so many at two
/// bytes a token: no text of the corpus that assay is tested on has fewer.
pub fn tokens_from(text: &str, least: usize) -> Option<usize> {
    count(text, |found, left| found + left / 2 >= least).filter(|&found| found >= least)
}

/// Counts for as long as `on` holds for what was found and for the bytes that are left.
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
            found += known.get(piece).copied().unwrap_or_else(|| {
                let count = vocabulary.bpe.count(piece.as_bytes());
                if piece.len() <= PIECE && known.len() < PIECES {
                    known.insert(piece.into(), count);
                }
                count
            });
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
