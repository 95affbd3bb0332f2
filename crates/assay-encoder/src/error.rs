//! What can be wrong with a folder of weights, or come out of it.

use std::path::{Path, PathBuf};

/// Why there is no encoder, or no vector.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: the folder of a model holds config.json, tokenizer.json and model.safetensors", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not the JSON that is expected.
    #[error("{} is not what it should be", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        source: serde_json::Error,
    },
    /// A setting has a value with which nothing can be computed here.
    #[error("{}: {problem}", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A tensor is missing, or is not what the configuration says.
    #[error("{}: tensor `{tensor}` {problem}; fetch the weights again, or take a model that fits its config.json", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// What is wrong with it.
        problem: String,
    },
    /// What a text came to is not a finite number.
    #[error("text {} came to a vector that is not finite: the weights of {} do not fit its config.json", text + 1, path.display())]
    NotFinite {
        /// The model's folder.
        path: PathBuf,
        /// The text's place among those given, from 0.
        text: usize,
    },
}

/// Why a `tokenizer.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenizerError {
    #[error(
        "its normalizer is {normalizer} and its pre_tokenizer {pre}; with WordPiece, BertNormalizer and BertPreTokenizer are known"
    )]
    WordPiece { normalizer: String, pre: String },
    #[error("its normalizer is {0}; with BPE, NFC is known")]
    Normalizer(String),
    #[error("its {part} is not understood: {source}")]
    Part { part: &'static str, source: serde_json::Error },
    #[error("its vocabulary lacks unk_token, {0:?}")]
    NoUnknown(String),
    #[error("its BPE has byte_fallback, a prefix or a suffix, and only BPE over bytes is known")]
    NotOverBytes,
    #[error("its vocabulary lacks the letter {0:?} of a byte")]
    NoLetter(char),
    #[error("its merge {number}, {merge}, is no pair of tokens that make a token")]
    Merge { number: usize, merge: serde_json::Value },
    #[error("its pre_tokenizer {0}; ByteLevel is known, by itself or after one Split by a Regex")]
    PreTokenizer(&'static str),
    #[error("the pattern of its pre_tokenizer is not understood: {0}")]
    Pattern(String),
    #[error("the pattern of its pre_tokenizer can match nothing at all")]
    EmptyPattern,
    #[error("its model is {0}, and WordPiece and BPE are known")]
    Model(String),
    #[error("the added token {0} is empty")]
    EmptyToken(u32),
    #[error("the added token {0:?} is looked for in normalized text, which is not known here")]
    NormalizedToken(String),
    #[error("its added tokens cannot be looked for: {0}")]
    AddedTokens(#[from] aho_corasick::BuildError),
    #[error("its post_processor has no id for {0}")]
    NoId(String),
    #[error("its post_processor names the special token {0:?} and no id for it")]
    SpecialToken(String),
    #[error("its post_processor leaves the text out")]
    NoText,
    #[error("its post_processor is {0}, and TemplateProcessing, BertProcessing and ByteLevel are known")]
    PostProcessor(String),
}

impl Error {
    pub(crate) fn setting(path: &Path, problem: impl Into<String>) -> Self {
        Self::Setting { path: path.to_owned(), problem: problem.into() }
    }
}
