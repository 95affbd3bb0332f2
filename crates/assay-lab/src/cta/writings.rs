use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::skill::{Gram, Skill};

/// All that was written in a trace, as one run of words.
#[derive(Default)]
pub(super) struct Writings {
    words: Vec<u32>,
    /// By event; empty for one that wrote nothing.
    ranges: Vec<Range<usize>>,
    /// The number of the gram that begins at each word.
    grams: Vec<usize>,
    /// The skill's number of each gram.
    known: Vec<Option<u32>>,
}

/// Four words in a row, of what was written in a window.
pub(super) struct Grams {
    /// How many different ones.
    pub(super) distinct: usize,
    /// The skill's numbers of those it has too.
    pub(super) known: BTreeSet<u32>,
}

impl Writings {
    /// Adds what an event wrote.
    pub(super) fn push(&mut self, words: &[u32]) {
        let start = self.words.len();
        self.words.extend_from_slice(words);
        self.ranges.push(start..self.words.len());
    }

    /// Numbers the grams, once all is there.
    pub(super) fn index(&mut self, skill: &Skill) {
        let mut ids: HashMap<Gram, usize> = HashMap::new();
        for words in self.words.windows(4) {
            let gram = [words[0], words[1], words[2], words[3]];
            let id = *ids.entry(gram).or_insert_with(|| {
                self.known.push(skill.gram_id(gram));
                self.known.len() - 1
            });
            self.grams.push(id);
        }
    }

    /// The grams of what some events wrote, joined.
    pub(super) fn grams_of(&self, events: &[usize], skill: &Skill) -> Grams {
        let ranges: Vec<&Range<usize>> =
            events.iter().map(|&at| &self.ranges[at]).filter(|range| !range.is_empty()).collect();
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Grams { distinct: 0, known: BTreeSet::new() };
        };
        if last.end - first.start == ranges.iter().map(|range| range.len()).sum::<usize>() {
            // They are adjacent: the grams are numbered already.
            let grams = &self.grams[first.start..(last.end.max(first.start + 3) - 3)];
            let mut seen = vec![false; self.known.len()];
            for &id in grams {
                seen[id] = true;
            }
            let seen = || seen.iter().zip(&self.known).filter(|(seen, _)| **seen);
            return Grams {
                distinct: seen().count(),
                known: seen().filter_map(|(_, known)| *known).collect(),
            };
        }
        let words: Vec<u32> =
            ranges.into_iter().flat_map(|range| self.words[range.clone()].iter().copied()).collect();
        let grams: BTreeSet<Gram> = words.windows(4).map(|w| [w[0], w[1], w[2], w[3]]).collect();
        Grams { distinct: grams.len(), known: grams.iter().filter_map(|&gram| skill.gram_id(gram)).collect() }
    }
}
