//! Circuit breaker: stops a run after several consecutive infrastructure errors from one provider.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use assay_store::{Cause, Outcome, Record, TrialSpec};

/// Counts consecutive infrastructure errors by provider.
#[derive(Debug)]
pub(super) struct Breaker {
    /// The number at which it trips; 0: never.
    most: u32,
    rows: Mutex<BTreeMap<String, u32>>,
    tripped: OnceLock<String>,
}

impl Breaker {
    /// A breaker that trips after the given number.
    pub(super) fn new(most: u32) -> Self {
        Self { most, rows: Mutex::default(), tripped: OnceLock::new() }
    }

    /// Counts a finished trial. Returns the reason if the run must stop.
    pub(super) fn record(&self, spec: &TrialSpec, record: &Record) -> Option<String> {
        let provider = provider(spec).filter(|_| self.most > 0)?;
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
        let reason = format!("{row} consecutive trials had infrastructure errors from {provider}: {last}");
        self.tripped.set(reason.clone()).ok().map(|()| reason)
    }

    /// Why the run was stopped.
    pub(super) fn tripped(&self) -> Option<String> {
        self.tripped.get().cloned()
    }
}

/// The provider of a trial's model.
fn provider(spec: &TrialSpec) -> Option<String> {
    let model = spec.options.model.as_deref()?;
    let name = model.split_once(':').map_or(model, |(provider, _)| provider);
    Some(match &spec.options.base_url {
        _ if name == "scripted" => model.to_owned(),
        Some(url) => format!("{name} at {url}"),
        None => name.to_owned(),
    })
}
