//! A request and a document to a score.

use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2, ArrayView1};
use rayon::prelude::*;

use crate::batches;
use crate::encoder::name_of;
use crate::error::Error;
use crate::folder::Folder;
use crate::network::Network;
use crate::packed::Sequence;
use crate::settings::{self, Family};
use crate::tokenizer::Tokenizer;

/// How the last hidden states of a pair become a score.
enum Head {
    /// BERT's pooler over the first token, and a classifier of one class.
    Classifier { pooler: Array2<f32>, pooler_bias: Array1<f32>, classifier: Array1<f32>, bias: f32 },
    /// The difference of the output's rows of `yes` and `no`.
    YesNo { difference: Array1<f32> },
}

/// A cross-encoder: reads a request and a document together.
pub struct CrossEncoder {
    path: PathBuf,
    name: String,
    digest: String,
    network: Network,
    tokenizer: Tokenizer,
    head: Head,
    max_tokens: usize,
}

impl std::fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrossEncoder")
            .field("name", &self.name)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// The conversation that Qwen3-Reranker was trained on (its model card, 2025), and its default
/// instruction.
const BEFORE: &str = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct \
     provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n";
const INSTRUCTION: &str = "Given a web search query, retrieve relevant passages that answer the query";
const AFTER: &str = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

impl CrossEncoder {
    /// Reads a model's folder: a BertForSequenceClassification of one class, or a Qwen3ForCausalLM
    /// trained as Qwen3-Reranker.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut files = Folder::new(folder);
        let (kind, family) = settings::Kind::read(&mut files)?;
        let (network, weights) = Network::open(&mut files, family)?;
        let tokenizer = Tokenizer::open(&mut files, network.vocabulary())?;
        let config = files.path("config.json");
        let architecture = kind.architectures.first().map_or("", String::as_str);
        let (expected, hidden) = match family {
            Family::Bert => ("BertForSequenceClassification", network.dimensions()),
            Family::Qwen3 => ("Qwen3ForCausalLM", network.dimensions()),
        };
        if architecture != expected {
            let problem = format!(
                "its architecture is {architecture:?}, expected {expected:?} for a cross-encoder of this type"
            );
            return Err(Error::setting(&config, problem));
        }
        let head = match &network {
            Network::Bert(bert) => {
                if kind.labels.len() != 1 {
                    let problem =
                        format!("id2label has {} classes, expected 1 for a cross-encoder", kind.labels.len());
                    return Err(Error::setting(&config, problem));
                }
                if bert.segments() < 2 {
                    return Err(Error::setting(
                        &config,
                        "type_vocab_size has to be 2, for a request and a document",
                    ));
                }
                if tokenizer.two("", "", 8).is_none() {
                    return Err(Error::setting(
                        &files.path("tokenizer.json"),
                        "its post_processor has no template for pairs",
                    ));
                }
                Head::Classifier {
                    pooler: weights.matrix("pooler.dense.weight", hidden, hidden)?,
                    pooler_bias: weights.vector("pooler.dense.bias", hidden)?,
                    classifier: weights.whole_matrix("classifier.weight", 1, hidden)?.row(0).to_owned(),
                    bias: weights.whole_vector("classifier.bias", 1)?[0],
                }
            }
            Network::Qwen3(qwen) => {
                let id = |word: &str| {
                    let problem = format!(
                        "{word:?} is not in the vocabulary, but this type of reranker answers with it"
                    );
                    tokenizer.id(word).ok_or_else(|| Error::setting(&files.path("tokenizer.json"), problem))
                };
                let (yes, no) = (id("yes")? as usize, id("no")? as usize);
                let read;
                let output = match qwen.tied() {
                    Some(words) if !weights.has("lm_head.weight") => words,
                    _ => {
                        read = weights.whole_matrix("lm_head.weight", qwen.vocabulary(), hidden)?;
                        &read
                    }
                };
                Head::YesNo { difference: &output.row(yes) - &output.row(no) }
            }
        };
        let max_tokens = settings::max_tokens(&mut files, network.positions())?;
        let (path, digest) = (folder.to_owned(), files.digest());
        Ok(Self { path, name: name_of(folder), digest, network, tokenizer, head, max_tokens })
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// BLAKE3 over configuration, tokenizer and weights: the files' names and contents.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How many tokens of a request and a document are read together.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Reads fewer tokens, but no more than the model was made for and no fewer than 8.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens.clamp(8.min(self.max_tokens), self.max_tokens);
        self
    }

    /// How well each document answers the request, in the documents' order: log-odds, of which only
    /// the order means something.
    pub fn scores(&self, query: &str, documents: &[&str]) -> Result<Vec<f32>, Error> {
        let sequences: Vec<Sequence> =
            documents.par_iter().map(|document| self.sequence(query, document)).collect();
        batches::run(&sequences, &|_| {}, |first, packed| {
            let hidden = self.network.hidden(packed);
            let mut scores = Vec::new();
            for (n, span) in packed.spans().enumerate() {
                let score = if span.is_empty() {
                    f32::NAN
                } else {
                    self.score(&hidden.row(span.start), &hidden.row(span.end - 1))
                };
                if !score.is_finite() {
                    return Err(Error::NotFinite { path: self.path.clone(), text: first + n });
                }
                scores.push(score);
            }
            Ok(scores)
        })
    }

    fn score(&self, first: &ArrayView1<f32>, last: &ArrayView1<f32>) -> f32 {
        match &self.head {
            Head::Classifier { pooler, pooler_bias, classifier, bias } => {
                let pooled = (pooler.dot(first) + pooler_bias).mapv(f32::tanh);
                pooled.dot(classifier) + bias
            }
            Head::YesNo { difference } => last.dot(difference),
        }
    }

    fn sequence(&self, query: &str, document: &str) -> Sequence {
        let (query, document) = (query.trim(), document.trim());
        if let Head::Classifier { .. } = self.head {
            return self.tokenizer.two(query, document, self.max_tokens).unwrap_or_default();
        }
        // Text is never interpreted as the special tokens of the conversation.
        let before = self.tokenizer.tokens(BEFORE, usize::MAX);
        let after = self.tokenizer.tokens(AFTER, usize::MAX);
        let room = self.max_tokens.saturating_sub(before.len() + after.len());
        let text = format!("<Instruct>: {INSTRUCTION}\n<Query>: {query}\n<Document>: {document}");
        let mut ids = before;
        ids.extend(self.tokenizer.plain_tokens(&text, room));
        ids.extend(after);
        Sequence { second: ids.len(), ids }
    }
}
