//! Errors of opening a retriever.

use std::path::PathBuf;

use super::names::{accepted_options, known_names};
use crate::retriever::RetrieverError;

/// An unknown retriever or option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRetriever {
    /// No retriever has the name.
    #[error("unknown retriever `{_0}`; expected one of {}", known_names())]
    Name(String),
    /// An option that the retriever does not have.
    #[error("invalid option `{option}` of `{name}`; expected {}", accepted_options(name))]
    Option {
        /// The retriever.
        name: String,
        /// The given value.
        option: String,
    },
    /// One option needs another.
    #[error("`{name}` needs {what}")]
    Lacks {
        /// The retriever.
        name: String,
        /// The missing part.
        what: &'static str,
    },
}

/// Why a retriever cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The default model is not installed.
    #[error("`{name}` needs {what}, which is not installed{}", place.as_ref().map_or(String::new(), |place| format!(" in {}", place.display())))]
    NotInstalled {
        /// The retriever.
        name: &'static str,
        /// What it needs.
        what: &'static str,
        /// The folder that was searched.
        place: Option<PathBuf>,
        /// What to do.
        hint: &'static str,
    },
    /// Its model cannot be read or called.
    #[error(transparent)]
    Retriever(#[from] RetrieverError),
}
