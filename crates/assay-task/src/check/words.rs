//! Words as numbers, and runs of them that two texts share.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::subject::Text;

/// Words in a row that have to be equal before a run is one.
pub(super) const GRAM: usize = 8;
/// Distinct words of a run that have to carry some meaning.
const CONTENT: usize = 5;

/// Words without meaning of their own.
const STOP: &str = " the and for with that this from are was were has have had not but you your its his her our their will \
    can may all any each one two into out over under than then them they what when where which who how why use used using \
    also only must should would could there here such more most some other same def return import self none true false \
    else elif try except print path open str int len list dict row rows line lines file name text value ";

/// Numbers for words.
#[derive(Default)]
pub(super) struct Lexicon {
    ids: HashMap<String, u32>,
    content: Vec<bool>,
}

/// A text as numbers.
pub(super) struct Words {
    ids: Vec<u32>,
    lines: Vec<usize>,
}

impl Lexicon {
    /// The words of a text: runs of letters and digits, in lower case.
    pub(super) fn words(&mut self, text: &Text) -> Words {
        let mut words = Words { ids: Vec::new(), lines: Vec::new() };
        // Every import of a library uses the same words.
        for (line, there) in text.lines().filter(|(_, there)| !is_import(there)) {
            for word in there.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                let word = word.to_lowercase();
                let next = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
                let meant = word.chars().count() >= 3 && !STOP.contains(&format!(" {word} "));
                let id = *self.ids.entry(word).or_insert(next);
                if id as usize == self.content.len() {
                    self.content.push(meant);
                }
                words.ids.push(id);
                words.lines.push(line);
            }
        }
        words
    }

    fn is_distinctive(&self, ids: &[u32]) -> bool {
        let meant: BTreeSet<u32> = ids
            .iter()
            .copied()
            .filter(|id| self.content.get(*id as usize).copied().unwrap_or(true))
            .collect();
        meant.len() >= CONTENT
    }
}

/// Whether a line only imports libraries.
pub(super) fn is_import(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>', '$']);
    let starts = |word: &str| line.starts_with(word);
    starts("import ")
        || starts("from ") && line.contains(" import ")
        || starts("#include")
        || starts("package ") && line.trim_end().ends_with(';')
        || (starts("use ") || starts("using ")) && line.trim_end().ends_with(';')
        || starts("library(")
        || line.contains("require(") && (starts("const ") || starts("let ") || starts("var "))
        || starts("} from ")
}

/// A run of words that two texts share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Which of the first texts.
    pub(super) from: usize,
    /// Its first and last line there.
    pub(super) from_lines: (usize, usize),
    /// The first and last line in the other text.
    pub(super) lines: (usize, usize),
    /// How many words.
    pub(super) words: usize,
}

/// Text that may be shared without a leak.
#[derive(Default)]
pub(super) struct Known(HashSet<[u32; GRAM]>);

impl Known {
    pub(super) fn add(&mut self, words: &Words) {
        self.0.extend(words.ids.windows(GRAM).filter_map(|gram| <[u32; GRAM]>::try_from(gram).ok()));
    }
}

/// The first texts, by their n-grams.
pub(super) struct Index {
    texts: Vec<Words>,
    grams: HashMap<[u32; GRAM], (usize, usize)>,
}

impl Index {
    pub(super) fn new(texts: Vec<Words>) -> Self {
        let mut grams = HashMap::new();
        for (number, text) in texts.iter().enumerate() {
            for (at, gram) in text.ids.windows(GRAM).enumerate() {
                if let Ok(gram) = <[u32; GRAM]>::try_from(gram) {
                    grams.entry(gram).or_insert((number, at));
                }
            }
        }
        Self { texts, grams }
    }

    /// The runs that a text shares with these, in its order, none overlapping. A known text ends a
    /// run.
    pub(super) fn runs(&self, text: &Words, known: &Known, lexicon: &Lexicon) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut at = 0;
        while at + GRAM <= text.ids.len() {
            let Some((from, start)) = self.find(text, at, known) else {
                at += 1;
                continue;
            };
            let other = &self.texts[from];
            let mut words = GRAM;
            while at + words < text.ids.len()
                && start + words < other.ids.len()
                && text.ids[at + words] == other.ids[start + words]
                && !Self::is_known(text, at + words + 1 - GRAM, known)
            {
                words += 1;
            }
            if lexicon.is_distinctive(&text.ids[at..at + words]) {
                runs.push(Run {
                    from,
                    from_lines: (other.lines[start], other.lines[start + words - 1]),
                    lines: (text.lines[at], text.lines[at + words - 1]),
                    words,
                });
            }
            at += words;
        }
        runs
    }

    fn find(&self, text: &Words, at: usize, known: &Known) -> Option<(usize, usize)> {
        let gram = <[u32; GRAM]>::try_from(text.ids.get(at..at + GRAM)?).ok()?;
        if known.0.contains(&gram) { None } else { self.grams.get(&gram).copied() }
    }

    fn is_known(text: &Words, at: usize, known: &Known) -> bool {
        text.ids
            .get(at..at + GRAM)
            .and_then(|gram| <[u32; GRAM]>::try_from(gram).ok())
            .is_some_and(|gram| known.0.contains(&gram))
    }
}

/// How many single-character changes turn one text into another; `None` beyond `most`.
pub(super) fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (before + usize::from(a != b)).min(above + 1).min(row[j] + 1);
            before = above;
        }
        if row.iter().min().is_none_or(|least| *least > most) {
            return None;
        }
    }
    row.last().copied().filter(|found| *found <= most)
}
