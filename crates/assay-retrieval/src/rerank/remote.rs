//! A model behind `/v1/rerank`.

use serde_json::{Value, json};

use super::Reranker;
use crate::dense::call_model;
use crate::retriever::RetrieverError;

/// The kind of a server's scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From 0 to 1.
    Shares,
    /// Logits, which become shares by the logistic function.
    Logits,
}

/// A model behind an address.
pub struct Remote {
    model: assay_model::Rerank,
    scale: Scale,
}

impl Remote {
    /// A model whose scores are on this scale.
    pub fn new(model: assay_model::Rerank, scale: Scale) -> Self {
        Self { model, scale }
    }
}

/// The logistic function.
pub(super) fn share(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

impl Reranker for Remote {
    fn options(&self) -> Value {
        let scale = if self.scale == Scale::Logits { "logits" } else { "shares" };
        json!({ "model": self.model.model(), "endpoint": self.model.url(), "scores": scale })
    }

    fn scores(&self, query: &str, documents: &[&str]) -> Result<Vec<f32>, RetrieverError> {
        let scores =
            call_model(|call| self.model.scores(query, documents, call)).map_err(RetrieverError::Model)?;
        let of = |score: f32| match self.scale {
            Scale::Logits => Ok(share(score)),
            Scale::Shares if (0.0..=1.0).contains(&score) => Ok(score),
            Scale::Shares => {
                let what = format!(
                    "{} gave the score {score}, which is not between 0 and 1: set scores=logits",
                    self.model.model()
                );
                Err(RetrieverError::Unusable { what })
            }
        };
        scores.into_iter().map(of).collect()
    }
}
