//! Vectors for texts, from any server that speaks OpenAI's `/v1/embeddings`.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::open::{Rest, rest};
use crate::provider::lacks;
use crate::text::escape;
use crate::transport::Transport;
use crate::{Call, ModelError, ModelOptions, openai};

/// Most texts of one request: what text-embeddings-inference takes unless told otherwise. OpenAI takes 2,048.
const BATCH: usize = 32;

/// Most bytes of the texts of one request. OpenAI takes 300,000 tokens, and a token is a byte at least.
const BATCH_BYTES: usize = 256 << 10;

/// A model of embeddings behind an address.
pub struct Embeddings {
    model: String,
    transport: Transport,
    dimensions: OnceLock<usize>,
}

impl Embeddings {
    /// A model by its name at its server, which is reached at `options.base_url` (`http://127.0.0.1:8080/v1`), or else where
    /// OpenAI is. Keys go where those of a chat model go ([`open`](crate::open)). No request is sent here.
    pub fn open(
        model: &str,
        options: &ModelOptions,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let Rest { model, transport } = rest(model, &openai::SERVICE, "/embeddings", options, env)?;
        Ok(Self { model, transport, dimensions: OnceLock::new() })
    }

    /// Its name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Where it is asked.
    pub fn url(&self) -> &str {
        self.transport.url()
    }

    /// Numbers in each of its vectors, once it has answered.
    pub fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    /// A vector for each text, as the server gave it, in as many requests as it takes. `progress` hears how many texts are done.
    ///
    /// An answer that leaves out a text, names one twice, holds what is no finite number, or is of another width than those
    /// before is [`ModelError::Protocol`].
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
        let data = body.get("data").and_then(Value::as_array).ok_or_else(|| lacks("list `data`", body))?;
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
            .ok_or_else(|| lacks("list of numbers `embedding`", item))?;
        let own: Vec<f32> = numbers
            .iter()
            .map(single)
            .collect::<Option<_>>()
            .ok_or_else(|| protocol("a vector contains a value that is not a finite number"))?;
        let width = *self.dimensions.get_or_init(|| own.len());
        if own.len() != width {
            let told = format!("a vector has {} dimensions where others have {width}", own.len());
            return Err(protocol(&told));
        }
        Ok(own)
    }
}

/// How many of these texts go into one request; one at least.
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

/// The place of what an item's `index` names.
pub(crate) fn indexed_slot<'a, T>(
    item: &Value,
    all: &'a mut [Option<T>],
) -> Result<&'a mut Option<T>, ModelError> {
    let index = item.get("index").and_then(Value::as_u64).ok_or_else(|| lacks("number `index`", item))?;
    let count = all.len();
    let place = usize::try_from(index).ok().and_then(|index| all.get_mut(index));
    let place = place.ok_or_else(|| protocol(&format!("index {index} is out of range (count: {count})")))?;
    if place.is_some() {
        return Err(protocol(&format!("duplicate index {index}")));
    }
    Ok(place)
}

/// All of them, where none is missing.
pub(crate) fn require_all<T>(all: Vec<Option<T>>, what: &str, of: &str) -> Result<Vec<T>, ModelError> {
    let (count, there) = (all.len(), all.iter().flatten().count());
    let told = || protocol(&format!("{there} of {count} {of}s have a {what}"));
    all.into_iter().collect::<Option<_>>().ok_or_else(told)
}

pub(crate) fn protocol(message: &str) -> ModelError {
    ModelError::Protocol { message: escape(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_of_bounded_size() {
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
