//! A skill's document, prepared for comparing with traces.

use std::collections::{BTreeSet, HashMap};

use super::literals::{literals, words};
use super::python::{lower, universal_newlines};
use super::sentences::sections;
use super::vectors::{Bag, Dense, Weights, bag};
use super::vocabulary::Vocabulary;

/// Most terms that the vectors of sections have.
const TERMS: usize = 4096;

/// Four words in a row, by their numbers.
pub(super) type Gram = [u32; 4];

/// The document of one skill.
pub(super) struct Skill {
    sections: Vec<Section>,
    weights: Weights,
    /// Literals of the document and of its sections.
    literals: HashMap<String, u32>,
    /// Which of them the document itself has.
    whole: BTreeSet<u32>,
    grams: HashMap<Gram, u32>,
    /// The grams that occur only where the end of a section meets the document's beginning, and
    /// which sections' ends: the released program puts the one before the other.
    seams: HashMap<u32, Vec<usize>>,
}

struct Section {
    text: String,
    vector: Vec<(u32, f64)>,
    literals: BTreeSet<u32>,
}

/// The section nearest to an intent.
#[derive(Clone, Copy)]
pub(super) struct Region {
    /// Which; `None` where it shares no word with the intent.
    pub(super) section: Option<usize>,
    /// Its cosine.
    pub(super) similarity: f64,
}

impl Skill {
    pub(super) fn new(text: &str, words_of: &mut Vocabulary, terms_of: &mut Vocabulary) -> Self {
        let text = universal_newlines(text);
        let parts = sections(&text);
        let bags: Vec<Bag> = parts.iter().map(|part| bag(part, terms_of)).collect();
        let weights = Weights::from_bags(bags.iter(), TERMS, terms_of);

        let mut known = HashMap::new();
        let mut number = |text: &str| -> BTreeSet<u32> {
            let characters: Vec<char> = text.chars().collect();
            let number = |literal| {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(literal).or_insert(next)
            };
            literals(&characters).into_iter().map(number).collect()
        };
        let whole = number(&text);
        let sections: Vec<Section> = parts
            .iter()
            .zip(&bags)
            .map(|(part, bag)| Section {
                text: (*part).to_owned(),
                vector: weights.vector(bag),
                literals: number(part),
            })
            .collect();

        let mut tokens = |text: &str| {
            let mut ids = Vec::new();
            words(&lower(text), |word| ids.push(words_of.id(word)));
            ids
        };
        let document = tokens(&text);
        let mut grams = HashMap::new();
        for gram in document.windows(4) {
            gram_id(&mut grams, gram);
        }
        let whole_grams = grams.len();
        let mut seams: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, part) in parts.iter().enumerate() {
            let mut seam = tokens(part);
            // The words of a section are words of the document: only what reaches over its end is
            // new.
            seam.drain(..seam.len().saturating_sub(3));
            seam.extend(document.iter().take(3));
            for gram in seam.windows(4) {
                let id = gram_id(&mut grams, gram);
                if id as usize >= whole_grams {
                    seams.entry(id).or_default().push(at);
                }
            }
        }
        Self { sections, weights, literals: known, whole, grams, seams }
    }

    /// The section nearest to an intent.
    pub(super) fn region(&self, intent: &Bag, dense: &mut Dense) -> Region {
        let vector = self.weights.vector(intent);
        match dense.nearest(&vector, self.sections.iter().map(|section| section.vector.as_slice())) {
            Some((section, similarity)) => Region { section: Some(section), similarity },
            None => Region { section: None, similarity: 0.0 },
        }
    }

    /// As many numbers as a dense vector of an intent needs here.
    pub(super) fn dense(&self) -> Dense {
        Dense::new(self.weights.len())
    }

    pub(super) fn text(&self, region: Region) -> &str {
        region.section.map_or("", |at| &self.sections[at].text)
    }

    /// The number of a literal that the document or a section has.
    pub(super) fn literal(&self, literal: &str) -> Option<u32> {
        self.literals.get(literal).copied()
    }

    /// The number of four words that occur in the document, or at a seam.
    pub(super) fn gram_id(&self, gram: Gram) -> Option<u32> {
        self.grams.get(&gram).copied()
    }

    /// Whether a literal counts for a region, in the region and the document together and in the
    /// region alone.
    pub(super) fn has_literal(&self, literal: u32, region: Region) -> (bool, bool) {
        let inside = region.section.is_some_and(|at| self.sections[at].literals.contains(&literal));
        (inside || self.whole.contains(&literal), inside)
    }

    /// Whether four words count for a region.
    pub(super) fn has_gram(&self, gram: u32, region: Region) -> bool {
        self.seams.get(&gram).is_none_or(|sections| region.section.is_some_and(|at| sections.contains(&at)))
    }
}

/// The number of a gram, given now where it has none.
fn gram_id(grams: &mut HashMap<Gram, u32>, gram: &[u32]) -> u32 {
    let next = u32::try_from(grams.len()).unwrap_or(u32::MAX);
    *grams.entry([gram[0], gram[1], gram[2], gram[3]]).or_insert(next)
}
