//! Descriptions that a model cannot distinguish.

use std::collections::{BTreeMap, HashMap};

use assay_retrieval::{shingle_similarity, words};

use super::{Library, LibraryFamily};
use crate::client::{AGENTS, Client};
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::Warning;
use crate::rule::{Findings, Rule, rule};

pub(super) struct Descriptions;

const RULES: &[Rule] = &[rule!(
    "description-duplicate",
    Severities::none().with(Warning, &AGENTS),
    [148],
    "agnix, NVIDIA",
    "another skill of the library has nearly the same description: a model cannot choose between them",
    "Say how the two skills differ, or keep one of them."
)];

/// Descriptions above this similarity (Jaccard, of word 3-grams) are nearly the same.
const SAME: f64 = 0.8;

impl LibraryFamily for Descriptions {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, library: &Library<'_>, findings: &mut [Findings], _: &mut Findings) {
        let members = &library.members;
        // Equal texts are grouped: only one of each is compared with others.
        let mut texts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            let text = member
                .load_result(Client::Lenient)
                .and_then(|load_result| load_result.description.as_deref());
            if let Some(text) = text.filter(|text| words(text).len() >= 4) {
                texts.entry(text).or_default().push(at);
            }
        }
        let texts: Vec<(&str, Vec<usize>)> = texts.into_iter().collect();
        let mut nearest: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (_, places) in texts.iter().filter(|(_, places)| places.len() > 1) {
            for (nth, &at) in places.iter().enumerate() {
                nearest.insert(at, (places[usize::from(nth == 0)], 1.0));
            }
        }
        for (one, other, alike) in near(&texts.iter().map(|(text, _)| *text).collect::<Vec<_>>()) {
            for (from, to) in [(one, other), (other, one)] {
                for &at in &texts[from].1 {
                    let known = nearest.get(&at).map_or(0.0, |(_, alike)| *alike);
                    if alike > known {
                        nearest.insert(at, (texts[to].1[0], alike));
                    }
                }
            }
        }
        for (at, (other, alike)) in nearest {
            let (member, other) = (members[at], members[other]);
            let message = if alike >= 1.0 {
                format!("the same description as {}", other.root.display())
            } else {
                format!(
                    "{:.0}% of the three-word sequences also occur in {}",
                    100.0 * alike,
                    other.root.display()
                )
            };
            findings[at]
                .add_at("description-duplicate", &member.file, Some(member.description), message)
                .hint("say how the two differ, or keep one of them");
        }
    }
}

/// The pairs of texts with a similarity of at least [`SAME`].
///
/// Exact, by the prefix filter of Chaudhuri, Ganti and Kaushik (2006): of two sets with Jaccard
/// similarity t, the rarest (1 - t) |set| + 1 members of each have one in common, so that only
/// texts which share such a member are compared.
fn near(texts: &[&str]) -> Vec<(usize, usize, f64)> {
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut counts: Vec<u32> = Vec::new();
    let sets: Vec<Vec<u32>> = texts
        .iter()
        .map(|text| {
            let words = words(text);
            let mut set: Vec<u32> = words
                .windows(3.min(words.len()).max(1))
                .map(|gram| {
                    *ids.entry(gram.join(" ")).or_insert_with(|| {
                        counts.push(0);
                        u32::try_from(counts.len() - 1).unwrap_or(u32::MAX)
                    })
                })
                .collect();
            set.sort_unstable();
            set.dedup();
            for &gram in &set {
                counts[gram as usize] += 1;
            }
            set
        })
        .collect();
    let mut index: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        let mut rare = set.clone();
        rare.sort_by_key(|&gram| (counts[gram as usize], gram));
        // In whole numbers: SAME is four fifths.
        let prefix = set.len() - (4 * set.len()).div_ceil(5) + 1;
        let mut candidates: Vec<usize> = Vec::new();
        for gram in rare.into_iter().take(prefix.min(set.len())) {
            let places = index.entry(gram).or_default();
            candidates.extend(places.iter());
            places.push(at);
        }
        candidates.sort_unstable();
        candidates.dedup();
        for other in candidates {
            let (a, b) = (set.len(), sets[other].len());
            if (a.min(b) as f64) < SAME * a.max(b) as f64 {
                continue;
            }
            let alike = shingle_similarity(texts[at], texts[other]);
            if alike >= SAME {
                pairs.push((other, at, alike));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the plain comparison of every pair.
        #[test]
        fn no_pair_is_missed(texts in proptest::collection::vec("[ab]( [a-c]){3,12}", 2..12)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut found: Vec<_> = near(&texts).into_iter().map(|(a, b, _)| (a, b)).collect();
            found.sort_unstable();
            let mut expected = Vec::new();
            for b in 0..texts.len() {
                for a in 0..b {
                    if shingle_similarity(texts[a], texts[b]) >= SAME {
                        expected.push((a, b));
                    }
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
