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
        /// The name of the input.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No reader accepts it.
    #[error("{name} is not a transcript in a known format")]
    Unknown {
        /// The name of the input.
        name: String,
    },
    /// There is nothing in it.
    #[error("{name} is empty")]
    Empty {
        /// The name of the input.
        name: String,
    },
    /// One document, and its end is missing.
    #[error(
        "{name} is a truncated JSON document: it ends at line {line}, column {column}, before it is complete"
    )]
    Truncated {
        /// The name of the input.
        name: String,
        /// Where it ends, from 1.
        line: usize,
        /// Where it ends, from 1.
        column: usize,
    },
    /// It is not in the requested format.
    #[error("{name} is not in the {format} format{}", seems.map_or(String::new(), |seems| format!("; it looks like {seems}")))]
    NotOf {
        /// The name of the input.
        name: String,
        /// The requested format.
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
        /// The name of the input.
        name: String,
    },
}
