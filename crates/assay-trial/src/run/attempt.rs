//! One attempt at a trial: its inputs and folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_fs::CopyReport;
use assay_gateway::{Budget, EgressLedger};

use crate::run::broken::Broken;
use crate::run::evidence::EvidenceLog;
use crate::run::prep_cache::PrepCache;
use crate::run::task_references::TaskReferences;
use crate::run::trial::ResolvedTrial;

/// One attempt at a trial.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// What trials share.
    pub(crate) cache: &'a PrepCache,
    /// Set from outside to stop soon.
    pub(crate) cancel: &'a AtomicBool,
    /// The budget of its requests.
    pub(crate) budget: &'a Budget,
    /// The trial.
    pub(crate) trial: &'a ResolvedTrial,
    /// The folder in the store.
    pub(crate) folder: &'a Path,
    /// The scratch folder.
    pub(crate) scratch: &'a Path,
    /// What of its evidence is not kept.
    pub(crate) evidence: &'a EvidenceLog,
    /// The attempts at the steps of the task, if it has any.
    pub(crate) steps: Option<&'a [Attempt<'a>]>,
    /// The references of the task, unless this is one.
    pub(crate) references: Option<&'a dyn TaskReferences>,
}

impl Attempt<'_> {
    /// The folder of the proxy's socket.
    pub(crate) fn proxy_folder(&self) -> PathBuf {
        self.scratch.join("proxy")
    }

    /// The folder of the egress proxy's socket.
    pub(crate) fn egress_folder(&self) -> PathBuf {
        self.scratch.join("egress")
    }

    /// The folder of what the sandbox gets of test doubles.
    pub(crate) fn doubles_folder(&self) -> PathBuf {
        self.scratch.join("doubles")
    }

    /// Writes the egress proxy's ledger of a phase.
    pub(crate) fn write_egress(&self, ledger: &EgressLedger, phase: &str) -> Result<(), Broken> {
        let path = self.folder.join(format!("egress-{phase}.json"));
        let text = serde_json::to_vec(ledger).map_err(|error| Broken::harness(error.to_string()))?;
        fs::write(&path, text)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
    }

    /// Notes what of a folder's content was not fetched from a container. `name` is the folder's place in the store.
    pub(crate) fn note_left_out(&self, fetched: Option<&CopyReport>, name: &str) {
        if let Some(report) = fetched {
            self.evidence.left_out(&self.folder.join(name), &report.left_out);
        }
    }

    /// Notes that the daemon could not read a folder.
    pub(crate) fn note_unread(&self, name: &str) {
        self.evidence.lost(&self.folder.join(name), "cannot be read from the container");
    }

    /// Where commands start.
    pub(crate) fn workdir(&self) -> PathBuf {
        let task = &self.trial.task;
        let dockerfile = task.environment.dockerfile.as_ref().map(|dockerfile| dockerfile.workdir.clone());
        task.config.environment.workdir.clone().or(dockerfile).unwrap_or_else(|| PathBuf::from("/"))
    }
}
