//! Encoders of text from local weights: text in, vectors or scores out.
//!
//! [`Encoder`] makes a unit vector of a text, [`CrossEncoder`] a score of a request and a document.
//! Both read a folder in the layout of sentence-transformers: `config.json` (BERT or Qwen3),
//! `tokenizer.json`, `model.safetensors` in F32, F16 or BF16, and if present `modules.json`, the
//! pooling's `config.json`, `sentence_bert_config.json`, `config_sentence_transformers.json` and
//! `tokenizer_config.json`.
//!
//! Promises:
//!
//! - **Tokens are those of Hugging Face's `tokenizers`**, and vectors those of the model, to 1e-5:
//!   tests compare both with other implementations.
//! - **A text's vector does not depend on the texts in the same batch**, except for the last bits
//!   of its numbers.
//! - **An invalid folder is a typed error** that names file and tensor. Nothing panics, and all
//!   returned numbers are finite.
//!
//! Sequences are concatenated, so that no time is spent on padding; each batch is computed by one
//! thread of rayon's pool.

mod batches;
mod bert;
mod cross;
mod encoder;
mod error;
mod folder;
mod linear;
mod math;
mod network;
mod packed;
mod qwen3;
mod settings;
mod tokenizer;
mod weights;

pub use cross::CrossEncoder;
pub use encoder::{Encoder, Kind};
pub use error::Error;
pub use settings::Prompts;
