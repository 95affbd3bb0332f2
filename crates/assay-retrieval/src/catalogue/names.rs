//! The names of retrievers, and the options that each takes.

/// Of `dense`.
const DENSE: &str = "`model=DIR`, or `endpoint=URL`, `name=MODEL`, `key=VARIABLE`, `tokens=N`, `query=WORDS`, \
     `document=WORDS`, `timeout=SECONDS` and `retries=N`; `adapter=FILE`; `text=name-description|full|chunks|fields`; with chunks \
     `chunk=TOKENS`, `overlap=TOKENS` and `pooling=max|mean`; with fields `weights=NAME/DESCRIPTION/BODY`";

/// Of `hybrid`.
const HYBRID: &str = "what `dense` takes, and `lexical=NAME`, `fusion=rank|score`, `k=N` with rank and `weight=N` with \
     score";

/// Of `rerank`.
const RERANK: &str = "`first=NAME`, `depth=N`, and `model=DIR`, or `endpoint=URL` with `name=MODEL` and \
     `scores=shares|logits`, or `chat=PROVIDER:MODEL` with `endpoint=URL`; with either `key=VARIABLE`, `timeout=SECONDS` and \
     `retries=N`";

/// Retrievers without a model; the first is the baseline of the others.
pub const NAMES: [&str; 4] = ["bm25", "bm25-name-description", "bm25f", DEFAULT];

/// Every retriever that needs a model.
pub const MODELS: [&str; 3] = ["dense", "hybrid", "rerank"];

/// The default retriever of `assay search`.
pub const DEFAULT: &str = "best";

pub(super) fn known_names() -> String {
    NAMES.into_iter().chain(MODELS).collect::<Vec<_>>().join(", ")
}

/// The options of a retriever.
pub(super) fn accepted_options(name: &str) -> &'static str {
    match name {
        "dense" => DENSE,
        "hybrid" => HYBRID,
        "rerank" => RERANK,
        DEFAULT => "no options",
        "bm25" => {
            "`k1=…`, `b=…`, `stemmer=none|english` and `fields=name+description+headings+body+document`, or some of them"
        }
        _ => "`k1=…`, `b=…` and `stemmer=none|english`",
    }
}
