//! Why a transcript cannot be read.

use std::io;
use std::path::PathBuf;

use assay_syntax::json::JsonError;

use super::database::DatabaseProblem;
use super::unsupported::UnsupportedFormat;

/// Longer documents are refused, in bytes.
pub const DOCUMENT_CAP: usize = 64 << 20;

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
    /// It is known and not read.
    #[error("{name} is {}, which cannot be read: {}", format.name, format.hint)]
    Unsupported {
        /// The name of the input.
        name: String,
        /// What it is.
        format: UnsupportedFormat,
    },
    /// Several readers accept it.
    #[error("{name} could be in the formats {}; name one of them with --from", formats.join(" and "))]
    Ambiguous {
        /// The name of the input.
        name: String,
        /// The formats.
        formats: Vec<&'static str>,
    },
    /// A database that cannot be read as one of transcripts.
    #[error("{name} is an SQLite database that cannot be read: {problem}")]
    Database {
        /// The name of the input.
        name: String,
        /// Why.
        problem: DatabaseProblem,
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
    #[error("{name} is larger than {}, the limit for JSON documents", assay_fs::size(DOCUMENT_CAP as u64))]
    TooLarge {
        /// The name of the input.
        name: String,
    },
    /// A document that unfolds to more than fits into memory.
    #[error("{name}: {source}")]
    Memory {
        /// The name of the input.
        name: String,
        /// Why.
        source: JsonError,
    },
    /// More steps than fit into memory.
    #[error("{name} has more than {steps} steps, or more than {} of text in them", assay_fs::size(*bytes))]
    TooManySteps {
        /// The name of the input.
        name: String,
        /// Most steps.
        steps: usize,
        /// Most bytes.
        bytes: u64,
    },
}
