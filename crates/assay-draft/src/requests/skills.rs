//! The skills that requests are written for, and which of them resemble each other.

use assay_fs::Digest;
use assay_retrieval::{Bm25, Document, Parameters, shingle_similarity};

/// Similarity of word 3-grams from which two skills are copies of each other.
pub const COPY: f64 = 0.8;

/// Neighbours that are compared in search of copies.
const COMPARED: usize = 20;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Unique in the library.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The complete `SKILL.md`.
    pub text: String,
    /// The digest of the text.
    pub digest: Digest,
}

impl Skill {
    /// A skill, with the digest of its text.
    pub fn new(id: String, name: String, description: String, text: String) -> Self {
        let digest = Digest::of(text.as_bytes());
        Self { id, name, description, text, digest }
    }

    pub(super) fn document(&self) -> Document {
        Document {
            id: self.id.clone(),
            name: self.name.clone(),
            description: self.description.clone(),
            document: self.text.clone(),
            ..Document::default()
        }
    }
}

/// A library with an index over its texts. Skills are named by their place.
#[derive(Debug, Clone)]
pub struct Skills {
    all: Vec<Skill>,
    index: Bm25,
}

impl Skills {
    /// Indexes name, description and text of each skill.
    pub fn new(all: Vec<Skill>) -> Self {
        let texts: Vec<String> = all
            .iter()
            .map(|skill| format!("{}\n{}\n{}", skill.name, skill.description, skill.text))
            .collect();
        let index = Bm25::new(texts.iter().map(String::as_str), Parameters::default());
        Self { all, index }
    }

    /// All skills, in order.
    pub fn all(&self) -> &[Skill] {
        &self.all
    }

    /// A skill by its place.
    pub fn get(&self, place: usize) -> &Skill {
        &self.all[place]
    }

    /// Skills that share words with a text, best first by BM25.
    pub fn nearest(&self, text: &str) -> impl Iterator<Item = usize> + use<> {
        self.index.rank(text).into_iter().map(|(place, _)| place)
    }

    /// Skills in the order of their resemblance to name and description of one, without itself.
    pub fn neighbours(&self, place: usize) -> impl Iterator<Item = usize> {
        let own = &self.all[place];
        self.nearest(&format!("{} {}", own.name, own.description)).filter(move |other| *other != place)
    }

    /// Other skills with the same or nearly the same text: a request for the one is a request for the other.
    pub fn copies(&self, place: usize) -> Vec<usize> {
        let own = &self.all[place];
        let is_copy = |other: &usize| {
            let other = &self.all[*other];
            other.digest == own.digest || shingle_similarity(&own.text, &other.text) >= COPY
        };
        let mut copies: Vec<usize> = self.neighbours(place).take(COMPARED).filter(is_copy).collect();
        copies.sort_unstable();
        copies
    }
}
