//! The overlap of a candidate with a request, as thirteen numbers.

use std::collections::HashMap;

use rayon::prelude::*;

use super::candidate::{Candidate, Coverage, FEATURES, Features, Texts};
use crate::analysis::{Stemmer, each_word, is_stop_word};
use crate::background;
use crate::corpus::Document;
use crate::index::{Counts, Field, Index, idf};
use crate::retriever::Hit;
use crate::sentences::sentences;

/// Their names.
pub const NAMES: [&str; FEATURES] = [
    "bm25f",
    "lm_document",
    "lm_description",
    "bm25_description",
    "cover_description",
    "cover_all",
    "name_named",
    "sentence_named",
    "section",
    "bigrams",
    "top_word",
    "length_description",
    "length_body",
];

/// Of the Dirichlet smoothing: about the words of a middling text (Zhai & Lafferty 2004, "A study
/// of smoothing methods for language models").
const MU: [(Field, f64); 2] = [(Field::Document, 1000.0), (Field::Description, 50.0)];

/// k₁ and b of BM25 over descriptions.
const DESCRIPTION: (f64, f64) = (1.2, 0.75);

/// Smoothing: information added to a sentence's own.
const SENTENCE: f64 = 5.0;

/// How much a section's length reduces its overlap, for each word.
const SECTION: f64 = 0.002;

/// Words of a request that are used, at most.
const WORDS: usize = 1024;

/// The weight of a related word in place of a request's own.
const RELATED: f64 = 0.5;

/// A word of a request, by its stem.
struct Term {
    number: Option<u32>,
    idf: f64,
    /// Share of all words of a field that are this one, by [`MU`].
    common: [f64; 2],
    /// Its inverse document frequency among descriptions.
    idf_description: f64,
    /// Its weight in general English, independent of the library.
    weight: f64,
}

struct Request {
    stemmer: Stemmer,
    /// Places in `terms`, by stem.
    places: HashMap<String, usize>,
    terms: Vec<Term>,
    /// Neighbours in the request, by their places, with their information; each pair once.
    pairs: HashMap<(usize, usize), f64>,
    /// The information of all words, and of all pairs.
    total: (f64, f64),
    /// The information of a word that is not in the request.
    unknown: f64,
}

impl Request {
    fn read(text: &str, related: &[&str], index: &Index) -> Self {
        let stemmer = index.stemmer();
        let mut own = Self {
            stemmer,
            places: HashMap::new(),
            terms: Vec::new(),
            pairs: HashMap::new(),
            total: (0.0, 0.0),
            unknown: (1.0 + index.len() as f64).ln(),
        };
        let totals = index.totals();
        let mut before = None;
        let mut words = 0;
        stemmer.each_word(&text.to_lowercase(), |word| {
            words += 1;
            if is_stop_word(word) || words > WORDS {
                return;
            }
            let stem = stemmer.stem(word);
            let place = own.places.get(stem).copied().unwrap_or_else(|| {
                own.places.insert(stem.to_owned(), own.terms.len());
                own.terms.push(Term::of(index.number(stem), index, &totals, background::weight(word)));
                own.terms.len() - 1
            });
            if let Some(before) = before.replace(place) {
                let total = own.terms[before].idf + own.terms[place].idf;
                own.pairs.insert((before, place), total);
            }
        });
        for word in related {
            let stem = stemmer.stem(word);
            if !own.places.contains_key(stem) {
                own.places.insert(stem.to_owned(), own.terms.len());
                own.terms.push(Term::of(index.number(stem), index, &totals, RELATED));
            }
        }
        // Sums in a fixed order: a hash map's order would change the rounding.
        let mut pairs: Vec<(&(usize, usize), &f64)> = own.pairs.iter().collect();
        pairs.sort_unstable_by_key(|(pair, _)| **pair);
        own.total =
            (own.terms.iter().map(|term| term.idf).sum(), pairs.iter().map(|(_, total)| **total).sum());
        own
    }

    /// The positions of a text's words; `None` for those that the request does not have, without
    /// stop words.
    fn for_each_word(&self, lower: &str, mut found: impl FnMut(Option<usize>, &str)) {
        self.stemmer.each_word(lower, |word| {
            if !is_stop_word(word) {
                let stem = self.stemmer.stem(word);
                found(self.places.get(stem).copied(), stem);
            }
        });
    }

    /// The information of a short text's distinct words: those in the request, and the others.
    fn shared_weights(&self, lower: &str) -> (f64, f64) {
        let mut seen: Vec<String> = Vec::new();
        let (mut shared, mut others) = (0.0, 0.0);
        self.for_each_word(lower, |place, stem| {
            if !seen.iter().any(|other| other == stem) {
                seen.push(stem.to_owned());
                match place {
                    Some(place) => shared += self.terms[place].idf,
                    None => others += self.unknown,
                }
            }
        });
        (shared, others)
    }

    /// The request's information in the best section, and that of the pairs of neighbours in the
    /// text.
    fn read_document(&self, document: &str) -> (f64, f64) {
        let lower = document.to_lowercase();
        let mut best = 0.0_f64;
        let mut held = vec![false; self.terms.len()];
        let (mut total, mut words) = (0.0, 0_usize);
        let mut before = None;
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for line in lower.split('\n') {
            if line.starts_with('#') && words > 0 {
                best = best.max(total / (1.0 + SECTION * words as f64));
                (total, words) = (0.0, 0);
                held.fill(false);
            }
            self.for_each_word(line, |place, _| {
                words += 1;
                if let Some(place) = place {
                    if !std::mem::replace(&mut held[place], true) {
                        total += self.terms[place].idf;
                    }
                    if let Some(before) = before
                        && self.pairs.contains_key(&(before, place))
                    {
                        pairs.push((before, place));
                    }
                }
                before = place;
            });
        }
        pairs.sort_unstable();
        pairs.dedup();
        let neighbours = pairs.iter().map(|pair| self.pairs[pair]).sum();
        (best.max(total / (1.0 + SECTION * words as f64)), neighbours)
    }
}

impl Term {
    fn of(number: Option<u32>, index: &Index, totals: &[f64; crate::FIELDS], weight: f64) -> Self {
        let counts = number.map_or(&[][..], |number| index.counts(index.entries(number)));
        let holders = |field: Field| counts.iter().filter(|own| own[field as usize] > 0).count();
        let sum = |field: Field| counts.iter().map(|own| f64::from(own[field as usize])).sum::<f64>();
        Self {
            number,
            idf: idf(index.len(), counts.len()),
            common: MU.map(|(field, _)| (sum(field) / totals[field as usize].max(1.0)).max(1e-9)),
            idf_description: idf(index.len(), holders(Field::Description)),
            weight,
        }
    }
}

/// The features of some hits of the first ranking. Words of `related` replace words of the request
/// that are not in the index.
pub(super) fn features(
    index: &Index,
    texts: &impl Texts,
    request: &str,
    related: &[&str],
    hits: &[Hit],
) -> Vec<Candidate> {
    let Some((_, top)) = hits.first() else { return Vec::new() };
    let words = plain(request);
    let request = Request::read(request, related, index);
    let requested = request.terms.iter().map(|term| term.weight).sum();
    let mean = index.mean_lengths()[Field::Description as usize].max(f64::MIN_POSITIVE);
    let of = |hit: &Hit| {
        let text = texts.text(hit.0).unwrap_or_default();
        Candidate {
            number: hit.0,
            features: request.of(index, &text, *hit, f64::from(*top), mean),
            coverage: request.coverage(index, hit.0, requested),
            declined: is_declined(&words, &text.name),
        }
    };
    hits.par_iter().map(of).collect()
}

/// Words that negate the following ones; `\b\w\w+\b` leaves `isn` of `isn't`.
const NO: [&str; 16] = [
    "not",
    "never",
    "without",
    "isn",
    "don",
    "doesn",
    "didn",
    "aren",
    "wasn",
    "shouldn",
    "cannot",
    "except",
    "excluding",
    "instead",
    "rather",
    "avoid",
];

/// Words of a negation before a name, as in `not using the`.
const REACH: usize = 3;

fn plain(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(&text.to_lowercase(), |word| {
        if words.len() < WORDS {
            words.push(word.to_owned());
        }
    });
    words
}

/// Whether a request rejects a skill by its name: `why is it not doca-eth?`. A name of one word may
/// be any word.
fn is_declined(request: &[String], name: &str) -> bool {
    let name = plain(name);
    name.len() > 1
        && request.windows(name.len()).enumerate().any(|(at, own)| {
            let before = &request[at.saturating_sub(REACH)..at];
            let has = |words: &[&str]| before.iter().any(|word| words.contains(&word.as_str()));
            own == name && has(&NO) && !has(&["only", "just"])
        })
}

impl Request {
    /// How much of the request's information a skill covers.
    fn coverage(&self, index: &Index, number: u32, requested: f64) -> Coverage {
        let mut coverage = Coverage { requested, ..Coverage::default() };
        for term in &self.terms {
            let Some(counts) = term.number.and_then(|word| index.counts_in(word, number)) else { continue };
            let described = [Field::Name, Field::Description, Field::Headings];
            if described.iter().any(|field| counts[*field as usize] > 0) {
                coverage.described += term.weight;
            }
            coverage.anywhere += term.weight;
        }
        coverage
    }

    fn of(&self, index: &Index, text: &Document, (number, score): Hit, top: f64, mean: f64) -> Features {
        let lengths = index.lengths()[number as usize].map(f64::from);
        let length = |field: Field| lengths[field as usize];
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let mut lm = MU.map(|(field, mu)| self.terms.len() as f64 * (mu / (length(field) + mu)).ln());
        let (mut bm25, mut described, mut covered, mut top_word) = (0.0, 0.0, 0.0, 0.0_f64);
        let (k1, b) = DESCRIPTION;
        let norm = k1 * (1.0 - b + b * length(Field::Description) / mean);
        for term in &self.terms {
            let none: Counts = Counts::default();
            let counts = term.number.and_then(|word| index.counts_in(word, number)).unwrap_or(&none);
            let count = |field: Field| f64::from(counts[field as usize]);
            for ((lm, (field, mu)), common) in lm.iter_mut().zip(MU).zip(term.common) {
                *lm += (1.0 + count(field) / (mu * common)).ln();
            }
            let tf = count(Field::Description);
            bm25 += term.idf_description * tf / (tf + norm);
            described += if tf > 0.0 { term.idf } else { 0.0 };
            covered += if counts.iter().any(|count| *count > 0) { term.idf } else { 0.0 };
            if tf + count(Field::Name) > 0.0 {
                top_word = top_word.max(term.idf);
            }
        }
        let named = |text: &str, beside: f64| {
            let (shared, others) = self.shared_weights(&text.to_lowercase());
            share(shared, shared + others + beside)
        };
        let sentence = sentences(&text.description).map(|own| named(own, SENTENCE)).fold(0.0, f64::max);
        let (section, neighbours) = self.read_document(&text.document);
        let (total, pairs_total) = self.total;
        let most = self.terms.iter().map(|term| term.idf).fold(0.0, f64::max);
        [
            f64::from(score) / top,
            lm[0] / top,
            lm[1] / top,
            bm25 / top,
            share(described, total),
            share(covered, total),
            named(&text.name, 0.0),
            sentence,
            share(section, total),
            share(neighbours, pairs_total),
            share(top_word, most),
            length(Field::Description).ln_1p(),
            length(Field::Body).ln_1p(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negated_skill_names_are_detected() {
        let check = |request: &str, name: &str, expected: bool| {
            assert_eq!(is_declined(&plain(request), name), expected, "{request}: {name}");
        };
        check("Which skill fits, and why is it not doca-eth?", "doca-eth", true);
        check("I don't want the log audit here", "log-audit", true);
        check("use doca-eth", "doca-eth", false);
        check("not only doca-eth but more", "doca-eth", false);
        check("This is not about networks at all: set doca-eth up", "doca-eth", false);
        check("not the planner", "planner", false);
        check("not doca", "doca-eth", false);
        check("", "doca-eth", false);
        check("not", "", false);
    }
}
