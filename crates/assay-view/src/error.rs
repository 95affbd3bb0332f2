//! Why a page cannot be shown.

use assay_store::StoreError;

use crate::data::PrefixError;

/// Why a page cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// There is nothing at this address.
    #[error("not found: {0}")]
    NotFound(String),
    /// A form with a field that cannot be used.
    #[error("{0}")]
    BadForm(String),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A template cannot be written.
    #[error("cannot render the page")]
    Template(#[from] askama::Error),
}

impl From<PrefixError> for PageError {
    fn from(error: PrefixError) -> Self {
        Self::NotFound(error.to_string())
    }
}

impl PageError {
    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::BadForm(_) => 400,
            Self::NotFound(_) | Self::Store(StoreError::NotFound(_)) => 404,
            Self::Store(_) | Self::Template(_) => 500,
        }
    }
}
