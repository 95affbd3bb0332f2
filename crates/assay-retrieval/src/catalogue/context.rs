//! What retrievers may use of a machine.

use std::path::PathBuf;

/// What retrievers that need models may use of a machine.
pub struct RetrieverContext<'a> {
    /// The folder of the default embedding model; it may be missing.
    pub embedder: Option<PathBuf>,
    /// The folder of the default cross-encoder; it may be missing.
    pub reranker: Option<PathBuf>,
    /// The cache of vectors.
    pub vectors: Option<PathBuf>,
    /// Looks a variable up: keys of servers, and proxies.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Hears how many texts have been embedded, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl RetrieverContext<'_> {
    /// A machine with nothing on it.
    pub fn none() -> RetrieverContext<'static> {
        RetrieverContext {
            embedder: None,
            reranker: None,
            vectors: None,
            env: &|_| None,
            progress: &|_, _| (),
        }
    }
}
