//! The model of a retriever, and its location.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assay_model::{Embeddings, ModelOptions};

use super::context::RetrieverContext;
use super::error::{OpenError, UnknownRetriever};
use super::options::Options;
use crate::corpus::Document;
use crate::dense::{self, Dense, Embedder, Pooling, Prompts, Texts};
use crate::rerank::{self, Reranker, Scale};
use crate::retriever::RetrieverError;

/// Of reciprocal rank fusion: Cormack, Clarke & Büttcher 2009.
pub(super) const K: f32 = 60.0;

/// Of the vectors' scores in score fusion.
pub(super) const WEIGHT: f32 = 0.5;

/// Tokens that a server's model takes, by default: the limit of OpenAI's models.
const TOKENS: usize = 8_191;

/// Tokens of a chunk that the next one repeats, by default.
const OVERLAP: usize = 32;

/// How requests to a server are made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Server {
    url: Option<String>,
    key: Option<String>,
    timeout: Duration,
    retries: u32,
}

impl Server {
    fn parse(url: Option<&str>, options: &mut Options<'_>) -> Result<Self, UnknownRetriever> {
        let timeout = options.number("timeout", |own: &u64| (1..=3_600).contains(own))?;
        Ok(Self {
            url: url.map(str::to_owned),
            key: options.text("key").map(str::to_owned),
            timeout: Duration::from_secs(timeout.unwrap_or(60)),
            retries: options.number("retries", |own: &u32| *own <= 20)?.unwrap_or(4),
        })
    }

    fn options(&self) -> ModelOptions {
        ModelOptions {
            base_url: self.url.clone(),
            api_key_env: self.key.clone(),
            request_timeout: self.timeout,
            max_retries: self.retries,
            ..ModelOptions::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum EmbedderSpec {
    Installed,
    Folder(PathBuf),
    Served { server: Server, model: String, prompts: Prompts, tokens: usize },
}

/// The options of `dense`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DenseSpec {
    embedder: EmbedderSpec,
    texts: Texts,
    adapter: Option<PathBuf>,
}

impl DenseSpec {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self, UnknownRetriever> {
        let embedder = match (options.text("model"), options.text("endpoint")) {
            (Some(_), Some(url)) => return Err(options.wrong_value("endpoint", url)),
            (Some(folder), None) => EmbedderSpec::Folder(PathBuf::from(folder)),
            (None, None) => EmbedderSpec::Installed,
            (None, Some(url)) => {
                let model = options
                    .text("name")
                    .ok_or_else(|| options.missing_option("`name=MODEL` beside `endpoint=URL`"))?;
                EmbedderSpec::Served {
                    model: model.to_owned(),
                    prompts: Prompts {
                        query: options.unescaped("query")?.unwrap_or_default(),
                        document: options.unescaped("document")?.unwrap_or_default(),
                    },
                    tokens: options.number("tokens", |own: &usize| *own > 0)?.unwrap_or(TOKENS),
                    server: Server::parse(Some(url), options)?,
                }
            }
        };
        let texts = match options.choice("text", &["name-description", "full", "chunks", "fields"])? {
            Some("full") => Texts::Full,
            Some("chunks") => Texts::Chunks {
                tokens: options.number("chunk", |own: &usize| *own > 0)?,
                overlap: options.number("overlap", |_| true)?.unwrap_or(OVERLAP),
                pooling: match options.choice("pooling", &["max", "mean"])? {
                    Some("mean") => Pooling::Mean,
                    _ => Pooling::Max,
                },
            },
            Some("fields") => Texts::Fields { weights: weights(options)? },
            _ => Texts::NameDescription,
        };
        Ok(Self { embedder, adapter: options.text("adapter").map(PathBuf::from), texts })
    }

    pub(super) fn missing_model(
        &self,
        name: &'static str,
        around: &RetrieverContext<'_>,
    ) -> Option<OpenError> {
        if self.embedder != EmbedderSpec::Installed {
            return None;
        }
        unusable(around.embedder.as_deref(), || OpenError::NotInstalled {
            name,
            what: "an embedding model",
            place: around.embedder.clone(),
            hint: if LOCAL {
                "`scripts/fetch-minilm` installs all-MiniLM-L6-v2; or name a model: dense:model=DIR, or \
                 dense:endpoint=URL,name=MODEL"
            } else {
                "name a server: dense:endpoint=URL,name=MODEL; models in folders need a build with `--features local-models`"
            },
        })
    }

    fn embedder(&self, around: &RetrieverContext<'_>) -> Result<Arc<dyn Embedder>, RetrieverError> {
        let folder = match &self.embedder {
            EmbedderSpec::Installed => around.embedder.as_deref().unwrap_or(Path::new("")),
            EmbedderSpec::Folder(folder) => folder,
            EmbedderSpec::Served { server, model, prompts, tokens } => {
                let model = Embeddings::open(model, &server.options(), around.env);
                let model = model.map_err(RetrieverError::Model)?;
                return Ok(Arc::new(dense::Remote::new(model, prompts.clone(), *tokens)));
            }
        };
        open_embedder(folder)
    }

    /// Over documents in order of their ids.
    pub(super) fn open(
        &self,
        label: &str,
        documents: &[Document],
        around: &RetrieverContext<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Dense, RetrieverError> {
        let mut embedder = self.embedder(around)?;
        if let Some(path) = &self.adapter {
            embedder = Arc::new(dense::Adapted::open(embedder, path)?);
        }
        let built =
            dense::build(documents, &*embedder, self.texts, around.vectors.as_deref(), around.progress)?;
        notes.extend(built.unkept.map(|error| error.to_string()));
        Ok(Dense::new(label, embedder, self.texts, built.vectors))
    }
}

/// Three numbers of which none is below 0, as shares of their sum; equal ones by default.
fn weights(options: &mut Options<'_>) -> Result<[f32; 3], UnknownRetriever> {
    let Some(text) = options.text("weights") else { return Ok([1.0 / 3.0; 3]) };
    let numbers: Option<Vec<f32>> = text.split('/').map(|own| own.parse().ok()).collect();
    let numbers: Option<[f32; 3]> = numbers.and_then(|own| own.try_into().ok());
    let sum = |own: &[f32; 3]| own.iter().sum::<f32>();
    let is_good =
        |own: &[f32; 3]| own.iter().all(|own| *own >= 0.0) && sum(own) > 0.0 && sum(own).is_finite();
    let numbers = numbers.filter(is_good).ok_or_else(|| options.wrong_value("weights", text))?;
    Ok(numbers.map(|own| own / sum(&numbers)))
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RerankerSpec {
    Installed,
    Folder(PathBuf),
    Served { server: Server, model: String, scale: Scale },
    Chat { server: Server, model: String },
}

impl RerankerSpec {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self, UnknownRetriever> {
        let (folder, url) = (options.text("model"), options.text("endpoint"));
        let chat = options.text("chat");
        match (folder, chat, url) {
            (Some(_), _, Some(url)) => Err(options.wrong_value("endpoint", url)),
            (Some(_), Some(chat), None) => Err(options.wrong_value("chat", chat)),
            (Some(folder), None, None) => Ok(Self::Folder(PathBuf::from(folder))),
            (None, Some(chat), url) => {
                Ok(Self::Chat { model: chat.to_owned(), server: Server::parse(url, options)? })
            }
            (None, None, None) => Ok(Self::Installed),
            (None, None, url) => {
                let model = options
                    .text("name")
                    .ok_or_else(|| options.missing_option("`name=MODEL` beside `endpoint=URL`"))?;
                let scale = match options.choice("scores", &["shares", "logits"])? {
                    Some("logits") => Scale::Logits,
                    _ => Scale::Shares,
                };
                Ok(Self::Served { model: model.to_owned(), scale, server: Server::parse(url, options)? })
            }
        }
    }

    pub(super) fn missing_model(&self, around: &RetrieverContext<'_>) -> Option<OpenError> {
        if *self != Self::Installed {
            return None;
        }
        unusable(around.reranker.as_deref(), || OpenError::NotInstalled {
            name: "rerank",
            what: "a cross-encoder",
            place: around.reranker.clone(),
            hint: if LOCAL {
                "put the folder of one there, or name a model: rerank:model=DIR, rerank:endpoint=URL,name=MODEL, or \
                 rerank:chat=PROVIDER:MODEL"
            } else {
                "name a model: rerank:endpoint=URL,name=MODEL, or rerank:chat=PROVIDER:MODEL; models in folders need a \
                 build with `--features local-models`"
            },
        })
    }

    pub(super) fn open(&self, around: &RetrieverContext<'_>) -> Result<Box<dyn Reranker>, RetrieverError> {
        let folder = match self {
            Self::Installed => around.reranker.as_deref().unwrap_or(Path::new("")),
            Self::Folder(folder) => folder,
            Self::Served { server, model, scale } => {
                let model = assay_model::Rerank::open(model, &server.options(), around.env);
                return Ok(Box::new(rerank::Remote::new(model.map_err(RetrieverError::Model)?, *scale)));
            }
            Self::Chat { server, model } => {
                let model = assay_model::open(model, &server.options(), around.env);
                return Ok(Box::new(rerank::YesNo::new(model.map_err(RetrieverError::Model)?)));
            }
        };
        open_reranker(folder)
    }
}

#[cfg(feature = "local-models")]
fn open_embedder(folder: &Path) -> Result<Arc<dyn Embedder>, RetrieverError> {
    Ok(Arc::new(dense::Local::open(folder)?))
}

#[cfg(feature = "local-models")]
fn open_reranker(folder: &Path) -> Result<Box<dyn Reranker>, RetrieverError> {
    Ok(Box::new(rerank::Local::open(folder)?))
}

#[cfg(not(feature = "local-models"))]
fn open_embedder(folder: &Path) -> Result<Arc<dyn Embedder>, RetrieverError> {
    Err(RetrieverError::NoLocalModels { folder: folder.to_owned() })
}

#[cfg(not(feature = "local-models"))]
fn open_reranker(folder: &Path) -> Result<Box<dyn Reranker>, RetrieverError> {
    Err(RetrieverError::NoLocalModels { folder: folder.to_owned() })
}

/// Whether this build can run a model of a folder.
const LOCAL: bool = cfg!(feature = "local-models");

/// Why a model in a folder cannot be run: it is not installed, or this build has no support for
/// local models.
fn unusable(folder: Option<&Path>, none: impl FnOnce() -> OpenError) -> Option<OpenError> {
    match folder.filter(|folder| folder.join("config.json").is_file()) {
        None => Some(none()),
        Some(_) if LOCAL => None,
        Some(folder) => Some(RetrieverError::NoLocalModels { folder: folder.to_owned() }.into()),
    }
}
