//! `dense`: ranks skills by the cosine of embedding vectors.
//!
//! A model ([`Embedder`]) makes vectors of skills once and of each request; every skill's cosine is
//! computed. Vectors are cached by the digest of the embedded text, so that only changed skills are
//! embedded again.

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
use crate::retriever::{Hit, Retriever, RetrieverError, best_hits};

pub use adapter::{Adapted, Adapter, map_vector};
pub use embedder::{Embedder, Kind, Prompts, Remote};
pub(crate) use embedder::{call_model, head};
#[cfg(feature = "local-models")]
pub use local::Local;
pub(crate) use texts::full;
pub use texts::{Pooling, Texts};
use vectors::VectorCache;
pub use vectors::{Origin, Vectors, VectorsError};

/// Documents of one batch: limits the memory used twice, and what an interruption loses.
const BLOCK: usize = 2_048;

/// Ranks by the cosine of vectors.
pub struct Dense {
    name: String,
    /// The model.
    pub embedder: Arc<dyn Embedder>,
    texts: Texts,
    /// The vectors of the documents.
    pub vectors: Vectors,
}

/// Vectors, with notes on how they were computed.
pub struct BuiltVectors {
    /// The vectors.
    pub vectors: Vectors,
    /// Documents embedded in this call; the others were cached.
    pub embedded: usize,
    /// Why they could not be cached.
    pub unkept: Option<VectorsError>,
}

/// The origin of vectors of these documents, which are in order of their ids.
pub fn origin(documents: &[Document], embedder: &dyn Embedder, texts: Texts) -> Origin {
    Origin {
        model: embedder.name().to_owned(),
        model_digest: embedder.digest(),
        text: texts.to_string(),
        corpus: index_file::digest(documents),
    }
}

/// Vectors of documents, which are in order of their ids. Vectors cached in `kept` are reused, and
/// new ones are stored there after every block, so that an interrupted run is not lost. `progress`
/// gets the number of documents done, and of all.
pub fn build(
    documents: &[Document],
    embedder: &dyn Embedder,
    texts: Texts,
    kept: Option<&Path>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<BuiltVectors, RetrieverError> {
    let origin = origin(documents, embedder, texts);
    let cache = kept.map(|folder| VectorCache::in_folder(folder, &origin));
    if let Some(vectors) = cache.as_ref().and_then(|cache| cache.get(&origin)) {
        return Ok(BuiltVectors { vectors, embedded: 0, unkept: None });
    }
    let digests: Vec<[u8; 32]> = documents.par_iter().map(|own| texts.digest(own)).collect();
    // The vectors of each text that is needed, in order; `None` until they are known.
    let mut known: BTreeMap<[u8; 32], Option<Vec<f32>>> = digests.iter().map(|own| (*own, None)).collect();
    let (mut width, mut unkept) = (None, None);
    for other in cache.iter().flat_map(|cache| cache.other_vectors(&origin)) {
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
        if let Some(cache) = cache.as_ref().filter(|_| number > 0) {
            let digests = known.iter().filter(|(_, own)| own.is_some()).map(|(digest, _)| *digest).collect();
            if let Err(error) = cache.store_vectors(&pack_vectors(part.clone(), digests, &known, width)) {
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
    let vectors = pack_vectors(origin, digests, &known, width);
    if let Some(cache) = cache {
        unkept = cache.store_vectors(&vectors).err().or(unkept);
        cache.remove(&part);
    }
    Ok(BuiltVectors { vectors, embedded, unkept })
}

/// Vectors one after the other, in the order of the digests.
fn pack_vectors(
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

/// A vector of length 1 for each text, and one of zeros for a text without words, which is not sent
/// to the model.
pub fn embed(
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
                format!("{} returned a vector of {numbers} numbers, expected {expected}", embedder.name());
            return Err(RetrieverError::Unusable { what });
        }
        found.push(normalized(vector).ok_or_else(|| RetrieverError::NotANumber {
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

/// A vector of length 1, or zeros unchanged. `None` if a value is not finite.
pub fn normalized(mut vector: Vec<f32>) -> Option<Vec<f32>> {
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
    normalized(sum).unwrap_or_default()
}

/// The sum of products, in an order that does not depend on the machine.
pub fn dot(one: &[f32], other: &[f32]) -> f32 {
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
    /// Over vectors of these texts by this model.
    pub fn new(name: &str, embedder: Arc<dyn Embedder>, texts: Texts, vectors: Vectors) -> Self {
        Self { name: name.to_owned(), embedder, texts, vectors }
    }

    /// Every document's score for a request.
    pub fn scores(&self, query: &[f32]) -> Vec<f32> {
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
        Ok(best_hits(&self.scores(&query.concat()), most))
    }

    /// A cosine is 1 at most.
    fn ceiling(&self, _: &str) -> f32 {
        1.0
    }
}
