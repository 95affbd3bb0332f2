//! Vectors for texts, from any server with OpenAI's `/v1/embeddings`.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::open::{StatelessModel, open_stateless};
use crate::provider::missing;
use crate::text::escape;
use crate::transport::Transport;
use crate::{Call, ModelError, ModelOptions, openai};

/// Maximum number of texts per request: the default limit of text-embeddings-inference. OpenAI
/// accepts 2,048.
const BATCH: usize = 32;

/// Maximum bytes of the texts of one request. OpenAI accepts 300,000 tokens, and a token has at
/// least one byte.
const BATCH_BYTES: usize = 256 << 10;

/// An embedding model on a server.
pub struct Embeddings {
    model: String,
    transport: Transport,
    dimensions: OnceLock<usize>,
}

impl Embeddings {
    /// Opens a model by its name on its server, at `options.base_url` (`http://127.0.0.1:8080/v1`)
    /// or else at OpenAI. Keys are used as for a chat model ([`open`](crate::open)). No request is
    /// sent here.
    pub fn open(
        model: &str,
        options: &ModelOptions,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let StatelessModel { model, transport } =
            open_stateless(model, &openai::SERVICE, "/embeddings", options, env)?;
        Ok(Self { model, transport, dimensions: OnceLock::new() })
    }

    /// Its name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The URL that requests are sent to.
    pub fn url(&self) -> &str {
        self.transport.url()
    }

    /// The number of dimensions of its vectors, known after the first reply.
    pub fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    /// Returns the server's vector for each text, in as many requests as needed. `progress` is
    /// called with the number of finished texts.
    ///
    /// A reply with a missing or duplicate text, a number that is not finite, or a different number
    /// of dimensions is a [`ModelError::Protocol`].
    pub fn embed(
        &self,
        texts: &[&str],
        call: &Call<'_>,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut found = Vec::with_capacity(texts.len());
        let mut left = texts;
        while !left.is_empty() {
            let (batch, others) = left.split_at(batch(left));
            let body = json!({ "model": self.model, "input": batch, "encoding_format": "float" });
            let answer = self.transport.post(&body, call)?;
            found.extend(self.vectors(&answer.body, batch.len())?);
            progress(found.len());
            left = others;
        }
        Ok(found)
    }

    fn vectors(&self, body: &Value, count: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        let data = body.get("data").and_then(Value::as_array).ok_or_else(|| missing("list `data`", body))?;
        let mut found: Vec<Option<Vec<f32>>> = vec![None; count];
        for item in data {
            let place = indexed_slot(item, &mut found)?;
            *place = Some(self.vector(item)?);
        }
        require_all(found, "vector", "text")
    }

    fn vector(&self, item: &Value) -> Result<Vec<f32>, ModelError> {
        let numbers = item
            .get("embedding")
            .and_then(Value::as_array)
            .filter(|numbers| !numbers.is_empty())
            .ok_or_else(|| missing("list of numbers `embedding`", item))?;
        let own: Vec<f32> = numbers
            .iter()
            .map(single)
            .collect::<Option<_>>()
            .ok_or_else(|| protocol("a vector contains a value that is not a finite number"))?;
        let width = *self.dimensions.get_or_init(|| own.len());
        if own.len() != width {
            let message = format!("a vector has {} dimensions where others have {width}", own.len());
            return Err(protocol(&message));
        }
        Ok(own)
    }
}

/// How many of these texts go into one request; at least one.
fn batch(texts: &[&str]) -> usize {
    let mut bytes = 0;
    let fit = texts.iter().take(BATCH).take_while(|text| {
        bytes += text.len();
        bytes <= BATCH_BYTES
    });
    fit.count().max(1)
}

/// A finite number in single precision.
#[expect(clippy::cast_possible_truncation, reason = "vectors are kept in single precision")]
pub(crate) fn single(number: &Value) -> Option<f32> {
    number.as_f64().map(|number| number as f32).filter(|number| number.is_finite())
}

/// The slot for an item, by its `index`.
pub(crate) fn indexed_slot<'a, T>(
    item: &Value,
    all: &'a mut [Option<T>],
) -> Result<&'a mut Option<T>, ModelError> {
    let index = item.get("index").and_then(Value::as_u64).ok_or_else(|| missing("number `index`", item))?;
    let count = all.len();
    let place = usize::try_from(index).ok().and_then(|index| all.get_mut(index));
    let place = place.ok_or_else(|| protocol(&format!("index {index} is out of range (count: {count})")))?;
    if place.is_some() {
        return Err(protocol(&format!("duplicate index {index}")));
    }
    Ok(place)
}

/// All items, if none is missing.
pub(crate) fn require_all<T>(all: Vec<Option<T>>, what: &str, of: &str) -> Result<Vec<T>, ModelError> {
    let (count, there) = (all.len(), all.iter().flatten().count());
    let error = || protocol(&format!("{there} of {count} {of}s have a {what}"));
    all.into_iter().collect::<Option<_>>().ok_or_else(error)
}

pub(crate) fn protocol(message: &str) -> ModelError {
    ModelError::Protocol { message: escape(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_a_bounded_size() {
        let check = |lengths: &[usize], expected: usize| {
            let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            assert_eq!(batch(&texts), expected, "{lengths:?}");
        };
        check(&[1; 5], 5);
        check(&[1; 100], 32);
        check(&[100 << 10; 5], 2);
        check(&[1 << 20, 1], 1);
    }
}
