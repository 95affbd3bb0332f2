//! Cleanup after processes that have ended.

use assay_store::Store;
use serde::Serialize;

/// The result of a cleanup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CleanupReport {
    /// In the store.
    #[serde(flatten)]
    pub store: assay_store::CleanupReport,
    /// Control groups of processes that have ended.
    pub cgroups: usize,
}

/// Removes leftovers of processes that have ended from a store, and their control groups.
pub fn clean_up(store: &Store) -> CleanupReport {
    CleanupReport { store: store.clean_up(), cgroups: assay_sandbox::remove_stale_cgroups() }
}
