//! Words and runs of three of them, as overlap is measured in.

use std::collections::HashSet;
use std::sync::LazyLock;

/// English stop words. Three of them in a row are not distinctive.
static STOP: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("bank/stop.txt").lines().collect());

/// The properties of a word that are needed to compare runs of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    hash: u64,
    stop: bool,
}

/// The lower-cased runs of letters, digits and underscores, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Whether a lower-cased word carries no content.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(word)
}

impl Mark {
    /// The mark of a lower-cased word: its FNV-1a hash, 64 bits. A collision only costs a needless
    /// redraw.
    pub(super) fn of(word: &str) -> Self {
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { hash, stop: is_stop(word) }
    }
}

/// Every three words in a row that are not all stop words.
pub(super) fn grams(marks: &[Mark]) -> impl Iterator<Item = u64> + '_ {
    marks.windows(3).filter_map(|run| gram([run[0], run[1], run[2]]))
}

/// One run of three as a number; `None` if all three are stop words.
pub(super) fn gram(run: [Mark; 3]) -> Option<u64> {
    if run.iter().all(|mark| mark.stop) {
        return None;
    }
    // The multiplier is 2^64 over the golden ratio; order matters, so that "a b c" and "c b a"
    // differ.
    Some(
        run.iter()
            .fold(0, |sum: u64, mark| (sum.rotate_left(21) ^ mark.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> Vec<Mark> {
        words(text).map(|word| Mark::of(&word)).collect()
    }

    #[test]
    fn words_are_lower_cased_runs() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text}");
        check("", &[]);
        check("Run `a_b`, then x-2!", &["run", "a_b", "then", "x", "2"]);
        check("Été 東京", &["été", "東京"]);
    }

    #[test]
    fn runs_of_stop_words_do_not_count() {
        let check = |text: &str, expected| assert_eq!(grams(&marks(text)).count(), expected, "{text}");
        check("it is the", 0);
        check("it is the kettle", 1);
        check("kettle sings", 0);
        assert_ne!(
            gram(marks("a kettle sings")[..].try_into().unwrap()),
            gram(marks("sings kettle a")[..].try_into().unwrap())
        );
    }
}
