//! Lexical retrieval: which texts of a collection a request resembles, and which resemble each other.
//!
//! [`Bm25`] ranks documents for a query; [`shingle_similarity`] tells near-duplicates. This crate knows nothing of trials.

mod bm25;
mod similarity;
mod tokens;

pub use bm25::{Bm25, Parameters};
pub use similarity::shingle_similarity;
pub use tokens::words;
