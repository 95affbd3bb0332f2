//! Retrieval: finds the texts of a collection that a request resembles, and near-duplicates.
//!
//! [`Index`] has the words of many skills, and a [`Retriever`] ranks them for a request. [`Bm25`] does the same for a few texts;
//! [`shingle_similarity`] finds near-duplicates. This crate does not depend on trials.

pub mod analysis;
mod background;
pub mod best;
mod bm25;
mod catalogue;
mod corpus;
pub mod dense;
mod files;
pub mod hybrid;
mod index;
pub mod index_file;
pub mod queries;
mod related;
pub mod rerank;
mod retriever;
mod searcher;
mod sentences;
mod similarity;
mod tokens;

pub use best::DEFAULT_THRESHOLD;
pub use bm25::{Bm25, Parameters};
pub use catalogue::{
    DEFAULT, MODELS, NAMES, OpenError, OpenedRetriever, RetrieverContext, RetrieverSpec, UnknownRetriever,
};
pub use corpus::{Document, LineError, read_document};
pub use index::{Counts, FIELDS, Field, Index, Lengths, ordered};
pub use index_file::{IndexError, IndexFile, Stamp, are_current};
pub use retriever::{Hit, Lexical, Retriever, RetrieverError, Weighting, best_hits};
pub use searcher::{Answer, HitExplanation, SearchError, SearchHit, Searcher};
pub use sentences::sentences;
pub use similarity::{Shingles, shingle_similarity};
pub use tokens::words;
