//! Cleanup after dead processes.

use assay_store::Store;
use serde::Serialize;

/// What a cleanup removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CleanupReport {
    /// In the store.
    #[serde(flatten)]
    pub store: assay_store::CleanupReport,
    /// Control groups of dead processes.
    pub cgroups: usize,
}

/// Removes leftovers of dead processes from a store, and their control groups.
pub fn clean_up(store: &Store) -> CleanupReport {
    CleanupReport { store: store.clean_up(), cgroups: assay_sandbox::sweep_cgroups() }
}
