//! Relevance of documents to a query, from any server with `/v1/rerank` in the form of Jina and
//! Cohere.

use serde_json::{Value, json};

use crate::embeddings::{indexed_slot, protocol, require_all, single};
use crate::endpoint::Service;
use crate::open::{StatelessModel, open_stateless};
use crate::provider::missing;
use crate::transport::Transport;
use crate::{Call, ModelError, ModelOptions};

/// Jina, whose request format others have adopted (vLLM, llama.cpp, Infinity; Cohere's is the same
/// without options).
pub(crate) const SERVICE: Service =
    Service { home: "https://api.jina.ai/v1", base_env: "JINA_BASE_URL", key_env: &["JINA_API_KEY"] };

/// A relevance model on a server.
pub struct Rerank {
    model: String,
    transport: Transport,
}

impl Rerank {
    /// Opens a model by its name on its server, at `options.base_url` (`http://127.0.0.1:8080/v1`)
    /// or else at Jina. `JINA_API_KEY` is sent there and to this machine; other addresses get only
    /// the key that `options.api_key_env` names. No request is sent here.
    pub fn open(
        model: &str,
        options: &ModelOptions,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let StatelessModel { model, transport } = open_stateless(model, &SERVICE, "/rerank", options, env)?;
        Ok(Self { model, transport })
    }

    /// Its name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The URL that requests are sent to.
    pub fn url(&self) -> &str {
        self.transport.url()
    }

    /// Returns the server's score for each document: higher is more relevant. Most servers return
    /// values from 0 to 1, some return logits.
    ///
    /// A reply with a missing or duplicate document, or a number that is not finite, is a
    /// [`ModelError::Protocol`].
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
            .ok_or_else(|| missing("list `results`", &answer))?;
        let mut found: Vec<Option<f32>> = vec![None; documents.len()];
        for item in results {
            let place = indexed_slot(item, &mut found)?;
            let number =
                item.get("relevance_score").ok_or_else(|| missing("number `relevance_score`", item))?;
            let score = single(number);
            *place = Some(score.ok_or_else(|| protocol("a relevance_score is not a finite number"))?);
        }
        require_all(found, "score", "document")
    }
}
