//! Errors of a folder of weights, and of its results.

use std::path::{Path, PathBuf};

/// Why there is no encoder, or no vector.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: a model folder contains config.json, tokenizer.json and model.safetensors", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not the JSON that is expected.
    #[error("{} is invalid", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The position and the problem.
        source: serde_json::Error,
    },
    /// A setting has a value with which nothing can be computed here.
    #[error("{}: {problem}", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// The problem, and the expected value.
        problem: String,
    },
    /// A tensor is missing, or does not match the configuration.
    #[error("{}: tensor `{tensor}` {problem}; fetch the weights again, or use a model that matches its config.json", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The problem.
        problem: String,
    },
    /// A vector has a value that is not finite.
    #[error("the vector of text {} is not finite: the weights of {} do not match its config.json", text + 1, path.display())]
    NotFinite {
        /// The model's folder.
        path: PathBuf,
        /// The text's index, from 0.
        text: usize,
    },
}

/// Why a `tokenizer.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenizerError {
    #[error(
        "unsupported normalizer {normalizer} and pre_tokenizer {pre}; with WordPiece expected BertNormalizer and BertPreTokenizer"
    )]
    WordPiece { normalizer: String, pre: String },
    #[error("unsupported normalizer {0}; with BPE only NFC is supported")]
    Normalizer(String),
    #[error("invalid {part}: {source}")]
    Part { part: &'static str, source: serde_json::Error },
    #[error("its vocabulary lacks unk_token, {0:?}")]
    NoUnknown(String),
    #[error("its BPE has byte_fallback, a prefix or a suffix, but only byte-level BPE is supported")]
    NotOverBytes,
    #[error("its vocabulary lacks the letter {0:?} of a byte")]
    NoLetter(char),
    #[error("its merge {number}, {merge}, is not a pair of tokens that form a token")]
    Merge { number: usize, merge: serde_json::Value },
    #[error("unsupported pre_tokenizer: it {0}; expected ByteLevel, alone or after one Split by a Regex")]
    PreTokenizer(&'static str),
    #[error("invalid pattern of the pre_tokenizer: {0}")]
    Pattern(String),
    #[error("the pattern of the pre_tokenizer can match the empty text")]
    EmptyPattern,
    #[error("unsupported model {0}; expected WordPiece or BPE")]
    Model(String),
    #[error("the added token {0} is empty")]
    EmptyToken(u32),
    #[error("the added token {0:?} is matched in normalized text, which is not supported")]
    NormalizedToken(String),
    #[error("cannot match the added tokens: {0}")]
    AddedTokens(#[from] aho_corasick::BuildError),
    #[error("its post_processor has no id for {0}")]
    NoId(String),
    #[error("its post_processor names the special token {0:?} without an id")]
    SpecialToken(String),
    #[error("its post_processor omits the text")]
    NoText,
    #[error("unsupported post_processor {0}; expected TemplateProcessing, BertProcessing or ByteLevel")]
    PostProcessor(String),
}

impl Error {
    pub(crate) fn setting(path: &Path, problem: impl Into<String>) -> Self {
        Self::Setting { path: path.to_owned(), problem: problem.into() }
    }
}
