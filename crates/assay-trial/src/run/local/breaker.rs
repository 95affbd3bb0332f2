//! Circuit breaker: stops a run after several consecutive infrastructure errors from one provider, and a worker
//! after several of its machine.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use assay_store::{Cause, Outcome, Record, TrialSpec};

/// Consecutive errors of a machine after which a worker stops.
const MACHINE_ERRORS: u32 = 3;

/// Counts consecutive infrastructure errors by provider.
#[derive(Debug)]
pub(super) struct Breaker {
    /// The number at which it trips; 0: never.
    most: u32,
    /// Whether errors of this machine count: others can execute the trials.
    machine: bool,
    rows: Mutex<BTreeMap<String, u32>>,
    tripped: OnceLock<String>,
}

impl Breaker {
    /// A breaker that trips after the given number.
    pub(super) fn new(most: u32, machine: bool) -> Self {
        Self { most, machine, rows: Mutex::default(), tripped: OnceLock::new() }
    }

    /// Counts a finished trial. Returns the reason if the run must stop.
    pub(super) fn record(&self, spec: &TrialSpec, record: &Record) -> Option<String> {
        if self.machine
            && let Some(reason) = self.count_machine(record)
        {
            return Some(reason);
        }
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

    /// The same for errors of this machine: its sandbox, its images, or its disk.
    fn count_machine(&self, record: &Record) -> Option<String> {
        let is_own = matches!(record.cause, Some(Cause::Sandbox | Cause::Image | Cause::Harness));
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(String::new()).or_default();
        *row = if record.outcome == Outcome::Infrastructure && is_own { *row + 1 } else { 0 };
        if *row < MACHINE_ERRORS || self.tripped.get().is_some() {
            return None;
        }
        let last = record.reason.as_deref().unwrap_or("no reason recorded");
        let reason = format!("{row} consecutive trials had infrastructure errors of this machine: {last}");
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
