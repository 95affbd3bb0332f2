//! The first pass: which kinds of rule can match a text at all. One automaton over the raw bytes,
//! so that most files of most packages are read once and no further. Its words are those that the
//! rules declare.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::registry::RULES;
use super::rule::{Rule, Trigger};

/// Kinds of rule that have a candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hits(u8);

impl Hits {
    /// Phrases of text.
    pub(crate) const PROSE: Self = Self(1);
    /// Commands and calls.
    pub(crate) const CODE: Self = Self(2);
    /// Keys.
    pub(crate) const SECRET: Self = Self(4);
    /// Comments and elements that are not shown.
    pub(crate) const COMMENT: Self = Self(8);
    /// Words near the name of a secret.
    pub(crate) const ALL: Self = Self(15);

    /// The candidate kinds of a trigger word.
    fn of(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Prose => Self::PROSE,
            Trigger::Code => Self::CODE,
            Trigger::Secret => Self::SECRET,
            Trigger::Comment => Self::COMMENT,
        }
    }

    /// Whether one of `other` is among them.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

struct Needles {
    automaton: AhoCorasick,
    kinds: Vec<u8>,
}

static NEEDLES: LazyLock<Option<Needles>> = LazyLock::new(|| Needles::of(RULES.iter().copied()));

impl Needles {
    /// The trigger words of some rules.
    fn of<'r>(rules: impl Iterator<Item = &'r Rule>) -> Option<Self> {
        // Rules share words; the automaton has each once.
        let mut kinds_of: BTreeMap<&str, u8> = BTreeMap::new();
        for (trigger, words) in rules.flat_map(|rule| rule.triggers) {
            for word in *words {
                *kinds_of.entry(word).or_default() |= Hits::of(*trigger).0;
            }
        }
        let (words, kinds): (Vec<&str>, Vec<u8>) = kinds_of.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .build(words)
            .ok()?;
        Some(Self { automaton, kinds })
    }

    fn hits(&self, bytes: &[u8], enough: impl Fn(Hits) -> bool) -> Hits {
        let mut hits = Hits::default();
        for found in self.automaton.find_overlapping_iter(bytes) {
            hits.0 |= self.kinds[found.pattern().as_usize()];
            if enough(hits) {
                break;
            }
        }
        hits
    }
}

/// Which kinds of rule a text is a candidate for, checked up to where that is enough.
pub(crate) fn hits(bytes: &[u8], enough: impl Fn(Hits) -> bool) -> Hits {
    #[cfg(test)]
    if let Some(needles) = only::chosen() {
        return needles.hits(bytes, enough);
    }
    NEEDLES.as_ref().map_or(Hits::ALL, |needles| needles.hits(bytes, enough))
}

/// A first pass with the words of one rule, for tests.
#[cfg(test)]
pub(crate) mod only {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::{Needles, Rule};

    thread_local! {
        static CHOSEN: RefCell<Option<Rc<Needles>>> = const { RefCell::new(None) };
    }

    pub(super) fn chosen() -> Option<Rc<Needles>> {
        CHOSEN.with_borrow(Clone::clone)
    }

    /// Restricts the first pass of this thread to the words of this rule while `work` runs.
    pub(crate) fn words_of<T>(rule: &Rule, work: impl FnOnce() -> T) -> T {
        let needles = Needles::of(std::iter::once(rule)).expect("words make an automaton");
        CHOSEN.set(Some(Rc::new(needles)));
        let done = work();
        CHOSEN.set(None);
        done
    }
}

/// Whether a text has spaced-out letters (`i g n o r e`), in which no word can be found.
pub(crate) fn spread(bytes: &[u8]) -> bool {
    let mut run = 0;
    for pair in bytes.windows(2) {
        match (pair[0].is_ascii_alphabetic(), pair[1].is_ascii_alphabetic()) {
            (true, false) | (false, true) => run += 1,
            _ => run = 0,
        }
        if run >= 14 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_found_by_kind() {
        let all = |bytes| hits(bytes, |_| false);
        assert_eq!(all(b"Sort a list."), Hits::default());
        assert!(all(b"IGNORE all").has(Hits::PROSE));
        assert!(all(b"x | Curl").has(Hits::CODE));
        assert!(NEEDLES.is_some());
    }
}
