//! `dense`: skills whose vectors lie near the request's.
//!
//! A model ([`Embedder`]) makes vectors of skills once and of each request; every skill's cosine is computed, none is left
//! out. Vectors are kept by what they were made of, so that a changed library embeds what changed.

mod adapt;
mod adapter;
mod embedder;
#[cfg(feature = "local-models")]
mod local;
mod texts;
mod vectors;

#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::{Value, json};

use crate::corpus::Document;
use crate::index_file;
use crate::retriever::{Hit, Retriever, RetrieverError, best};

pub use adapt::{Adapting, Quality, adapt};
pub use adapter::{Adapted, Adapter};
pub use embedder::{Embedder, Kind, Prompts, Remote};
pub(crate) use embedder::{asked, head};
#[cfg(feature = "local-models")]
pub use local::Local;
pub(crate) use texts::full;
pub use texts::{Pooling, Texts};
use vectors::Shelf;
pub use vectors::{Origin, Vectors, VectorsError};

/// Documents that a model is given at a time: a bound on what lies in memory twice, and on what is lost where it stops.
const BLOCK: usize = 2_048;

/// Ranks by the cosine of vectors.
pub struct Dense {
    name: String,
    embedder: Arc<dyn Embedder>,
    texts: Texts,
    vectors: Vectors,
}

/// Vectors, and how they came about.
pub struct Built {
    /// They.
    pub vectors: Vectors,
    /// Documents that a model was asked for; the others were known.
    pub embedded: usize,
    /// Why they could not be kept for the next time.
    pub unkept: Option<VectorsError>,
}

/// What vectors of these documents, which are in order of their ids, are of.
pub fn origin(documents: &[Document], embedder: &dyn Embedder, texts: Texts) -> Origin {
    Origin {
        model: embedder.name().to_owned(),
        model_digest: embedder.digest(),
        text: texts.to_string(),
        corpus: index_file::digest(documents),
    }
}

/// Vectors of documents, which are in order of their ids. What lies in `kept` is taken from there, and what was missing is put
/// there; after every block what is known by then, so that a run that breaks off is not lost. `progress` hears how many
/// documents are done, and of how many.
pub fn build(
    documents: &[Document],
    embedder: &dyn Embedder,
    texts: Texts,
    kept: Option<&Path>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Built, RetrieverError> {
    let origin = origin(documents, embedder, texts);
    let shelf = kept.map(|folder| Shelf::below(folder, &origin));
    if let Some(vectors) = shelf.as_ref().and_then(|shelf| shelf.get(&origin)) {
        return Ok(Built { vectors, embedded: 0, unkept: None });
    }
    let digests: Vec<[u8; 32]> = documents.par_iter().map(|own| texts.digest(own)).collect();
    // The vectors of each text that is needed, one after the other; `None` until they are known.
    let mut known: BTreeMap<[u8; 32], Option<Vec<f32>>> = digests.iter().map(|own| (*own, None)).collect();
    let (mut width, mut unkept) = (None, None);
    for other in shelf.iter().flat_map(|shelf| shelf.others(&origin)) {
        if known.values().all(Option::is_some) {
            break;
        }
        if other.dimensions == *width.get_or_insert(other.dimensions) {
            for (number, digest) in other.digests.iter().enumerate() {
                if let Some(own @ None) = known.get_mut(digest) {
                    *own = Some(other.of(number).to_vec());
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    let is_missing =
        |(digest, _): &(&[u8; 32], &Document)| known.get(*digest) == Some(&None) && seen.insert(**digest);
    let missing: Vec<(&[u8; 32], &Document)> = digests.iter().zip(documents).filter(is_missing).collect();
    let part = Origin { corpus: "what was embedded so far".to_owned(), ..origin.clone() };
    for (number, block) in missing.chunks(BLOCK).enumerate() {
        if let Some(shelf) = shelf.as_ref().filter(|_| number > 0) {
            let digests = known.iter().filter(|(_, own)| own.is_some()).map(|(digest, _)| *digest).collect();
            if let Err(error) = shelf.put(&laid_out(part.clone(), digests, &known, width)) {
                unkept = Some(error);
            }
        }
        let before = number * BLOCK;
        let heard =
            |done: usize, all: usize| progress(before + done * block.len() / all.max(1), missing.len());
        let own: Vec<Vec<Cow<'_, str>>> = block.par_iter().map(|(_, own)| texts.of(own, embedder)).collect();
        let all: Vec<&str> = own.iter().flatten().map(AsRef::as_ref).collect();
        let mut found = embed(embedder, &all, Kind::Document, &mut width, &heard)?.into_iter();
        for ((digest, _), own) in block.iter().zip(&own) {
            let vectors: Vec<Vec<f32>> = found.by_ref().take(own.len()).collect();
            let is_mean = matches!(texts, Texts::Chunks { pooling: Pooling::Mean, .. });
            known.insert(**digest, Some(if is_mean { mean(&vectors) } else { vectors.concat() }));
        }
    }
    let embedded = missing.len();
    let vectors = laid_out(origin, digests, &known, width);
    if let Some(shelf) = shelf {
        unkept = shelf.put(&vectors).err().or(unkept);
        shelf.forget(&part);
    }
    Ok(Built { vectors, embedded, unkept })
}

/// Vectors one after the other, in the order of the digests.
fn laid_out(
    origin: Origin,
    digests: Vec<[u8; 32]>,
    known: &BTreeMap<[u8; 32], Option<Vec<f32>>>,
    width: Option<usize>,
) -> Vectors {
    let dimensions = width.unwrap_or(0);
    let (mut starts, mut numbers) = (vec![0], Vec::new());
    for digest in &digests {
        numbers.extend_from_slice(known.get(digest).and_then(Option::as_deref).unwrap_or_default());
        starts.push(numbers.len() / dimensions.max(1));
    }
    Vectors { origin, dimensions, digests, starts, numbers }
}

/// A vector of length 1 for each text, and one of zeros for a text that says nothing: no model is asked for that.
fn embed(
    embedder: &dyn Embedder,
    texts: &[&str],
    kind: Kind,
    width: &mut Option<usize>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Vec<f32>>, RetrieverError> {
    let said: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
    let mut found = Vec::with_capacity(said.len());
    let own = match &said[..] {
        [] => Vec::new(),
        said => embedder.embed(said, kind, &|done| progress(done, said.len()))?,
    };
    if own.len() != said.len() {
        let what = format!("{} gave {} vectors for {} texts", embedder.name(), own.len(), said.len());
        return Err(RetrieverError::Unusable { what });
    }
    for vector in own {
        let expected = *width.get_or_insert(vector.len());
        if vector.len() != expected {
            let numbers = vector.len();
            let what =
                format!("{} gave a vector of {numbers} numbers, where {expected} were due", embedder.name());
            return Err(RetrieverError::Unusable { what });
        }
        found.push(unit(vector).ok_or_else(|| RetrieverError::NotANumber {
            what: format!("a vector of {}", embedder.name()),
        })?);
    }
    let mut found = found.into_iter();
    let zeros = || vec![0.0; width.unwrap_or(0)];
    let of = |text: &&str| {
        if text.trim().is_empty() { zeros() } else { found.next().unwrap_or_else(zeros) }
    };
    Ok(texts.iter().map(of).collect())
}

/// A vector of length 1, or zeros as they were. `None`: it holds what is no finite number.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return None;
    }
    if length > 0.0 {
        for number in &mut vector {
            #[expect(clippy::cast_possible_truncation, reason = "vectors are kept in single precision")]
            let share = (f64::from(*number) / length) as f32;
            *number = share;
        }
    }
    Some(vector)
}

/// The mean of vectors, of length 1.
fn mean(vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vectors.first().cloned().unwrap_or_default();
    for vector in vectors.iter().skip(1) {
        for (sum, number) in sum.iter_mut().zip(vector) {
            *sum += number;
        }
    }
    unit(sum).unwrap_or_default()
}

/// The sum of products, in an order that does not depend on the machine.
fn dot(one: &[f32], other: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (ones, one_rest) = one.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (one, other) in ones.iter().zip(others) {
        for lane in 0..LANES {
            sums[lane] += one[lane] * other[lane];
        }
    }
    sums.iter().sum::<f32>() + one_rest.iter().zip(other_rest).map(|(one, other)| one * other).sum::<f32>()
}

impl Dense {
    /// Over vectors that this model made of these texts.
    pub fn new(name: &str, embedder: Arc<dyn Embedder>, texts: Texts, vectors: Vectors) -> Self {
        Self { name: name.to_owned(), embedder, texts, vectors }
    }

    /// Every document's score for a request.
    fn scores(&self, query: &[f32]) -> Vec<f32> {
        let width = self.vectors.dimensions.max(1);
        let of = |document: usize| {
            let cosines = self.vectors.of(document).chunks_exact(width).map(|own| dot(own, query));
            match self.texts {
                Texts::Fields { weights } => {
                    cosines.zip(weights).map(|(cosine, weight)| cosine * weight).sum()
                }
                _ => cosines.fold(0.0, f32::max),
            }
        };
        (0..self.vectors.len()).into_par_iter().with_min_len(1_024).map(of).collect()
    }
}

impl Retriever for Dense {
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> Value {
        let mut options = json!({
            "method": "cosine", "text": self.texts.to_string(), "vectors": self.vectors.starts.last(),
            "embedder": self.embedder.options(),
        });
        if let (Texts::Fields { weights }, Some(options)) = (self.texts, options.as_object_mut()) {
            options.insert("weights".to_owned(), json!(weights));
        }
        options
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError> {
        if query.trim().is_empty() || self.vectors.numbers.is_empty() {
            return Ok(Vec::new());
        }
        let mut width = Some(self.vectors.dimensions);
        let query = embed(&*self.embedder, &[query], Kind::Query, &mut width, &|_, _| ())?;
        Ok(best(&self.scores(&query.concat()), most))
    }

    /// A cosine is 1 at most.
    fn ceiling(&self, _: &str) -> f32 {
        1.0
    }
}
