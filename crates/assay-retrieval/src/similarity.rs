//! How much two texts share.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::words;

/// Words in a row that are compared.
const SHINGLE: usize = 3;

/// The Jaccard similarity of two texts' sets of word 3-grams, in [0, 1] (Broder 1997, "On the
/// resemblance and containment of documents"). Texts of fewer words are compared as one gram each.
/// Two texts without words share nothing.
pub fn shingle_similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (words(one), words(other));
    let (one, other) = (shingles(&one), shingles(&other));
    let shared = one.intersection(&other).count();
    let all = one.len() + other.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// A text's set of word 3-grams, for comparing it with many others. 64 bits of a hash of each are
/// kept: two sets of a thousand share one by chance with a probability under 10^-13.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shingles(Vec<u64>);

impl Shingles {
    /// Those of a text.
    pub fn of(text: &str) -> Self {
        let hash = |word: String| {
            let mut hasher = DefaultHasher::new();
            word.hash(&mut hasher);
            hasher.finish()
        };
        let words: Vec<u64> = words(text).into_iter().map(hash).collect();
        // Odd, so that multiplying maps different prefixes to different values.
        let join = |gram: &[u64]| {
            gram.iter()
                .fold(0, |sum: u64, word| (sum.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let mut hashes: Vec<u64> = words.windows(SHINGLE.min(words.len()).max(1)).map(join).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// As [`shingle_similarity`] has it.
    pub fn similarity(&self, other: &Self) -> f64 {
        let (mut shared, mut rest) = (0, other.0.as_slice());
        for hash in &self.0 {
            rest = &rest[rest.partition_point(|there| there < hash)..];
            shared += usize::from(rest.first() == Some(hash));
        }
        let all = self.0.len() + other.0.len() - shared;
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }
}

fn shingles(words: &[String]) -> BTreeSet<&[String]> {
    if words.is_empty() { BTreeSet::new() } else { words.windows(SHINGLE.min(words.len())).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_the_jaccard_index_of_three_grams() {
        let check = |one: &str, other: &str, expected: f64| {
            let (found, back) = (shingle_similarity(one, other), shingle_similarity(other, one));
            assert!((found - expected).abs() < 1e-12, "{one} | {other}: {found}");
            let kept = Shingles::of(one).similarity(&Shingles::of(other));
            assert!((found - kept).abs() < 1e-12, "{one} | {other}: {kept}");
            assert!((found - back).abs() < 1e-12);
        };
        check("", "", 0.0);
        check("ab", "ab", 1.0);
        check("ab cd ef", "ab cd ef", 1.0);
        check("AB, cd; ef", "ab cd ef", 1.0);
        // abc bcd | abc bce: one of three grams.
        check("aa bb cc dd", "aa bb cc ee", 1.0 / 3.0);
        check("aa bb cc", "dd ee ff", 0.0);
    }
}
