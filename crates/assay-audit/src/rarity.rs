//! How common a text is in public skills, standard libraries and idioms.
//!
//! A directive shows that a skill was followed only if runs without it would hardly do the same. A
//! table of document frequencies answers half of that: how many independent skills contain the
//! tokens of a text in a row. It is made by `assay lab audit rarity` from a corpus of public skills
//! and from lists of common names (`crates/assay-lab/data/common`), and embedded as hashes: no text of the corpus is
//! in it. docs/AUDIT.md has its provenance.

mod table;
mod tokens;

use std::sync::LazyLock;

pub use table::{LEVELS, Table, TableError, level};
pub use tokens::{LONGEST, hashes, tokens};

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

#[cfg(test)]
mod tests {
    use super::*;

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
