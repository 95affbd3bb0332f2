//! From a line of text to the features that two texts can share.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Words in a row that make a feature. Two in a row turn up in unrelated text too often, four miss
/// what was rewritten a little.
const RUN: usize = 3;

/// A run needs one word of this many letters: without one it is grammar or numbers.
const TELLING_WORD: usize = 5;

/// Identifiers of this length are distinctive on their own.
const TELLING_IDENTIFIER: usize = 6;

/// Words a line is read to. Longer ones are data.
const LINE_CAP: usize = 2000;

/// What a line holds that another text can hold as well: three words in a row, or one identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feature {
    /// Which words of the line.
    pub(crate) words: Range<usize>,
    /// The same in every text of this process; 64 bits, so that two of a million features collide
    /// once in 10⁷ corpora.
    pub(crate) key: u64,
}

/// The line's runs of letters, digits and `_`. Scripts without spaces between words give a word for
/// each character.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices() {
        let dense = is_dense(c);
        let inside = c.is_alphanumeric() || c == '_';
        if (!inside || dense)
            && let Some(start) = start.take()
        {
            words.push(&line[start..at]);
        }
        if dense {
            words.push(&line[at..at + c.len_utf8()]);
        } else if inside && start.is_none() {
            start = Some(at);
        }
        if words.len() >= LINE_CAP {
            return words;
        }
    }
    if let Some(start) = start {
        words.push(&line[start..]);
    }
    words
}

/// The features of a line's words, by where they begin.
pub(crate) fn features(words: &[&str]) -> Vec<Feature> {
    let mut features = Vec::new();
    for start in 0..words.len() {
        let range = start..start + RUN;
        if let Some(run) = words.get(range.clone())
            && run.iter().any(|word| is_distinctive(word))
        {
            features.push(Feature { words: range, key: key(run) });
        }
        if is_identifier(words[start]) {
            features.push(Feature { words: start..start + 1, key: key(&words[start..=start]) });
        }
    }
    features
}

/// Han, Hiragana and Katakana, which are written without spaces.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

fn is_distinctive(word: &str) -> bool {
    let dense = word.chars().next().is_some_and(is_dense);
    let digits = word.chars().all(|c| c.is_ascii_digit());
    dense || (!digits && word.chars().count() >= TELLING_WORD)
}

/// `snake_case` or `camelCase`.
fn is_identifier(word: &str) -> bool {
    let word = word.trim_matches('_');
    let hump = || word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    word.chars().count() >= TELLING_IDENTIFIER && (word.contains('_') || hump())
}

fn key(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in words {
        word.to_lowercase().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_digits_and_underscores() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line), expected, "{line}");
        check("", &[]);
        check("  `cd ghost/core && yarn test:single`", &["cd", "ghost", "core", "yarn", "test", "single"]);
        check("0.8.14 _loaded_at", &["0", "8", "14", "_loaded_at"]);
        check("運行 npm test", &["運", "行", "npm", "test"]);
        check("Größe", &["Größe"]);
        assert_eq!(words(&"a ".repeat(10_000)).len(), LINE_CAP);
    }

    #[test]
    fn features_are_telling_runs_and_identifiers() {
        let check = |line: &str, expected: &[&str]| {
            let words = words(line);
            let found: Vec<String> =
                features(&words).iter().map(|feature| words[feature.words.clone()].join(" ")).collect();
            assert_eq!(found, expected, "{line}");
        };
        check("file in the", &[]);
        check("0 0 10000", &[]);
        check("in the file system", &["the file system"]);
        check("SELECT _loaded_at", &["_loaded_at"]);
        check("when WebMvcTest runs", &["when WebMvcTest runs", "WebMvcTest"]);
        check("HTTP_OK", &["HTTP_OK"]);
        check("_x_", &[]);
    }

    #[test]
    fn case_and_punctuation_do_not_count_and_order_does() {
        let keys = |line: &str| features(&words(line)).into_iter().map(|f| f.key).collect::<Vec<_>>();
        assert_eq!(keys("Set -Eeuo `pipefail`"), keys("set eeuo pipefail"));
        assert_ne!(keys("eeuo set pipefail"), keys("set eeuo pipefail"));
        // Words, not letters, are compared.
        assert_ne!(keys("ab cd efghi"), keys("abc d efghi"));
    }
}
