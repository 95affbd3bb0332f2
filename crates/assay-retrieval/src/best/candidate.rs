//! A skill that the first ranking found, and what is known of it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::corpus::Document;
use crate::index_file::IndexFile;

/// How many features there are.
pub const FEATURES: usize = 13;

/// The features of one candidate.
pub type Features = [f64; FEATURES];

/// The place of the share of the name's information that the request holds.
pub(super) const NAMED: usize = 6;

/// The place of the share of the request's pairs of neighbours that the skill holds.
pub(super) const NEIGHBOURS: usize = 9;

/// How much of what a request says a skill holds, in weights of words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// In its name, description and headings.
    pub(crate) described: f64,
    /// Anywhere.
    pub(crate) anywhere: f64,
    /// All that the request says.
    pub(crate) asked: f64,
}

/// A skill that the first ranking found.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) number: u32,
    pub(crate) features: Features,
    /// What it holds of what the request says.
    pub(crate) held: Held,
    /// Whether the request names it as what it is not about.
    pub(crate) declined: bool,
}

/// Where the texts of documents are.
pub(crate) trait Texts: Send + Sync {
    /// A document, by its number; `None` where it cannot be read.
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
