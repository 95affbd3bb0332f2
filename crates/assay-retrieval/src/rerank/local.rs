//! A cross-encoder in a folder of this machine.

use std::path::Path;

use assay_encoder::CrossEncoder;
use serde_json::{Value, json};

use super::Reranker;
use super::remote::share;
use crate::retriever::RetrieverError;

/// A model in a folder. Its logits become shares by the logistic function.
pub struct Local(CrossEncoder);

impl Local {
    /// Reads a folder.
    pub fn open(folder: &Path) -> Result<Self, RetrieverError> {
        CrossEncoder::open(folder).map(Self).map_err(RetrieverError::Encoder)
    }
}

impl Reranker for Local {
    fn options(&self) -> Value {
        json!({ "model": self.0.name(), "digest": self.0.digest(), "max_tokens": self.0.max_tokens() })
    }

    fn scores(&self, query: &str, documents: &[&str]) -> Result<Vec<f32>, RetrieverError> {
        let logits = self.0.scores(query, documents).map_err(RetrieverError::Encoder)?;
        Ok(logits.into_iter().map(share).collect())
    }
}
