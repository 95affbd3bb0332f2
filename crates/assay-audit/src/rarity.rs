//! How common a text is in public skills, standard libraries and idioms.
//!
//! A directive shows that a skill was followed only if runs without it would hardly do the same. A
//! table of document frequencies answers half of that: how many independent skills contain the
//! tokens of a text in a row. It is made by `assay lab audit rarity` from a corpus of public skills
//! and from lists of common names (`data/common`), and embedded as hashes: no text of the corpus is
//! in it. docs/AUDIT.md has its provenance.

mod build;
mod table;

use std::sync::LazyLock;

pub use build::{Counts, Document, common, families};
pub use table::{Table, TableError};

/// Tokens in a row that the table counts at most.
const LONGEST: usize = 3;

/// The table that is part of the program.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // The file is in the repository, and a test reads it.
    Table::read(include_bytes!("../data/rarity.bin")).expect("the embedded table is valid")
});

/// How rare a text is: 1 if at most one family of public skills contains it, 0 if 256 or more do or
/// it is in a standard library, and in between on a logarithmic scale.
///
/// A text of one to three tokens is looked up as a whole. A longer one is as rare as the rarest
/// three tokens in a row of it. A text without tokens is common.
pub fn rarity(text: &str) -> f64 {
    TABLE.rarity(text)
}

/// The tokens of a text, in lower case: runs of letters, digits and `_`; numbers with their
/// decimals and percent sign, without thousands separators; options with their dashes.
pub fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let end = token_end(&chars, at);
        if end == at {
            at += 1;
            continue;
        }
        let token: String = chars[at..end].iter().collect();
        let token = token.to_lowercase();
        let is_number = token.starts_with(|c: char| c.is_ascii_digit());
        found.push(if is_number { token.replace(',', "") } else { token });
        at = end;
    }
    found
}

/// The end of the token that begins at `at`; `at` itself where none does.
fn token_end(chars: &[char], at: usize) -> usize {
    let word = |at: usize| chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let run = |mut at: usize| {
        while word(at) {
            at += 1;
        }
        at
    };
    if chars[at] == '-' {
        let dashes = 1 + usize::from(chars.get(at + 1) == Some(&'-'));
        let opens = at == 0 || !(word(at - 1) || chars[at - 1] == '-');
        if !opens || !chars.get(at + dashes).is_some_and(char::is_ascii_alphabetic) {
            return at;
        }
        let mut end = run(at + dashes);
        while chars.get(end) == Some(&'-') && word(end + 1) {
            end = run(end + 1);
        }
        return end;
    }
    let mut end = run(at);
    if digit(at) && chars[at..end].iter().all(char::is_ascii_digit) {
        while matches!(chars.get(end), Some('.' | ',')) && digit(end + 1) {
            end += 1;
            while digit(end) {
                end += 1;
            }
        }
        end += usize::from(chars.get(end) == Some(&'%'));
    }
    end
}

/// The hashes of a text's runs of `length` tokens.
fn hashes(tokens: &[String], length: usize) -> impl Iterator<Item = u64> + '_ {
    tokens.windows(length).map(hash)
}

/// The same in every process and version: tables are compared by it (FNV-1a, and a last step of
/// `SplitMix64`, since the table keeps the upper bits).
fn hash(tokens: &[String]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for token in tokens {
        token.bytes().for_each(&mut add);
        add(0);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_numbers_and_options() {
        let check = |text: &str, expected: &[&str]| assert_eq!(tokens(text), expected, "{text}");
        check("git rebase --onto main -i", &["git", "rebase", "--onto", "main", "-i"]);
        check("at most 1,732.50 or 15%", &["at", "most", "1732.50", "or", "15%"]);
        check("if __name__ == \"__main__\":", &["if", "__name__", "__main__"]);
        check("re-read a--b - c", &["re", "read", "a", "b", "c"]);
        check("`--dry-run=client` v1.2", &["--dry-run", "client", "v1", "2"]);
        check("", &[]);
    }

    #[test]
    fn idioms_and_standard_names_are_common() {
        for text in [
            "from dataclasses import dataclass",
            "set -euo pipefail",
            "if __name__ == \"__main__\"",
            "import os",
            "json.dumps",
            "git commit -m",
            "SELECT * FROM",
            "#!/usr/bin/env bash",
            "README.md",
        ] {
            assert!(rarity(text) <= 0.25, "{text}: {}", rarity(text));
        }
    }

    #[test]
    fn made_up_names_are_rare() {
        for text in ["qxv_ledger_gate", "--frobnicate-twice", "zq999983", "hold.qqx.sum"] {
            assert!(rarity(text) >= 0.75, "{text}: {}", rarity(text));
        }
        assert!(rarity("").abs() < f64::EPSILON);
    }
}
