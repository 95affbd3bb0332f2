//! Counting in how many families of documents a run of tokens is found.

use std::collections::{BTreeMap, HashMap};

use assay_audit::rarity::{LEVELS, LONGEST, Table, hashes, level, tokens};

/// Families in which a run of so many tokens is found at least, to be in the table. Below, it counts
/// as found in one: the many sequences of exactly two families would double the table's size.
const LEAST: [u32; LONGEST] = [2, 3, 3];

/// Lists of names and idioms of standard libraries, shells, protocols and code of every kind, and
/// how their lines `head: name name` are read.
const COMMON: [(&str, Option<Expand>); 4] = [
    (include_str!("../../data/common/idioms.txt"), None),
    (include_str!("../../data/common/python.txt"), Some(module)),
    (include_str!("../../data/common/shell.txt"), Some(program)),
    (include_str!("../../data/common/web.txt"), None),
];

/// The texts that a head and one of its names stand for.
type Expand = fn(&str, &str) -> Vec<String>;

/// In how many families each run of one to three tokens is found.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    by_length: [HashMap<u64, u32>; LONGEST],
    families: usize,
}

impl Counts {
    /// Adds the documents of a family. What several of them contain counts once.
    pub fn add<'a>(&mut self, documents: impl IntoIterator<Item = &'a str>) {
        let mut seen: [Vec<u64>; LONGEST] = Default::default();
        for document in documents {
            for line in document.lines() {
                let tokens = tokens(line);
                for (length, seen) in seen.iter_mut().enumerate() {
                    seen.extend(hashes(&tokens, length + 1));
                }
            }
        }
        for (counts, mut seen) in self.by_length.iter_mut().zip(seen) {
            seen.sort_unstable();
            seen.dedup();
            for hash in seen {
                *counts.entry(hash).or_default() += 1;
            }
        }
        self.families += 1;
    }

    /// How many families were added.
    pub fn families(&self) -> usize {
        self.families
    }

    /// The table of these counts. Texts of `common` count as found everywhere.
    pub fn table<'a>(&self, common: impl IntoIterator<Item = &'a str>) -> Table {
        let mut levels: HashMap<u64, u8> = HashMap::new();
        for (counts, least) in self.by_length.iter().zip(LEAST) {
            levels.extend(
                counts
                    .iter()
                    .filter(|(_, count)| **count >= least)
                    .map(|(hash, count)| (*hash, level(*count))),
            );
        }
        for text in common {
            let tokens = tokens(text);
            for length in 1..=LONGEST {
                levels.extend(hashes(&tokens, length).map(|hash| (hash, LEVELS)));
            }
        }
        Table::new(levels)
    }
}

/// A skill of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The repository it is from.
    pub repository: String,
    /// The whole document.
    pub text: String,
}

/// Groups the skills of a corpus into families, as places in `documents`.
///
/// The skills of a repository have common authors and are one family. A repository with `large`
/// skills or more is a collection of skills of many: each is a family of its own, with its variants,
/// and belongs to the family of a small repository that has a variant. `variants` are pairs of
/// places.
pub fn families(
    documents: &[Document],
    variants: impl IntoIterator<Item = (usize, usize)>,
    large: usize,
) -> Vec<Vec<usize>> {
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    for document in documents {
        *sizes.entry(&document.repository).or_default() += 1;
    }
    let is_small = |at: usize| sizes[documents[at].repository.as_str()] < large;
    let mut parents: Vec<usize> = (0..documents.len()).collect();
    for (one, other) in variants {
        // A variant joins two skills, not the repositories that they are in.
        if !(is_small(one) && is_small(other)) {
            let (one, other) = (root(&mut parents, one), root(&mut parents, other));
            // The representative is of a small repository if one is.
            let (child, parent) = if is_small(one) { (other, one) } else { (one, other) };
            if !is_small(child) {
                parents[child] = parent;
            }
        }
    }
    let mut families: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for at in 0..documents.len() {
        let root = root(&mut parents, at);
        let family = if is_small(root) { (documents[root].repository.as_str(), 0) } else { ("", root) };
        families.entry(family).or_default().push(at);
    }
    families.into_values().collect()
}

/// The representative of a group; paths are halved on the way.
fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// The texts of the lists of common names.
///
/// A line is a text. In the lists of Python and of shells, `module: name name` stands for the ways
/// in which the names of a module are used, and `program: option option` for calls of a program.
/// Lines that begin with `#` and a space are comments.
pub fn common() -> Vec<String> {
    let mut texts = Vec::new();
    for (list, expand) in COMMON {
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
            match (expand, line.split_once(": ")) {
                (Some(expand), Some((head, names))) => {
                    texts.extend(names.split_whitespace().flat_map(|name| expand(head, name)));
                }
                _ => texts.push(line.to_owned()),
            }
        }
    }
    texts
}

fn module(module: &str, name: &str) -> Vec<String> {
    vec![format!("import {module}"), format!("from {module} import {name}"), format!("{module}.{name}")]
}

fn program(program: &str, option: &str) -> Vec<String> {
    vec![format!("{program} {option}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(families: &[&[&str]]) -> Counts {
        let mut counts = Counts::default();
        for family in families {
            counts.add(family.iter().copied());
        }
        counts
    }

    #[test]
    fn a_family_counts_once() {
        let counts = counted(&[&["alpha beta", "alpha beta gamma"], &["alpha delta"], &["beta\nalpha"]]);
        let count = |text: &str| {
            let tokens = tokens(text);
            let counts = &counts.by_length[tokens.len() - 1];
            hashes(&tokens, tokens.len()).next().and_then(|hash| counts.get(&hash)).copied().unwrap_or(0)
        };
        assert_eq!(counts.families(), 3);
        let found = ["alpha", "beta", "delta", "alpha beta", "alpha beta gamma", "beta alpha"].map(count);
        assert_eq!(found, [3, 2, 1, 1, 1, 0]);
    }

    #[test]
    fn variants_and_small_repositories_are_one_family() {
        let document = |repository: &str| Document { repository: repository.to_owned(), text: String::new() };
        // Two small repositories with two skills each, a collection of four.
        let documents = ["a", "a", "b", "b", "c", "c", "c", "c"].map(document);
        let check = |variants: &[(usize, usize)], expected: &[&[usize]]| {
            let mut found = families(&documents, variants.iter().copied(), 3);
            found.sort();
            assert_eq!(found, expected, "{variants:?}");
        };
        check(&[], &[&[0, 1], &[2, 3], &[4], &[5], &[6], &[7]]);
        check(&[(4, 5), (1, 6)], &[&[0, 1, 6], &[2, 3], &[4, 5], &[7]]);
        // A skill of the collection that is in both does not make them one.
        check(&[(0, 4), (4, 2)], &[&[0, 1, 4], &[2, 3], &[5], &[6], &[7]]);
        check(&[(0, 2), (6, 7), (7, 3)], &[&[0, 1], &[2, 3, 6, 7], &[4], &[5]]);
    }

    #[test]
    fn what_more_families_have_is_less_rare() {
        let words: Vec<String> = (0..10).map(|power| format!("w{power} tail{power} end{power}")).collect();
        let mut counts = Counts::default();
        for family in 0..512_u32 {
            // The word of a power of two is in as many families.
            let has = words.iter().enumerate().filter(|(power, _)| family < 1 << power);
            counts.add(has.map(|(_, word)| word.as_str()));
        }
        let table = counts.table([]);
        for texts in [words.clone(), (0..10).map(|power| format!("w{power}")).collect()] {
            let found: Vec<f64> = texts.iter().map(|text| table.rarity(text)).collect();
            assert!((found[0] - 1.0).abs() < f64::EPSILON && found[9].abs() < f64::EPSILON, "{found:?}");
            assert!(found.windows(2).all(|pair| pair[0] >= pair[1]), "{found:?}");
        }
        // A longer text is as rare as its rarest part.
        let long = format!("{} w9 tail9", words[9]);
        assert!(table.rarity(&long) > table.rarity(&words[9]));
    }

    #[test]
    fn common_texts_are_common_without_a_corpus() {
        let table = Counts::default().table(common().iter().map(String::as_str));
        for text in ["from os import path", "grep -r", "import json", "select", "%Y-%m-%d"] {
            assert!(table.rarity(text).abs() < f64::EPSILON, "{text}");
        }
        assert!((table.rarity("grep sieve") - 1.0).abs() < f64::EPSILON);
    }
}
