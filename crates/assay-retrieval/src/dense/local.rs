//! A model in a folder of this machine.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_encoder::Encoder;
use serde_json::{Value, json};

use super::embedder::{Embedder, Kind};
use crate::retriever::RetrieverError;

/// A model in a folder, whose settings name its prefixes.
pub struct Local(Encoder);

impl Local {
    /// Reads a folder in the layout of sentence-transformers.
    pub fn open(folder: &Path) -> Result<Self, RetrieverError> {
        Encoder::open(folder).map(Self).map_err(RetrieverError::Encoder)
    }
}

impl Embedder for Local {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn digest(&self) -> String {
        self.0.digest().to_owned()
    }

    fn max_tokens(&self) -> usize {
        self.0.max_tokens()
    }

    fn options(&self) -> Value {
        let prompts = self.0.prompts();
        json!({
            "model": self.0.name(), "digest": self.0.digest(), "dimensions": self.0.dimensions(),
            "max_tokens": self.0.max_tokens(), "prompts": { "query": prompts.query, "document": prompts.document },
        })
    }

    fn embed(
        &self,
        texts: &[&str],
        kind: Kind,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, RetrieverError> {
        let kind = match kind {
            Kind::Query => assay_encoder::Kind::Query,
            Kind::Document => assay_encoder::Kind::Document,
        };
        let done = AtomicUsize::new(0);
        let more = |more: usize| progress(done.fetch_add(more, Ordering::Relaxed) + more);
        self.0.embed(texts, kind, &more).map_err(RetrieverError::Encoder)
    }

    fn chunks(&self, text: &str, tokens: usize, overlap: usize) -> Vec<Range<usize>> {
        self.0.chunks(text, tokens, overlap)
    }
}
