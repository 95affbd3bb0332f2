//! What retrievers may use of this machine: the models in its cache, the vectors kept there, keys of servers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_retrieval::{DEFAULT, MODELS, NAMES, RetrieverContext, Searcher, Wanted};

use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// The model of embeddings that is taken where none is named; `scripts/fetch-minilm` puts it there.
const EMBEDDER: &str = "models/all-MiniLM-L6-v2";

/// The cross-encoder that is taken where none is named.
const RERANKER: &str = "models/ms-marco-MiniLM-L-6-v2";

/// Where vectors are kept.
const VECTORS: &str = "vectors";

/// Between two words on how far embedding has come.
const PAUSE: Duration = Duration::from_secs(10);

/// Does something with what this machine has.
pub(in crate::commands) fn with<T>(ui: &Ui, ask: impl FnOnce(&RetrieverContext<'_>) -> T) -> T {
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

/// Lets the retriever of this name answer.
pub(super) fn by(searcher: Searcher, name: Option<&str>, ui: &Ui) -> Result<Searcher, Failure> {
    let Some(name) = name.filter(|name| *name != DEFAULT) else { return Ok(searcher) };
    let wanted = Wanted::parse(name)?;
    let (searcher, told) = with(ui, |around| searcher.by(&wanted, around))?;
    for told in &told {
        ui.note(told);
    }
    Ok(searcher)
}

/// BM25 over stems: most of what stems are worth takes no more than them, so whatever uses them is compared with it.
const STEMMED: &str = "bm25:stemmer=english";

/// Every retriever that can be opened here, with [`STEMMED`] beside plain BM25. What is not installed is told.
pub(in crate::commands) fn installed(ui: &Ui) -> Vec<String> {
    with(ui, |around| {
        let is_here = |name: &&str| match Wanted::parse(name).ok().and_then(|wanted| wanted.missing(around)) {
            None => true,
            Some(missing) => {
                ui.note(&format!("left out: {missing}"));
                false
            }
        };
        let mut names: Vec<&str> = NAMES.into_iter().chain(MODELS).filter(is_here).collect();
        names.insert(1, STEMMED);
        names.into_iter().map(str::to_owned).collect()
    })
}
