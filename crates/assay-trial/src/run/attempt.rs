//! One attempt at a trial: what it works on, and where its files lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_gateway::{Budget, EgressLedger};

use crate::run::broken::Broken;
use crate::run::prep_cache::PrepCache;
use crate::run::trial::ResolvedTrial;

/// One attempt at a trial.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// What trials share.
    pub(crate) cache: &'a PrepCache,
    /// Set from outside to stop soon.
    pub(crate) cancel: &'a AtomicBool,
    /// What its requests are charged to.
    pub(crate) budget: &'a Budget,
    /// The trial.
    pub(crate) trial: &'a ResolvedTrial,
    /// What is kept of it.
    pub(crate) folder: &'a Path,
    /// What is not.
    pub(crate) scratch: &'a Path,
}

impl Attempt<'_> {
    /// The folder of the agent's way to its model.
    pub(crate) fn proxy_folder(&self) -> PathBuf {
        self.scratch.join("proxy")
    }

    /// The folder of the way to the hosts that a phase may reach.
    pub(crate) fn egress_folder(&self) -> PathBuf {
        self.scratch.join("egress")
    }

    /// Writes down what went to hosts in a phase.
    pub(crate) fn write_egress(&self, ledger: &EgressLedger, phase: &str) -> Result<(), Broken> {
        let path = self.folder.join(format!("egress-{phase}.json"));
        let text = serde_json::to_vec(ledger).map_err(|error| Broken::harness(error.to_string()))?;
        fs::write(&path, text)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
    }

    /// Where commands start.
    pub(crate) fn workdir(&self) -> PathBuf {
        let task = &self.trial.task;
        let dockerfile = task.environment.dockerfile.as_ref().map(|dockerfile| dockerfile.workdir.clone());
        task.config.environment.workdir.clone().or(dockerfile).unwrap_or_else(|| PathBuf::from("/"))
    }
}
