//! The environment variables that this program reads.

use assay_store::RECORD_KEY_VARIABLE;

/// An environment variable, where it is set and is text. The keys of records are for `record_keys` only: no
/// task, agent or server gets them, whatever an experiment names.
pub fn env(name: &str) -> Option<String> {
    if name == RECORD_KEY_VARIABLE {
        return None;
    }
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
