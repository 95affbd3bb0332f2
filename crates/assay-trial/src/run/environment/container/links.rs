//! The symbolic links that an agent left in a container.

use std::path::{Path, PathBuf};

use assay_diagnostic::escape_path;
use assay_fs::ChangeKind;
use assay_sandbox::SandboxError;
use assay_sandbox::docker::{Changed, Container};

use super::compare::StoppedContainer;
use super::files::is_system;
use super::pristine::Pristine;
use crate::run::broken::Broken;
use crate::run::tamper::VERIFIER_LOGS;
use crate::run::tamper::links::{AgentLink, Links, Node, Tree};

/// Most changed paths that the daemon is asked about, one by one.
const MOST_ASKED: usize = 20_000;

/// Logs of the agent, which the verifier can read and which are no work.
const LOGS: [&str; 2] = ["/logs/agent", "/logs/artifacts"];

/// Folders that the kernel or the daemon fills.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The files of a container that does not run.
struct ContainerTree<'a>(&'a Container);

impl Tree for ContainerTree<'_> {
    fn node(&self, path: &Path) -> Result<Node, Broken> {
        match self.0.stat(path) {
            Ok(Some(found)) => Ok(found.link.map_or(Node::Other, Node::Link)),
            // The daemon cannot be asked about such a name.
            Ok(None) if path.to_str().is_none() => Ok(Node::Unknown),
            Ok(None) => Ok(Node::Other),
            // A name that is too long, for example.
            Err(SandboxError::Daemon { gone: false, .. }) => Ok(Node::Unknown),
            Err(error) => Err(error.into()),
        }
    }
}

impl StoppedContainer<'_> {
    /// The folders with the agent's work.
    fn work_folders(&self) -> Vec<PathBuf> {
        let writable = &self.environment.attempt.trial.task.writable;
        let all = std::iter::once(&self.environment.workdir).chain(writable);
        all.filter(|folder| *folder != Path::new("/")).cloned().collect()
    }

    /// Which links of the agent are tampering, anywhere in the container; and those in the logs that
    /// lead into the verifier's folders, which are to be removed.
    pub(super) fn link_faults(
        &self,
        pristine: &mut Pristine<'_>,
    ) -> Result<(Vec<String>, Vec<PathBuf>), Broken> {
        let mut faults = Vec::new();
        let mut in_logs = Vec::new();
        let found = match self.changed_links(&mut faults) {
            Ok(found) => found,
            // What the daemon cannot read, no verifier should.
            Err(SandboxError::Daemon { reason, gone: false, .. }) => {
                let answer: Result<(), SandboxError> = Err(SandboxError::Daemon {
                    action: "inspect a path in a container",
                    reason,
                    gone: false,
                });
                self.environment.seen("links", answer, &mut faults)?;
                return Ok((faults, in_logs));
            }
            Err(error) => return Err(error.into()),
        };
        if found.is_empty() {
            return Ok((faults, in_logs));
        }
        let work = self.work_folders();
        let tree = ContainerTree(&self.container);
        let links = Links::new(&tree, &work, &[])?;
        let home = self.environment.account().home;
        let agent = &self.environment.attempt.trial.agent;
        for link in found {
            let fault = if work.iter().any(|folder| folder.starts_with(&link.path)) {
                Some(format!("{}: a link in place of the work folder", escape_path(&link.path)))
            } else {
                let is_state = link.path.strip_prefix(&home).is_ok_and(|own| agent.is_own_state(own));
                links.fault(&link, is_state)?
            };
            let Some(fault) = fault else { continue };
            if LOGS.iter().any(|folder| link.path.starts_with(folder)) {
                in_logs.push(link.path);
            } else if !pristine.has_the_same(&self.container, &link.path) {
                // The image does not have the same link.
                faults.push(fault);
            }
        }
        Ok((faults, in_logs))
    }

    /// The links among the changes.
    fn changed_links(&self, faults: &mut Vec<String>) -> Result<Vec<AgentLink>, SandboxError> {
        let is_oracle = self.environment.attempt.trial.agent.needs_solution();
        let is_of_verifier = |path: &Path| is_oracle && path.starts_with(VERIFIER_LOGS);
        let is_mounted = |path: &Path| self.given.mounts.iter().any(|mount| path.starts_with(&mount.target));
        let mut leaves: Vec<&Changed> = Vec::new();
        for (number, change) in self.changes.iter().enumerate() {
            let is_folder =
                self.changes.get(number + 1).is_some_and(|next| next.path.starts_with(&change.path));
            let path = change.path.as_path();
            if change.kind != ChangeKind::Removed
                && !is_folder
                && !KERNEL.iter().any(|folder| path.starts_with(folder))
                && !is_mounted(path)
                && !is_of_verifier(path)
            {
                leaves.push(change);
            }
        }
        if !self.container.is_read_directly() {
            // Where a task keeps its work first.
            leaves.sort_by_key(|change| is_system(&change.path));
            if leaves.get(MOST_ASKED).is_some_and(|change| !is_system(&change.path)) {
                faults.push(format!("more than {MOST_ASKED} changed files, which cannot be checked"));
            }
            leaves.truncate(MOST_ASKED);
        }
        let mut links = Vec::new();
        for change in leaves {
            if let Some(target) = self.container.stat(&change.path)?.and_then(|found| found.link) {
                links.push(AgentLink { path: change.path.clone(), target });
            }
        }
        Ok(links)
    }
}
