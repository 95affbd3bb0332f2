//! Imported results of planned trials.

use std::collections::BTreeMap;

use assay_store::{ImportedFrom, Store, TrialId};

use crate::plan::Plan;

impl Plan {
    /// The planned trials that have no result of their own, and one that an archive brought: by their id, the id of
    /// the imported trial.
    pub fn imported_results(&self, store: &Store) -> BTreeMap<TrialId, TrialId> {
        let sources = store.imported_sources();
        let has_result =
            |id: &TrialId| store.record(id).is_ok_and(|found| found.is_some_and(|one| one.outcome.counts()));
        let mut found = BTreeMap::new();
        for own in self.trials.keys().filter(|_| !sources.is_empty()) {
            if has_result(own) {
                continue;
            }
            let mut imported = sources.iter().map(|source| ImportedFrom::namespaced(&source.digest, own).0);
            found.extend(imported.find(has_result).map(|imported| (own.clone(), imported)));
        }
        found
    }

    /// Uses imported results in the place of own trials: cells name the imported trials, and the plan is another.
    pub fn reuse_imports(&mut self, imported: &BTreeMap<TrialId, TrialId>) {
        for cell in &mut self.cells {
            if let Some(other) = imported.get(&cell.trial) {
                cell.trial = other.clone();
            }
        }
        self.reused_imports = imported.len();
    }
}
