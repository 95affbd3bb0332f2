//! Where one attempt at a trial happens, from laying it out to what the grader left behind.
//!
//! What differs between kinds of sandboxes is in one file for each kind; the order of things is in [`crate::run::life`] and the same for all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_diagnostic::chain;
use assay_gateway::Budget;
use assay_sandbox::{Caps, Change, SandboxError, Session, Usage};
use assay_store::Cause;

mod container;
pub(crate) mod folders;

use container::Container;
use folders::Folders;

use crate::run::backend::BackendKind;
use crate::run::egress_proxy::Outlet;
use crate::run::prep_cache::Workshop;
use crate::run::trial::ResolvedTrial;

/// What raw logs and artifacts of an attempt may take.
pub(crate) const LOG_CAPS: Caps =
    Caps { entries: 2_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 16, links: false };

/// Most bytes of the difference between the work folder before and after.
pub(crate) const DIFF_CAP: usize = 1 << 20;

/// Most paths outside the work folder that are listed.
const OUTSIDE: usize = 200;

/// The place of one attempt. Its functions are called in this order, each once.
pub(crate) trait Desk {
    /// Texts that stand in the sandbox and must not: skills that were not provided, the solution, the tests.
    fn contamination(&mut self) -> Result<Vec<String>, Broken>;

    /// Where commands start, as an absolute path inside.
    fn workdir(&self) -> PathBuf;

    /// Starts what the agent works in.
    fn seat_agent(&mut self) -> Result<&mut dyn Session, Broken>;

    /// Paths of the task's own skills given to this agent; only the oracle gets any.
    fn task_skills(&self) -> Vec<PathBuf>;

    /// Kills all of it. When this returns, what the agent logged lies under [`Desk::logs`].
    fn dismiss_agent(&mut self) -> Result<Usage, Broken>;

    /// The folder on this machine that holds what came of `/logs`: `agent`, `artifacts`.
    fn logs(&self) -> &Path;

    /// The folder on this machine with the skills that the agent wrote, where it was to write some.
    fn written_skills(&self) -> PathBuf;

    /// What the agent changed, and whether it may have.
    fn compare(&mut self) -> Result<Changes, Broken>;

    /// Starts what the grader works in: the agent's work, fresh tests, and a reward folder that did not exist before.
    fn seat_grader(&mut self) -> Result<&mut dyn Session, Broken>;

    /// Kills all of it, and gives the folder on this machine with what came of `/logs/verifier`.
    fn dismiss_grader(&mut self) -> Result<PathBuf, Broken>;
}

/// The desk of an attempt, by the kind of its place.
pub(crate) fn open<'a>(attempt: &Attempt<'a>) -> Result<Box<dyn Desk + 'a>, Broken> {
    match &attempt.trial.backend.inner {
        BackendKind::Folders { sandbox, root } => Ok(Box::new(Folders::new(*attempt, sandbox, root)?)),
        BackendKind::Container { docker, image } => Ok(Box::new(Container::new(*attempt, docker, image)?)),
    }
}

/// What an agent changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// What decides about its own reward.
    pub(crate) tampered: Vec<String>,
    /// What lies outside the work folder.
    pub(crate) outside: Vec<String>,
    /// The work folder before and after.
    pub(crate) diff: Vec<u8>,
}

impl Changes {
    /// Lists what changed below a folder outside the work folder.
    fn add_outside(&mut self, root: &Path, changes: &[Change]) {
        let room = OUTSIDE.saturating_sub(self.outside.len());
        let shown =
            changes.iter().take(room).map(|change| assay_diagnostic::escape_path(&root.join(&change.path)));
        self.outside.extend(shown);
    }
}

/// One attempt at a trial.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// What trials share.
    pub(crate) workshop: &'a Workshop,
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
    pub(crate) fn door(&self) -> PathBuf {
        self.scratch.join("door")
    }

    /// The folder of the way to the hosts that a phase may reach.
    pub(crate) fn outlet(&self) -> PathBuf {
        self.scratch.join("outlet")
    }

    /// Puts down what went through a way to hosts.
    pub(crate) fn tell(&self, outlet: Option<Outlet>, phase: &str) -> Result<(), Broken> {
        let Some(outlet) = outlet else { return Ok(()) };
        let path = self.folder.join(format!("egress-{phase}.json"));
        let text = serde_json::to_vec(&outlet.close()).map_err(|error| Broken::harness(error.to_string()))?;
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

/// Something under a trial broke.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) message: String,
}

impl Broken {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }

    /// assay itself broke.
    pub(crate) fn harness(message: impl Into<String>) -> Self {
        Self::new(Cause::Harness, message)
    }
}

impl From<SandboxError> for Broken {
    fn from(error: SandboxError) -> Self {
        // A full disk is the host's, also where the sandbox's output met it first.
        let cause = if matches!(error, SandboxError::Io { .. }) { Cause::Harness } else { Cause::Sandbox };
        Self::new(cause, chain(&error))
    }
}

/// A folder that has to be there.
pub(crate) fn make(folder: &Path) -> Result<(), Broken> {
    fs::create_dir_all(folder)
        .map_err(|error| Broken::harness(format!("cannot create {}: {error}", folder.display())))
}
