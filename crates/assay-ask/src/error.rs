//! Why a question has no answer.

use std::sync::Arc;

use assay_model::ModelError;

use crate::{CacheError, CapReached, PreflightError};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The model does not reply.
    #[error("{model} gives no reply: {source}")]
    NoReply {
        /// `provider:model`.
        model: String,
        /// Why.
        source: ModelError,
    },
    /// Its replies cannot be read. They are stored.
    #[error("cannot read the replies of {model}: {fault}")]
    Unreadable {
        /// `provider:model`.
        model: String,
        /// What is wrong with the last one.
        fault: String,
    },
    /// The first request to a model failed; no question was sent to it.
    #[error(transparent)]
    Preflight(Arc<PreflightError>),
    /// The question could exceed a cap. It was not sent.
    #[error(transparent)]
    Capped(#[from] CapReached),
    /// Replies cannot be read from their cache or be stored.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl AskError {
    /// Whether it was cancelled from outside.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::NoReply { source, .. } => matches!(source, ModelError::Cancelled),
            Self::Preflight(error) => matches!(error.source, ModelError::Cancelled),
            _ => false,
        }
    }
}
