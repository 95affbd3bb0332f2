//! Why there is no retriever.

use std::path::PathBuf;

use super::names::{known, takes};
use crate::retriever::RetrieverError;

/// A name that is no retriever's, or options that are not its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRetriever {
    /// No retriever has the name.
    #[error("there is no retriever `{_0}`; there are {}", known())]
    Name(String),
    /// It has no such option.
    #[error("`{name}` takes {}, and not `{option}`", takes(name))]
    Option {
        /// The retriever.
        name: String,
        /// What was given.
        option: String,
    },
    /// One option needs another.
    #[error("`{name}` needs {what}")]
    Lacks {
        /// The retriever.
        name: String,
        /// What is missing.
        what: &'static str,
    },
}

/// Why a retriever cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The model that it takes where none is named is not there.
    #[error("`{name}` needs {what}, and there is none{}", place.as_ref().map_or(String::new(), |place| format!(" in {}", place.display())))]
    NotInstalled {
        /// The retriever.
        name: &'static str,
        /// What it needs.
        what: &'static str,
        /// Where it was looked for.
        place: Option<PathBuf>,
        /// What to do.
        hint: &'static str,
    },
    /// Its model cannot be read or asked.
    #[error(transparent)]
    Retriever(#[from] RetrieverError),
}
