//! Resources of retrievers on this machine: cached models and vectors, and keys of servers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_retrieval::{DEFAULT, MODELS, NAMES, RetrieverContext, RetrieverSpec, Searcher};

use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// The default embedding model; `scripts/fetch-minilm` installs it.
const EMBEDDER: &str = "models/all-MiniLM-L6-v2";

/// The default cross-encoder.
const RERANKER: &str = "models/ms-marco-MiniLM-L-6-v2";

/// The cache of vectors.
const VECTORS: &str = "vectors";

/// Interval of progress messages.
const PAUSE: Duration = Duration::from_secs(10);

/// Calls a function with this machine's resources.
pub fn with<T>(ui: &Ui, ask: impl FnOnce(&RetrieverContext<'_>) -> T) -> T {
    let cache = machine::cache().ok();
    let below = |inner: &str| cache.as_ref().map(|cache| cache.join(inner));
    let spoken = Mutex::new(Instant::now());
    let progress = |done: usize, all: usize| {
        let mut spoken = spoken.lock().unwrap_or_else(PoisonError::into_inner);
        if spoken.elapsed() >= PAUSE {
            *spoken = Instant::now();
            ui.note(&format!("embedded {done} of {all} texts"));
        }
    };
    ask(&RetrieverContext {
        embedder: below(EMBEDDER),
        reranker: below(RERANKER),
        vectors: below(VECTORS),
        env: &machine::env,
        progress: &progress,
    })
}

/// Uses the retriever of this name.
pub(super) fn by(searcher: Searcher, name: Option<&str>, ui: &Ui) -> Result<Searcher, Failure> {
    let Some(name) = name.filter(|name| *name != DEFAULT) else { return Ok(searcher) };
    let spec = RetrieverSpec::parse(name)?;
    let (searcher, notes) = with(ui, |around| searcher.with_retriever(&spec, around))?;
    for note in &notes {
        ui.note(note);
    }
    Ok(searcher)
}

/// BM25 over stems: the baseline of retrievers that use stems.
const STEMMED: &str = "bm25:stemmer=english";

/// Every retriever that can be opened here, with stemmed words beside plain BM25. Missing models are reported.
pub fn installed(ui: &Ui) -> Vec<String> {
    with(ui, |around| {
        let is_here =
            |name: &&str| match RetrieverSpec::parse(name).ok().and_then(|spec| spec.missing_model(around)) {
                None => true,
                Some(missing) => {
                    ui.note(&format!("skipped: {missing}"));
                    false
                }
            };
        let mut names: Vec<&str> = NAMES.into_iter().chain(MODELS).filter(is_here).collect();
        names.insert(1, STEMMED);
        names.into_iter().map(str::to_owned).collect()
    })
}
