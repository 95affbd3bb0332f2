//! What makes vectors of texts.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use assay_model::{Call, Embeddings, ScriptContext};
use serde_json::{Value, json};

use crate::retriever::RetrieverError;

/// The role of a text: many models expect a prefix for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Query,
    /// A text that is searched.
    Document,
}

/// Makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// The model, for reports.
    fn name(&self) -> &str;

    /// Identifies the model: equal digests mean equal vectors for equal texts, as far as that is
    /// known.
    fn digest(&self) -> String;

    /// Tokens of a text that count; what follows them is cut off.
    fn max_tokens(&self) -> usize;

    /// The settings that vectors depend on, for reports.
    fn options(&self) -> Value;

    /// A vector for each text, all of one width, of any length. `progress` hears how many are done.
    fn embed(
        &self,
        texts: &[&str],
        kind: Kind,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, RetrieverError>;

    /// Parts of a text of at most `tokens` tokens, each beginning `overlap` tokens before the end
    /// of the previous one.
    fn chunks(&self, text: &str, tokens: usize, overlap: usize) -> Vec<Range<usize>>;
}

/// Words before a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Before a request.
    pub query: String,
    /// Before a document.
    pub document: String,
}

/// Bytes that count as a token if a model's tokenizer is unknown: about four in English prose.
const TOKEN: usize = 4;

/// A model behind an address. Its tokens are not known: four bytes count as one.
pub struct Remote {
    model: Embeddings,
    prompts: Prompts,
    max_tokens: usize,
}

/// Calls are never cancelled.
static GOING: AtomicBool = AtomicBool::new(false);

/// Calls a model; the only deadline is that of each attempt.
pub(crate) fn call_model<T>(ask: impl FnOnce(&Call<'_>) -> T) -> T {
    let script_context = ScriptContext::default();
    ask(&Call { deadline: None, cancel: &GOING, script_context: &script_context })
}

impl Remote {
    /// A model with these prefixes and this limit of tokens.
    pub fn new(model: Embeddings, prompts: Prompts, max_tokens: usize) -> Self {
        Self { model, prompts, max_tokens: max_tokens.max(1) }
    }

    fn prompt(&self, kind: Kind) -> &str {
        match kind {
            Kind::Query => &self.prompts.query,
            Kind::Document => &self.prompts.document,
        }
    }
}

impl Embedder for Remote {
    fn name(&self) -> &str {
        self.model.model()
    }

    /// A server's weights are unknown: address and name identify the model.
    fn digest(&self) -> String {
        let parts =
            [self.model.url(), self.model.model(), &self.prompts.document, &self.max_tokens.to_string()];
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        format!("blake3:{}", hasher.finalize().to_hex())
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn options(&self) -> Value {
        json!({
            "model": self.model.model(), "endpoint": self.model.url(), "dimensions": self.model.dimensions(),
            "max_tokens": self.max_tokens, "token": "4 bytes",
            "prompts": { "query": self.prompts.query, "document": self.prompts.document },
        })
    }

    fn embed(
        &self,
        texts: &[&str],
        kind: Kind,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, RetrieverError> {
        let prompt = self.prompt(kind);
        let cut = |text: &&str| format!("{prompt}{}", head(text, self.max_tokens.saturating_mul(TOKEN)));
        let texts: Vec<String> = texts.iter().map(cut).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        call_model(|call| self.model.embed(&texts, call, progress)).map_err(RetrieverError::Model)
    }

    fn chunks(&self, text: &str, tokens: usize, overlap: usize) -> Vec<Range<usize>> {
        split_by_bytes(text, tokens.saturating_mul(TOKEN), overlap.saturating_mul(TOKEN))
    }
}

/// The first bytes of a text, in complete characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Parts of at most `bytes` bytes that end at a space if there is one, with the given overlap.
fn split_by_bytes(text: &str, bytes: usize, overlap: usize) -> Vec<Range<usize>> {
    let bytes = bytes.max(TOKEN);
    let overlap = overlap.min(bytes / 2);
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = head(&text[start..], bytes);
        let is_last = start + rest.len() == text.len();
        let space = rest.rfind(char::is_whitespace).filter(|at| *at > bytes / 2);
        let end = start + if is_last { rest.len() } else { space.unwrap_or(rest.len()) };
        found.push(start..end);
        if is_last {
            break;
        }
        let next = (start + 1..=end - overlap).rev().find(|at| text.is_char_boundary(*at));
        start = next.unwrap_or(end);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_text() {
        let check = |text: &str, bytes: usize, overlap: usize, expected: &[&str]| {
            let found: Vec<&str> =
                split_by_bytes(text, bytes, overlap).into_iter().map(|at| &text[at]).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("", 8, 0, &[]);
        check("short", 8, 0, &["short"]);
        check("one two three", 9, 0, &["one two", " three"]);
        check("abcdefghijkl", 8, 4, &["abcdefgh", "efghijkl"]);
        check("äöüäöü", 5, 0, &["äö", "üä", "öü"]);
        check("abc", 0, 9, &["abc"]);
    }
}
