//! What of a skill is embedded.

use std::borrow::Cow;
use std::fmt;

use crate::corpus::Document;

use super::embedder::{Embedder, head};

/// Most parts of one document that are embedded.
const MOST_CHUNKS: usize = 64;

/// Bytes of a text that are read for each token that a model accepts. Prose has about four a token;
/// this leaves room for white space and long words, and bounds the work on very long texts.
const TOKEN_BYTES: usize = 32;

/// What of a skill is embedded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Texts {
    /// Name and description.
    NameDescription,
    /// Name, description and SKILL.md, as far as the model reads.
    Full,
    /// The same text completely, in parts.
    Chunks {
        /// Most tokens of a part; by default the model's limit.
        tokens: Option<usize>,
        /// Tokens that two neighbours share.
        overlap: usize,
        /// How the vectors of the parts are combined.
        pooling: Pooling,
    },
    /// Name, description and body each by itself: a score is the weighted sum of their cosines.
    Fields {
        /// Of name, description and body; they add up to 1.
        weights: [f32; 3],
    },
}

/// How the vectors of several parts are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The best of them counts.
    Max,
    /// Their mean is used.
    Mean,
}

impl fmt::Display for Texts {
    /// The settings that vectors depend on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameDescription => f.write_str("name-description"),
            Self::Full => f.write_str("full"),
            Self::Chunks { tokens, overlap, pooling } => {
                let tokens = tokens.map_or("all".to_owned(), |tokens| tokens.to_string());
                write!(f, "chunks tokens={tokens} overlap={overlap} pooling={pooling:?}")
            }
            Self::Fields { .. } => f.write_str("fields"),
        }
    }
}

impl Texts {
    /// The texts of a document that get vectors; at least one.
    pub(super) fn of<'a>(&self, document: &'a Document, embedder: &dyn Embedder) -> Vec<Cow<'a, str>> {
        let limit = embedder.max_tokens().saturating_mul(TOKEN_BYTES);
        match self {
            Self::NameDescription => vec![Cow::Owned(described(document))],
            Self::Full => vec![Cow::Owned(full(document, limit))],
            Self::Chunks { tokens, overlap, .. } => {
                let tokens = tokens.unwrap_or(embedder.max_tokens()).clamp(1, embedder.max_tokens());
                let text = full(document, limit.saturating_mul(MOST_CHUNKS));
                let parts = embedder.chunks(&text, tokens, (*overlap).min(tokens / 2)).into_iter();
                let mut parts: Vec<Cow<'_, str>> = parts
                    .take(MOST_CHUNKS)
                    .filter_map(|part| Some(Cow::Owned(text.get(part)?.to_owned())))
                    .collect();
                if parts.is_empty() {
                    parts.push(Cow::Borrowed(""));
                }
                parts
            }
            Self::Fields { .. } => {
                let body = head(body(&document.document), limit);
                [document.name.as_str(), &document.description, body].map(Cow::Borrowed).to_vec()
            }
        }
    }

    /// The digest of a document's embedded text: its vectors are valid as long as this is
    /// unchanged.
    pub(super) fn digest(&self, document: &Document) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let body = if *self == Self::NameDescription { "" } else { body(&document.document) };
        for text in [&document.name, &document.description, body] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().into()
    }
}

fn described(document: &Document) -> String {
    format!("{}\n{}", document.name, document.description).trim().to_owned()
}

/// Name, description and body: the first bytes of it.
pub(crate) fn full(document: &Document, limit: usize) -> String {
    let text = format!("{}\n{}", described(document), head(body(&document.document), limit));
    head(text.trim(), limit).to_owned()
}

/// SKILL.md without its front matter.
fn body(document: &str) -> &str {
    let text = document.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---").and_then(|rest| rest.find("\n---").map(|end| &rest[end + 4..]));
    rest.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Words;
    use super::*;

    #[test]
    fn a_skill_becomes_texts() {
        let document = Document {
            name: "n".to_owned(),
            description: "d e".to_owned(),
            document: "---\nname: n\n---\none two three".to_owned(),
            ..Document::default()
        };
        let embedder = Words::default();
        let check = |texts: Texts, document: &Document, expected: &[&str]| {
            let found: Vec<String> =
                texts.of(document, &embedder).into_iter().map(|text| text.trim().to_owned()).collect();
            assert_eq!(found, expected, "{texts}");
        };
        let chunks = |tokens, overlap| Texts::Chunks { tokens: Some(tokens), overlap, pooling: Pooling::Max };
        check(Texts::NameDescription, &document, &["n\nd e"]);
        check(Texts::Full, &document, &["n\nd e\n\none two three"]);
        check(chunks(4, 0), &document, &["n\nd e\n\none", "two three"]);
        check(chunks(4, 2), &document, &["n\nd e\n\none", "e\n\none two three"]);
        check(Texts::Fields { weights: [1.0; 3] }, &document, &["n", "d e", "one two three"]);
        let empty = Document::default();
        check(Texts::NameDescription, &empty, &[""]);
        check(chunks(4, 0), &empty, &[""]);
        check(Texts::Fields { weights: [1.0; 3] }, &empty, &["", "", ""]);
        let endless = Document { document: "word ".repeat(100_000), ..Document::default() };
        assert_eq!(chunks(4, 0).of(&endless, &embedder).len(), MOST_CHUNKS);
    }

    #[test]
    fn digest_covers_only_the_embedded_text() {
        let one = Document { name: "n".to_owned(), document: "a".to_owned(), ..Document::default() };
        let other = Document { document: "b".to_owned(), id: "x".to_owned(), ..one.clone() };
        assert_eq!(Texts::NameDescription.digest(&one), Texts::NameDescription.digest(&other));
        assert_ne!(Texts::Full.digest(&one), Texts::Full.digest(&other));
        let moved = Document { name: String::new(), description: "n".to_owned(), ..one.clone() };
        assert_ne!(Texts::NameDescription.digest(&one), Texts::NameDescription.digest(&moved));
    }
}
