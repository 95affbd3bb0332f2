use super::literals::words;
use super::python::{is_word, lower};
use super::vocabulary::Vocabulary;

/// The words of an event's content. The contents of a window are joined without a gap, so that the
/// last word of one may go on in the next.
#[derive(Default)]
pub(super) struct Words {
    /// Those that end where they end, whatever surrounds the text.
    inner: Vec<u32>,
    /// The word that the text begins with.
    head: Option<u32>,
    /// The word that the text ends with.
    tail: Option<u32>,
    /// Whether these two are one, the whole text.
    whole: bool,
    /// Whether there is no text.
    empty: bool,
    /// Whether its lower case depends on the context, as for a capital sigma.
    sigma: bool,
}

/// A set of words, a bit each.
#[derive(Default)]
pub(super) struct WordSet(Vec<u64>);

impl WordSet {
    fn set(&mut self, id: u32) {
        let at = id as usize / 64;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (id % 64);
    }

    fn extend(&mut self, ids: impl IntoIterator<Item = u32>) {
        for id in ids {
            self.set(id);
        }
    }

    /// The share of common words among all; 0 where one set is empty.
    pub(super) fn jaccard(&self, other: &Self) -> f64 {
        let count = |bits: &[u64]| bits.iter().map(|bits| bits.count_ones()).sum::<u32>();
        let (mine, its) = (count(&self.0), count(&other.0));
        let common: u32 = self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones()).sum();
        if mine == 0 || its == 0 { 0.0 } else { f64::from(common) / f64::from(mine + its - common) }
    }
}

impl Words {
    /// Of a text, with all its words in order.
    pub(super) fn new(text: &str, ids: &mut Vocabulary) -> (Self, Vec<u32>) {
        let low = lower(text);
        let mut all = Vec::new();
        words(&low, |word| all.push(ids.id(word)));
        let head = all.first().copied().filter(|_| low.starts_with(is_word));
        let tail = all.last().copied().filter(|_| low.ends_with(is_word));
        let whole = all.len() == 1 && head.is_some() && tail.is_some();
        let from = usize::from(head.is_some());
        let to = if tail.is_some() { all.len() - 1 } else { all.len() };
        let mut inner = all.get(from..to).unwrap_or_default().to_vec();
        inner.sort_unstable();
        inner.dedup();
        (Self { inner, head, tail, whole, empty: text.is_empty(), sigma: text.contains('Σ') }, all)
    }

    /// The words of texts that are joined without a gap; `texts` gives the texts themselves.
    pub(super) fn joined<'a>(
        parts: impl Iterator<Item = &'a Self> + Clone,
        texts: impl Iterator<Item = &'a str>,
        ids: &mut Vocabulary,
    ) -> WordSet {
        let mut set = WordSet::default();
        if parts.clone().any(|part| part.sigma) {
            words(&lower(&texts.collect::<String>()), |word| set.set(ids.id(word)));
            return set;
        }
        // The word that may go on.
        let mut open: Option<u32> = None;
        for part in parts.filter(|part| !part.empty) {
            set.extend(part.inner.iter().copied());
            if let (Some(before), Some(head)) = (open, part.head) {
                let word = format!("{}{}", ids.text(before), ids.text(head));
                open = Some(ids.id(&word));
            } else {
                set.extend(open);
                open = part.head;
            }
            if !part.whole {
                set.extend(open);
                open = part.tail;
            }
        }
        set.extend(open);
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn joined_parts_have_the_words_of_the_joined_text() {
        for parts in [
            &["one two", "three", "four five"][..],
            &["one ", "two"],
            &["", "a", "", "b", ""],
            &["a", "b", "c d", "e", "-", "f"],
            &["..", "x y", ".."],
            &["ΑΣ", "α Σ", "Σ"],
            &["İ", "x"],
            &["", ""],
        ] {
            let mut ids = Vocabulary::default();
            let made: Vec<Words> = parts.iter().map(|part| Words::new(part, &mut ids).0).collect();
            let set = Words::joined(made.iter(), parts.iter().copied(), &mut ids);
            let mut expected = BTreeSet::new();
            words(&lower(&parts.concat()), |word| {
                expected.insert(ids.id(word));
            });
            let count = u32::try_from(ids.len()).expect("few");
            let got: BTreeSet<u32> = (0..count).filter(|id| set.has(*id)).collect();
            assert_eq!(got, expected, "{parts:?}");
        }
    }

    impl WordSet {
        fn has(&self, id: u32) -> bool {
            self.0.get(id as usize / 64).is_some_and(|bits| bits >> (id % 64) & 1 == 1)
        }
    }
}
