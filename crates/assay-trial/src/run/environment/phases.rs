//! The phases of an attempt, each a value from which the next one is made.
//!
//! [`Environment`] → [`AgentPhase`] → [`StoppedAgent`] → [`Compared`] → [`VerifierPhase`] →
//! [`Graded`]. A step consumes the previous phase, so that nothing can be graded before the agent
//! was killed and its changes were compared, and nothing is graded twice. Dropping a phase kills
//! its sandbox.
//!
//! A task with steps goes through all of them once for each step. The next environment is made from
//! a [`Compared::snapshot`] of the agent's work, which is taken before the verifier starts: what
//! the tests write, and what of the agent's runs in them, does not reach the next step.
//!
//! Each kind of sandbox implements them in its own files; [`crate::run::life`] goes through them in
//! the same way for all.

use std::path::{Path, PathBuf};

use assay_diagnostic::escape_path;
use assay_fs::{Caps, Change, ChangeKind, LeftOut};
use assay_sandbox::{Session, Usage};
use assay_store::KeptBecause;
use assay_task::Healthcheck;

use crate::run::broken::Broken;

/// The script among a step's files that prepares the work folder.
pub(crate) const SETUP: &str = "setup.sh";

/// The script, relative to the work folder.
pub(crate) const SEED: &str = ".assay-seed/seed.sh";

/// Most bytes of the difference between the work folder before and after.
pub(crate) const DIFF_CAP: usize = 1 << 20;

/// Most paths outside the work folder that are listed.
pub(crate) const OUTSIDE: usize = 200;

/// What a step starts with.
#[derive(Debug)]
pub(crate) struct StepStart<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// A folder of this machine with files for the work folder, if it has any. A `setup.sh` among
    /// them is run there.
    pub(crate) files: Option<&'a Path>,
    /// The check that has to succeed before the agent starts.
    pub(crate) healthcheck: Option<&'a Healthcheck>,
    /// Whether these are the databases and repositories of test doubles, which are made by a script
    /// of assay's own.
    pub(crate) is_seed: bool,
}

impl StepStart<'_> {
    /// The script that is run in the work folder, if it is among the files.
    pub(crate) fn script(&self) -> &'static str {
        if self.is_seed { SEED } else { SETUP }
    }
}

/// A task's prepared environment, before any agent was in it.
pub(crate) trait Environment: Sized {
    /// The work that the next step starts from.
    type Snapshot;

    /// With the agent at work.
    type Agent: AgentPhase<Snapshot = Self::Snapshot>;

    /// Texts in the sandbox that must not be there: skills that were not provided, the solution,
    /// the tests.
    fn contamination(&self) -> Result<Vec<String>, Broken>;

    /// Where commands start, as an absolute path inside.
    fn workdir(&self) -> PathBuf;

    /// Adds what a step starts with, which is then not the agent's work.
    fn begin_step(self, start: &StepStart<'_>) -> Result<Self, Broken>;

    /// Starts the agent's sandbox.
    fn start_agent(self) -> Result<Self::Agent, Broken>;
}

/// The agent's sandbox is open.
pub(crate) trait AgentPhase {
    /// The work that the next step starts from.
    type Snapshot;

    /// After the agent was killed.
    type Stopped: StoppedAgent<Snapshot = Self::Snapshot>;

    /// What its commands run in.
    fn session(&mut self) -> &mut dyn Session;

    /// Kills all of it. When this returns, the agent's logs are under [`StoppedAgent::logs`].
    fn stop(self) -> Result<Self::Stopped, Broken>;
}

/// Every process of the agent has been killed.
pub(crate) trait StoppedAgent {
    /// The work that the next step starts from.
    type Snapshot;

    /// After its changes were compared.
    type Compared: Compared<Snapshot = Self::Snapshot>;

    /// The usage of the agent's phase.
    fn used(&self) -> Usage;

    /// Paths of the task's own skills given to this agent; only the oracle gets any.
    fn task_skills(&self) -> Vec<PathBuf>;

    /// The folder on this machine with the content of `/logs`: `agent`, `artifacts`.
    fn logs(&self) -> &Path;

    /// The folder on this machine with the skills that the agent wrote, if it was asked to.
    fn written_skills(&self) -> PathBuf;

    /// Finds the agent's changes, and which of them are tampering. If there are any, there is no
    /// next phase: what was planted for the verifier must not run.
    fn compare(self) -> Result<(Changes, Option<Self::Compared>), Broken>;
}

/// The agent's work is found fit to be graded.
pub(crate) trait Compared {
    /// The work that the next step starts from.
    type Snapshot;

    /// With the verifier at work.
    type Verifier: VerifierPhase;

    /// Keeps the agent's work as it is now.
    fn snapshot(&mut self) -> Result<Self::Snapshot, Broken>;

    /// Copies the work folder as the agent left it, for judges, up to caps. Returns what was left out, and why.
    fn copy_work(&mut self, to: &Path, caps: &Caps) -> Result<Vec<LeftOut>, Broken>;

    /// Starts the verifier's sandbox: the agent's work, fresh tests, and a new reward folder.
    fn start_verifier(self) -> Result<Self::Verifier, Broken>;

    /// Whether the agent's work can be graded in a restored environment: the one before the agent,
    /// with the agent's work folders.
    fn restoring(&self) -> Restoring;

    /// Starts the verifier's sandbox in a restored environment. What the agent left stays as it is.
    fn start_restored(&mut self) -> Result<Self::Verifier, Broken>;

    /// What the agent changed outside its work folders, and what a restored environment has not.
    fn system_changes(&self) -> &[String];

    /// Those that could control a verifier in the agent's own environment, and why.
    fn dangerous(&self) -> &[String];
}

/// Whether an agent's work can be graded in a restored environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restoring {
    /// There is nothing to restore: an agent cannot change the verifier's environment.
    NotNeeded,
    /// It is graded where the agent worked.
    Impossible(KeptBecause),
    /// It can be.
    Possible,
}

/// The verifier's sandbox is open.
pub(crate) trait VerifierPhase {
    /// What its commands run in.
    fn session(&mut self) -> &mut dyn Session;

    /// Kills all of it.
    fn stop(self) -> Result<Graded, Broken>;
}

/// The verifier has ended and was killed.
#[derive(Debug)]
pub(crate) struct Graded {
    /// The folder on this machine with the content of `/logs/verifier`.
    pub(crate) logs: PathBuf,
}

/// What an agent changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Files that could decide its own reward.
    pub(crate) tampered: Vec<String>,
    /// Changes outside the work folder.
    pub(crate) outside: Vec<String>,
    /// Files in the work folder that the agent created or changed, relative to it.
    pub(crate) changed: Vec<PathBuf>,
    /// Those of them that the agent created.
    pub(crate) created: Vec<PathBuf>,
    /// The work folder before and after.
    pub(crate) diff: Vec<u8>,
}

impl Changes {
    /// Lists what was created or changed below a folder that is, or contains, the work folder.
    pub(crate) fn add_changed(&mut self, root: &Path, workdir: &Path, changes: &[Change]) {
        let kept = changes.iter().filter(|change| change.kind != ChangeKind::Removed);
        for change in kept {
            let path = root.join(&change.path);
            let Ok(inside) = path.strip_prefix(workdir) else { continue };
            self.changed.push(inside.to_owned());
            if change.kind == ChangeKind::Added {
                self.created.push(inside.to_owned());
            }
        }
    }

    /// Lists what changed below a folder outside the work folder.
    pub(crate) fn add_outside(&mut self, root: &Path, changes: &[Change]) {
        let room = OUTSIDE.saturating_sub(self.outside.len());
        let shown = changes.iter().take(room).map(|change| escape_path(&root.join(&change.path)));
        self.outside.extend(shown);
    }
}
