//! How relevant documents are to a query, from any server that speaks `/v1/rerank` as Jina and Cohere have it.

use serde_json::{Value, json};

use crate::embeddings::{indexed_slot, protocol, require_all, single};
use crate::endpoint::Service;
use crate::open::{Rest, rest};
use crate::provider::lacks;
use crate::transport::Transport;
use crate::{Call, ModelError, ModelOptions};

/// Jina, whose form of the request others took over (vLLM, llama.cpp, Infinity; Cohere's is the same without options).
pub(crate) const SERVICE: Service =
    Service { home: "https://api.jina.ai/v1", base_env: "JINA_BASE_URL", key_env: &["JINA_API_KEY"] };

/// A model of relevance behind an address.
pub struct Rerank {
    model: String,
    transport: Transport,
}

impl Rerank {
    /// A model by its name at its server, which is reached at `options.base_url` (`http://127.0.0.1:8080/v1`), or else where
    /// Jina is. `JINA_API_KEY` goes there and to this machine, and to others only what `options.api_key_env` names. No
    /// request is sent here.
    pub fn open(
        model: &str,
        options: &ModelOptions,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let Rest { model, transport } = rest(model, &SERVICE, "/rerank", options, env)?;
        Ok(Self { model, transport })
    }

    /// Its name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Where it is asked.
    pub fn url(&self) -> &str {
        self.transport.url()
    }

    /// A score for each document, as the server gave it: a higher one is more relevant. Most servers give shares of 1, some
    /// logits.
    ///
    /// An answer that leaves out a document, names one twice or holds what is no finite number is [`ModelError::Protocol`].
    pub fn scores(&self, query: &str, documents: &[&str], call: &Call<'_>) -> Result<Vec<f32>, ModelError> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let body = json!({
            "model": self.model, "query": query, "documents": documents, "top_n": documents.len(),
        });
        let answer = self.transport.post(&body, call)?.body;
        let results = answer
            .get("results")
            .and_then(Value::as_array)
            .ok_or_else(|| lacks("list `results`", &answer))?;
        let mut found: Vec<Option<f32>> = vec![None; documents.len()];
        for item in results {
            let place = indexed_slot(item, &mut found)?;
            let number =
                item.get("relevance_score").ok_or_else(|| lacks("number `relevance_score`", item))?;
            let score = single(number);
            *place = Some(score.ok_or_else(|| protocol("a relevance_score is not a finite number"))?);
        }
        require_all(found, "score", "document")
    }
}
