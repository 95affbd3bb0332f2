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

impl Error {
    pub(crate) fn setting(path: &Path, problem: impl Into<String>) -> Self {
        Self::Setting { path: path.to_owned(), problem: problem.into() }
    }
}
