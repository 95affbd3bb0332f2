//! A linear map of requests' vectors; the vectors of skills do not change.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::files::write_whole;

use super::embedder::{Embedder, Kind};
use crate::retriever::RetrieverError;

const SCHEMA: &str = "assay.adapter/1";

/// The largest file that is read: four times the size of a map of 1,024 dimensions.
const CAP: u64 = 64 << 20;

/// Makes of a request's vector q the vector q + q·M, which is then brought to length 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    schema: String,
    /// The digest of the model that it was fitted to.
    model: String,
    dimensions: usize,
    /// M, row by row.
    rows: Vec<f32>,
}

impl Adapter {
    /// The map of a model of a digest.
    pub fn new(model: String, dimensions: usize, rows: Vec<f32>) -> Self {
        Self { schema: SCHEMA.to_owned(), model, dimensions, rows }
    }

    /// Reads one that was fitted to the vectors of the model with this digest.
    pub fn read(path: &Path, model: &str) -> Result<Self, RetrieverError> {
        let bad = |what: String| RetrieverError::Unusable {
            what: format!("{}: {what}; `assay lab search train --adapter` makes one", path.display()),
        };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(CAP).read_to_end(&mut bytes));
        read.map_err(|error| bad(error.to_string()))?;
        let found: Self =
            serde_json::from_slice(&bytes).map_err(|error| bad(format!("is not an adapter: {error}")))?;
        if found.schema != SCHEMA {
            return Err(bad(format!("is of the format {:?}, and {SCHEMA:?} is read", found.schema)));
        }
        if found.model != model {
            return Err(bad("was fitted to the vectors of another model".to_owned()));
        }
        if found.dimensions.checked_mul(found.dimensions) != Some(found.rows.len()) {
            return Err(bad(format!(
                "has {} numbers, which {} dimensions do not",
                found.rows.len(),
                found.dimensions
            )));
        }
        if found.rows.iter().any(|number| !number.is_finite()) {
            return Err(RetrieverError::NotANumber { what: path.display().to_string() });
        }
        Ok(found)
    }

    /// Writes a temporary file beside the target, and renames it when it is complete.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        write_whole(path, &serde_json::to_vec(self)?)
    }
}

/// q + q·M.
pub fn map_vector(query: &[f32], rows: &[f32]) -> Vec<f32> {
    let mut sum = query.to_vec();
    for (part, row) in query.iter().zip(rows.chunks_exact(query.len().max(1))) {
        for (sum, number) in sum.iter_mut().zip(row) {
            *sum += part * number;
        }
    }
    sum
}

/// A model whose requests an adapter maps. Skills have the model's own vectors, so that cached
/// vectors serve both.
pub struct Adapted {
    inner: Arc<dyn Embedder>,
    adapter: Adapter,
}

impl Adapted {
    /// With the adapter in a file.
    pub fn open(inner: Arc<dyn Embedder>, path: &Path) -> Result<Self, RetrieverError> {
        let adapter = Adapter::read(path, &inner.digest())?;
        Ok(Self { inner, adapter })
    }
}

impl Embedder for Adapted {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn digest(&self) -> String {
        self.inner.digest()
    }

    fn max_tokens(&self) -> usize {
        self.inner.max_tokens()
    }

    fn options(&self) -> Value {
        let mut options = self.inner.options();
        if let Some(options) = options.as_object_mut() {
            let bytes: Vec<u8> = self.adapter.rows.iter().flat_map(|number| number.to_le_bytes()).collect();
            options.insert("adapter".to_owned(), json!(blake3::hash(&bytes).to_hex().as_str()));
        }
        options
    }

    fn embed(
        &self,
        texts: &[&str],
        kind: Kind,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, RetrieverError> {
        let found = self.inner.embed(texts, kind, progress)?;
        if kind == Kind::Document {
            return Ok(found);
        }
        let of = |vector: Vec<f32>| {
            if vector.len() == self.adapter.dimensions {
                // A factor changes nothing, because the result is scaled to length 1.
                return Ok(map_vector(&vector, &self.adapter.rows));
            }
            let (found, wanted) = (vector.len(), self.adapter.dimensions);
            let what = format!(
                "{} returned a vector of {found} numbers, but its adapter expects {wanted}",
                self.name()
            );
            Err(RetrieverError::Unusable { what })
        };
        found.into_iter().map(of).collect()
    }

    fn chunks(&self, text: &str, tokens: usize, overlap: usize) -> Vec<Range<usize>> {
        self.inner.chunks(text, tokens, overlap)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Words;
    use super::*;

    #[test]
    fn adapter_round_trips_and_maps_requests_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adapter.json");
        let mut rows = vec![0.0; 36];
        rows[1] = 2.0;
        Adapter::new(String::new(), 6, rows).save(&path).unwrap();
        let adapted = Adapted::open(Arc::new(Words::default()), &path).unwrap();
        let embed = |kind| adapted.embed(&["a bb"], kind, &|_| ()).unwrap();
        assert_eq!(embed(Kind::Query), [[1.0, 3.0, 0.0, 0.0, 0.0, 0.0]]);
        assert_eq!(embed(Kind::Document), [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]);
        assert!(adapted.embed(&["narrow"], Kind::Query, &|_| ()).is_err());
        assert!(adapted.options()["adapter"].is_string());

        let check = |text: &str, model: &str, expected: &str| {
            std::fs::write(&path, text).unwrap();
            let error = Adapter::read(&path, model).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("adapter.json"), "{text}: {error}");
        };
        let good = r#"{"schema":"assay.adapter/1","model":"m","dimensions":1,"rows":[0.5]}"#;
        check("", "m", "is not an adapter");
        check("[]", "m", "is not an adapter");
        check(good, "other", "another model");
        check(&good.replace("/1", "/9"), "m", "is of the format");
        check(&good.replace(":1,", ":2,"), "m", "has 1 numbers");
        check(&good.replace("0.5", "1e99"), "m", "adapter.json");
        check(&good.replace(":1,", ":18446744073709551615,"), "m", "has 1 numbers");
        std::fs::remove_file(&path).unwrap();
        assert!(Adapter::read(&path, "m").unwrap_err().to_string().contains("No such file"));
    }
}
