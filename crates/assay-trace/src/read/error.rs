//! Why a transcript cannot be read.

use std::io;
use std::path::PathBuf;

/// Longer documents are refused, in bytes.
pub const DOCUMENT_CAP: usize = 256 << 20;

/// Why a transcript could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {path}", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Reading broke off.
    #[error("cannot read {name}")]
    Read {
        /// What was read.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No reader knows it.
    #[error("{name} is not a transcript in a known format")]
    Unknown {
        /// What was read.
        name: String,
    },
    /// There is nothing in it.
    #[error("{name} is empty")]
    Empty {
        /// What was read.
        name: String,
    },
    /// One document, and its end is missing.
    #[error(
        "{name} is a truncated JSON document: it ends at line {line}, column {column}, before it is complete"
    )]
    Truncated {
        /// What was read.
        name: String,
        /// Where it ends, from 1.
        line: usize,
        /// Where it ends, from 1.
        column: usize,
    },
    /// It is not in the format that it was said to be in.
    #[error("{name} is not in the {format} format{}", seems.map_or(String::new(), |seems| format!("; it looks like {seems}")))]
    NotOf {
        /// What was read.
        name: String,
        /// The format it was said to have.
        format: &'static str,
        /// The format it seems to have.
        seems: Option<&'static str>,
    },
    /// A folder without a transcript.
    #[error("{path} contains no transcript in a known format", path = path.display())]
    NoTranscript {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such format.
    #[error("unknown transcript format {0:?}")]
    NoFormat(String),
    /// One document, and a larger one than is read.
    #[error("{name} is larger than {DOCUMENT_CAP} bytes, the limit for JSON documents")]
    TooLarge {
        /// What was read.
        name: String,
    },
}
