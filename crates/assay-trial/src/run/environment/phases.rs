//! The phases of an attempt, each a value that the next one is made of.
//!
//! [`Environment`] → [`AgentPhase`] → [`StoppedAgent`] → [`Compared`] → [`VerifierPhase`] →
//! [`Graded`]. A step takes the phase before it, so that nothing can be graded whose agent was not
//! killed and whose changes were not looked at, and nothing twice. What a phase that is dropped
//! holds of a sandbox is killed.
//!
//! Each kind of sandbox implements them in its own files; [`crate::run::life`] goes through them,
//! and is the same for all.

use std::path::{Path, PathBuf};

use assay_diagnostic::escape_path;
use assay_fs::Change;
use assay_sandbox::{Session, Usage};

use crate::run::broken::Broken;

/// Most bytes of the difference between the work folder before and after.
pub(crate) const DIFF_CAP: usize = 1 << 20;

/// Most paths outside the work folder that are listed.
pub(crate) const OUTSIDE: usize = 200;

/// What a task's environment is laid out in. No agent has been in it.
pub(crate) trait Environment {
    /// With the agent at work.
    type Agent: AgentPhase;

    /// Texts that stand in the sandbox and must not: skills that were not provided, the solution,
    /// the tests.
    fn contamination(&self) -> Result<Vec<String>, Broken>;

    /// Where commands start, as an absolute path inside.
    fn workdir(&self) -> PathBuf;

    /// Starts what the agent works in.
    fn start_agent(self) -> Result<Self::Agent, Broken>;
}

/// The agent's sandbox is open.
pub(crate) trait AgentPhase {
    /// With the agent dead.
    type Stopped: StoppedAgent;

    /// What its commands run in.
    fn session(&mut self) -> &mut dyn Session;

    /// Kills all of it. When this returns, what the agent logged lies under [`StoppedAgent::logs`].
    fn stop(self) -> Result<Self::Stopped, Broken>;
}

/// Every process of the agent is dead.
pub(crate) trait StoppedAgent {
    /// With its changes looked at.
    type Compared: Compared;

    /// What the agent's phase has used.
    fn used(&self) -> Usage;

    /// Paths of the task's own skills given to this agent; only the oracle gets any.
    fn task_skills(&self) -> Vec<PathBuf>;

    /// The folder on this machine that holds what came of `/logs`: `agent`, `artifacts`.
    fn logs(&self) -> &Path;

    /// The folder on this machine with the skills that the agent wrote, if it was asked to.
    fn written_skills(&self) -> PathBuf;

    /// Finds what the agent changed, and what of it it must not have changed. `None` in place of
    /// the next phase where there is any such: what was planted for the verifier to run must not
    /// run.
    fn compare(self) -> Result<(Changes, Option<Self::Compared>), Broken>;
}

/// The agent's work is found fit to be graded.
pub(crate) trait Compared {
    /// With the verifier at work.
    type Verifier: VerifierPhase;

    /// Starts what the verifier works in: the agent's work, fresh tests, and a reward folder that
    /// did not exist before.
    fn start_verifier(self) -> Result<Self::Verifier, Broken>;
}

/// The verifier's sandbox is open.
pub(crate) trait VerifierPhase {
    /// What its commands run in.
    fn session(&mut self) -> &mut dyn Session;

    /// Kills all of it.
    fn stop(self) -> Result<Graded, Broken>;
}

/// The verifier is done, and dead.
#[derive(Debug)]
pub(crate) struct Graded {
    /// The folder on this machine with what came of `/logs/verifier`.
    pub(crate) logs: PathBuf,
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
    pub(crate) fn add_outside(&mut self, root: &Path, changes: &[Change]) {
        let room = OUTSIDE.saturating_sub(self.outside.len());
        let shown = changes.iter().take(room).map(|change| escape_path(&root.join(&change.path)));
        self.outside.extend(shown);
    }
}
