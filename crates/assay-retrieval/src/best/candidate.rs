//! A skill in the first ranking, and its data.

use std::borrow::Cow;
use std::sync::Arc;

use crate::corpus::Document;
use crate::index_file::IndexFile;

/// How many features there are.
pub const FEATURES: usize = 13;

/// The features of one candidate.
pub type Features = [f64; FEATURES];

/// The place of the share of the name's information that is in the request.
pub(super) const NAMED: usize = 6;

/// The place of the share of the request's pairs of neighbours that are in the skill.
pub(super) const NEIGHBOURS: usize = 9;

/// How much of a request's information a skill covers, in weights of words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    /// In its name, description and headings.
    pub described: f64,
    /// Anywhere.
    pub anywhere: f64,
    /// The total weight of the request.
    pub requested: f64,
}

/// A skill that the first ranking found.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its number in the index.
    pub number: u32,
    /// What the model weighs.
    pub features: Features,
    /// How much of the request it covers.
    pub coverage: Coverage,
    /// Whether the request excludes it by name.
    pub declined: bool,
}

/// Where the texts of documents are.
pub trait Texts: Send + Sync {
    /// A document, by its number; `None` if it cannot be read.
    fn text(&self, number: u32) -> Option<Cow<'_, Document>>;
}

impl Texts for Arc<Vec<Document>> {
    fn text(&self, number: u32) -> Option<Cow<'_, Document>> {
        self.get(number as usize).map(Cow::Borrowed)
    }
}

impl Texts for &IndexFile {
    fn text(&self, number: u32) -> Option<Cow<'_, Document>> {
        self.document(number).ok().map(Cow::Owned)
    }
}
