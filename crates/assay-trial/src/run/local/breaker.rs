//! Circuit breaker: stops a run after several consecutive trials were lost to one provider.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use assay_store::{Cause, Outcome, Record, TrialId};

use crate::plan::Plan;
use crate::plan::agents::RosterEntry;

/// Counts, for each provider, the trials that were lost to it in a row.
#[derive(Debug)]
pub(super) struct Breaker {
    /// How many are too many; 0 for any number.
    most: u32,
    providers: BTreeMap<TrialId, String>,
    rows: Mutex<BTreeMap<String, u32>>,
    tripped: OnceLock<String>,
}

impl Breaker {
    /// For the trials of a plan.
    pub(super) fn new(plan: &Plan) -> Self {
        let provider = |entry: &RosterEntry| {
            let model = entry.spec.model.as_deref()?;
            let name = model.split_once(':').map_or(model, |(provider, _)| provider);
            Some(match &entry.spec.base_url {
                _ if name == "scripted" => model.to_owned(),
                Some(url) => format!("{name} at {url}"),
                None => name.to_owned(),
            })
        };
        let names: Vec<Option<String>> = plan.roster.iter().map(provider).collect();
        let named = |cell: &assay_store::Cell| Some((cell.trial.clone(), names.get(cell.agent)?.clone()?));
        Self {
            most: plan.experiment.stop_after,
            providers: plan.cells.iter().filter_map(named).collect(),
            rows: Mutex::default(),
            tripped: OnceLock::new(),
        }
    }

    /// Counts a trial that has ended for good. Gives the reason where the run is to stop for it.
    pub(super) fn note(&self, record: &Record) -> Option<String> {
        let provider = self.providers.get(&record.trial).filter(|_| self.most > 0)?;
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(provider.clone()).or_default();
        if record.outcome.counts() {
            *row = 0;
        } else if (record.outcome, record.cause) == (Outcome::Infrastructure, Some(Cause::ModelProvider)) {
            *row += 1;
        }
        if *row < self.most || self.tripped.get().is_some() {
            return None;
        }
        let last = record.reason.as_deref().unwrap_or("no reason recorded");
        let reason = format!("{row} trials in a row were lost to {provider}: {last}");
        self.tripped.set(reason.clone()).ok().map(|()| reason)
    }

    /// Why the run was stopped.
    pub(super) fn tripped(&self) -> Option<String> {
        self.tripped.get().cloned()
    }
}
