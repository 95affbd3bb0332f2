//! The retrievers by their names.

mod context;
mod error;
mod models;
mod names;
mod options;

use std::sync::Arc;

use crate::analysis::Stemmer;
use crate::best::{Best, DEFAULT_STEMMER};
use crate::corpus::Document;
use crate::dense::Dense;
use crate::hybrid::{Fusion, Hybrid};
use crate::index::{FIELDS, Field, Index, ordered};
use crate::rerank::{self, Rerank};
use crate::retriever::{Lexical, Retriever, RetrieverError, Weighting};

pub use self::context::RetrieverContext;
pub use self::error::{OpenError, UnknownRetriever};
use self::models::{DenseSpec, RerankerSpec};
pub use self::names::{DEFAULT, MODELS, NAMES};
use self::options::Options;

/// A retriever over its index.
pub struct OpenedRetriever {
    /// What ranks.
    pub retriever: Box<dyn Retriever>,
    /// Where its documents' ids are.
    pub index: Arc<Index>,
    /// Problems without consequences: vectors that could not be stored.
    pub notes: Vec<String>,
}

/// A retriever as named on the command line: a name, and options after a colon
/// (`bm25:k1=0.9,b=0.4`).
#[derive(Debug, Clone, PartialEq)]
pub struct RetrieverSpec {
    label: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Lexical { name: &'static str, k1: f64, b: f64, fields: Vec<Field>, stemmer: Stemmer },
    Best,
    Dense(DenseSpec),
    Hybrid { lexical: Box<Kind>, dense: DenseSpec, fusion: Fusion },
    Rerank { first: Box<RetrieverSpec>, reranker: RerankerSpec, depth: usize },
}

impl RetrieverSpec {
    /// # Errors
    /// Unknown retriever or option.
    pub fn parse(text: &str) -> Result<Self, UnknownRetriever> {
        let (name, given) = text.split_once(':').unwrap_or((text, ""));
        let name = *NAMES
            .iter()
            .chain(&MODELS)
            .find(|known| **known == name)
            .ok_or_else(|| UnknownRetriever::Name(name.to_owned()))?;
        let mut options = Options::parse(name, given)?;
        let kind = match name {
            DEFAULT => Kind::Best,
            "dense" => Kind::Dense(DenseSpec::parse(&mut options)?),
            "hybrid" => {
                let lexical = options.choice("lexical", &NAMES)?.unwrap_or(NAMES[0]);
                let fusion = if options.choice("fusion", &["rank", "score"])? == Some("score") {
                    let weight = options.number("weight", |own: &f32| (0.0..=1.0).contains(own))?;
                    Fusion::Scores { weight: weight.unwrap_or(models::WEIGHT) }
                } else {
                    let k = options.number("k", |own: &f32| own.is_finite() && *own >= 0.0)?;
                    Fusion::Ranks { k: k.unwrap_or(models::K) }
                };
                let lexical = Box::new(Self::parse(lexical)?.kind);
                Kind::Hybrid { lexical, dense: DenseSpec::parse(&mut options)?, fusion }
            }
            "rerank" => {
                let firsts: Vec<&str> = NAMES.into_iter().chain(["dense", "hybrid"]).collect();
                let first = options.choice("first", &firsts)?.unwrap_or(DEFAULT);
                let depth = options.number("depth", |own: &usize| (1..=1_000).contains(own))?;
                let (first, depth) = (Box::new(Self::parse(first)?), depth.unwrap_or(rerank::DEPTH));
                Kind::Rerank { first, reranker: RerankerSpec::parse(&mut options)?, depth }
            }
            _ => {
                let k1 = options.number("k1", |own: &f64| *own > 0.0 && own.is_finite())?;
                let b = options.number("b", |own: &f64| (0.0..=1.0).contains(own))?;
                let stemmer = match options.choice("stemmer", &["none", "english"])? {
                    Some("english") => Stemmer::English,
                    _ => Stemmer::None,
                };
                let fields = if name == "bm25" { fields(&mut options)? } else { None };
                let fields = fields.unwrap_or_else(|| match name {
                    "bm25" => vec![Field::Name, Field::Description, Field::Document],
                    _ => vec![Field::Name, Field::Description],
                });
                Kind::Lexical { name, k1: k1.unwrap_or(1.5), b: b.unwrap_or(0.75), fields, stemmer }
            }
        };
        options.finish()?;
        Ok(Self { label: text.to_owned(), kind })
    }

    /// The models that it needs and that are not installed; `None`: it can be opened.
    pub fn missing_model(&self, around: &RetrieverContext<'_>) -> Option<OpenError> {
        match &self.kind {
            Kind::Lexical { .. } | Kind::Best => None,
            Kind::Dense(dense) => dense.missing_model("dense", around),
            Kind::Hybrid { dense, .. } => dense.missing_model("hybrid", around),
            Kind::Rerank { first, reranker, .. } => {
                reranker.missing_model(around).or_else(|| first.missing_model(around))
            }
        }
    }

    /// The retriever `dense` alone, over documents in order of their ids, which are returned too, with warnings.
    pub fn open_dense(
        &self,
        documents: Vec<Document>,
        around: &RetrieverContext<'_>,
    ) -> Result<(Dense, Vec<Document>, Vec<String>), OpenError> {
        let Kind::Dense(dense) = &self.kind else {
            let what = format!("`{}` has no vectors: an adapter is fitted to those of `dense`", self.label);
            return Err(RetrieverError::Unusable { what }.into());
        };
        if let Some(missing) = dense.missing_model("dense", around) {
            return Err(missing);
        }
        let (documents, mut notes) = (ordered(documents), Vec::new());
        let dense = dense.open(&self.label, &documents, around, &mut notes)?;
        Ok((dense, documents, notes))
    }

    /// Builds it over documents. Of several with one id the first stays.
    pub fn open(
        &self,
        documents: Vec<Document>,
        around: &RetrieverContext<'_>,
    ) -> Result<OpenedRetriever, OpenError> {
        if let Some(missing) = self.missing_model(around) {
            return Err(missing);
        }
        let documents = Arc::new(ordered(documents));
        let mut notes = Vec::new();
        let (retriever, index) = self.kind.open(&self.label, &documents, around, &mut notes)?;
        Ok(OpenedRetriever { retriever, index, notes })
    }
}

impl Kind {
    fn open(
        &self,
        label: &str,
        documents: &Arc<Vec<Document>>,
        around: &RetrieverContext<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Box<dyn Retriever>, Arc<Index>), RetrieverError> {
        match self {
            Self::Lexical { name, k1, b, fields, stemmer } => {
                let index = Arc::new(Index::of(documents, *stemmer));
                let retriever = match *name {
                    "bm25f" => Lexical::bm25f(label, &index, &weighting(*k1, *b)),
                    _ => Lexical::bm25(label, &index, fields, *k1, *b),
                };
                Ok((Box::new(retriever), index))
            }
            Self::Best => {
                let index = Arc::new(Index::of(documents, DEFAULT_STEMMER));
                let retriever = Best::new(label, &index, Arc::clone(documents));
                Ok((Box::new(retriever), index))
            }
            Self::Dense(dense) => {
                let named = |own: &Document| Document { id: own.id.clone(), ..Document::default() };
                let named: Vec<Document> = documents.iter().map(named).collect();
                let retriever = dense.open(label, documents, around, notes)?;
                Ok((Box::new(retriever), Arc::new(Index::of(&named, Stemmer::None))))
            }
            Self::Hybrid { lexical, dense, fusion } => {
                let (lexical, index) = lexical.open(label, documents, around, notes)?;
                let dense = Box::new(dense.open(label, documents, around, notes)?);
                Ok((Box::new(Hybrid::new(label, lexical, dense, *fusion)), index))
            }
            Self::Rerank { first, reranker, depth } => {
                let reranker = reranker.open(around)?;
                let (first, index) = first.kind.open(&first.label, documents, around, notes)?;
                let retriever = Rerank::new(label, first, Arc::clone(documents), reranker, *depth);
                Ok((Box::new(retriever), index))
            }
        }
    }
}

/// Fields by their names, each once: `fields=name+description`.
fn fields(options: &mut Options<'_>) -> Result<Option<Vec<Field>>, UnknownRetriever> {
    let Some(text) = options.text("fields") else { return Ok(None) };
    let mut fields = Vec::new();
    for name in text.split('+') {
        let field = match name {
            "name" => Field::Name,
            "description" => Field::Description,
            "headings" => Field::Headings,
            "body" => Field::Body,
            "document" => Field::Document,
            _ => return Err(options.wrong_value("fields", text)),
        };
        if fields.contains(&field) {
            return Err(options.wrong_value("fields", text));
        }
        fields.push(field);
    }
    Ok(Some(fields))
}

/// Weights of fields before any tuning: name and description count more than the body.
fn weighting(k1: f64, b: f64) -> Weighting {
    let mut weights = [0.0; FIELDS];
    weights[Field::Name as usize] = 3.0;
    weights[Field::Description as usize] = 3.0;
    weights[Field::Headings as usize] = 1.5;
    weights[Field::Body as usize] = 1.0;
    Weighting { k1, weights, b: [b; FIELDS] }
}

#[cfg(test)]
mod tests;
