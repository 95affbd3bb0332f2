//! An index as a file: written once, and read only where a request needs it.
//!
//! Little-endian, in this order: 8 magic bytes, the format's version, the length of the header, the
//! header (JSON) and its BLAKE3 digest; then the sections that the header lists. A word's entries
//! are found by a binary search over the words, so that a request reads a few hundred kilobytes of
//! a file of any size. The file is not trusted: every offset and length is checked, and a mismatch
//! is [`IndexError::Damaged`].

mod read;
mod stamps;
mod write;

pub use self::stamps::{Stamp, are_current};

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::analysis::Stemmer;
use crate::corpus::Document;

/// What an index begins with.
const MAGIC: [u8; 8] = *b"ASSAYIDX";

/// The format's version. An index of a later one is refused. Format 1 has the same layout; its words of Han, Katakana and Hangul are
/// whole runs, which requests rarely have.
pub const VERSION: u32 = 2;

/// The earliest format that is read.
const EARLIEST_VERSION: u32 = 1;

/// Most bytes of a header.
const HEADER_CAP: u64 = 1 << 16;

/// Why an index cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// It cannot be written.
    #[error("cannot write the index {}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It cannot be read.
    #[error("cannot read the index {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{} is not an assay index", _0.display())]
    Foreign(PathBuf),
    /// It is of another version.
    #[error("the index {} has format {found}; this version of assay reads format {VERSION}", path.display())]
    Version {
        /// Which.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Its content is inconsistent.
    #[error("the index {} is damaged: {what}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// The mismatched part.
        what: &'static str,
    },
}

/// The position of a section in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Section {
    start: u64,
    bytes: u64,
}

/// The header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    /// Of the documents, in order ([`digest`]).
    digest: String,
    documents: u32,
    words: u32,
    stemmer: Stemmer,
    sections: BTreeMap<String, Section>,
}

/// The sections' names.
mod section {
    /// Words in each field of every document: [`crate::Lengths`] as `u32`.
    pub(super) const LENGTHS: &str = "lengths";
    /// Where each word begins in [`WORDS`], and one more, as `u64`.
    pub(super) const WORD_STARTS: &str = "word_starts";
    /// The words, sorted, one after the other.
    pub(super) const WORDS: &str = "words";
    /// Where each word's entries begin in [`ENTRIES`], and one more, as `u64`.
    pub(super) const ENTRY_STARTS: &str = "entry_starts";
    /// For each word its documents in order: distance from the one before, a bit for each field
    /// that contains the word, and how often; all of them LEB128.
    pub(super) const ENTRIES: &str = "entries";
    /// Where each document begins in [`TEXTS`], and one more, as `u64`.
    pub(super) const TEXT_STARTS: &str = "text_starts";
    /// The documents, each compressed by itself (Zstandard over JSON).
    pub(super) const TEXTS: &str = "texts";
    /// The stamps of the documents' files, also compressed.
    pub(super) const STAMPS: &str = "stamps";
}

/// An index in a file, or in memory in the file's layout.
#[derive(Debug)]
pub struct IndexFile {
    path: PathBuf,
    bytes: Bytes,
    header: Header,
    lengths: Vec<crate::Lengths>,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

/// The digest of documents, which are in order of their ids: equal where every id, name,
/// description and text is.
pub(crate) fn digest(documents: &[Document]) -> String {
    let mut hasher = blake3::Hasher::new();
    for document in documents {
        for text in [&document.id, &document.name, &document.description, &document.document] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    format!("blake3:{}", hasher.finalize().to_hex())
}

/// The digest an index over these documents would have.
pub fn digest_of(documents: Vec<Document>) -> String {
    digest(&crate::index::ordered(documents))
}

#[cfg(test)]
mod tests;
