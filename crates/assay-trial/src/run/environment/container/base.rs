//! Shared by the phases in a container.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_diagnostic::clean;
use assay_fs::Caps;
use assay_sandbox::docker::{
    Changed, Container, ContainerSpec, Docker, DockerNetwork, Image, Owner, Snapshot,
};
use assay_sandbox::{
    Enforcement, Exec, ExecOutcome, Exit, FreezeSignal, Mount, SandboxError, Session, Usage,
};
use assay_store::{Cause, NetworkPolicy};

use super::account::{self, Account};
use super::pristine::Pristine;
use super::services::Services;
use super::snapshot::ContainerSnapshot;
use crate::run::attempt::Attempt;
use crate::run::backend::TaskImage;
use crate::run::broken::{Broken, create_folder};
use crate::run::commands::plain_command;
use crate::run::egress_proxy::EgressProxy;
use crate::run::image_scan::ImageInventory;
use crate::run::prep_cache::Prepared;
use crate::run::sandbox_record;

/// A task's prepared and searched image, for one attempt.
#[derive(Clone)]
pub(crate) struct ImageEnvironment<'a> {
    pub(super) attempt: Attempt<'a>,
    pub(super) docker: &'a Docker,
    pub(super) prepared: Arc<Prepared>,
    pub(super) scan: Arc<ImageInventory>,
    pub(super) workdir: PathBuf,
    pub(super) logs: PathBuf,
    /// The files of an earlier step, which the image is.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// The task's other services.
    pub(super) services: Option<Rc<Services>>,
    /// Paths that an earlier step has left and that are to be removed.
    pub(super) left: Vec<PathBuf>,
}

/// What the agent gets in addition to the image.
#[derive(Debug, Default)]
pub(super) struct Additions {
    /// Folders that are mounted, and where.
    pub(super) mounts: Vec<Mount>,
    /// The task's own skills, as the oracle has them.
    pub(super) planted: Vec<PathBuf>,
}

/// A running container and its egress proxy.
pub(super) struct Running {
    pub(super) session: ContainerSession,
    pub(super) egress: Option<EgressProxy>,
}

/// Commands in a container, as one of its users.
pub(super) struct ContainerSession {
    pub(super) container: Container,
    pub(super) user: Option<String>,
    /// Added to every command.
    pub(super) env: Vec<(String, String)>,
    /// The user whose home replaces root's.
    pub(super) account: Option<Account>,
}

impl Session for ContainerSession {
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        let mut command = command.clone();
        let given = std::mem::replace(&mut command.env, self.env.clone());
        command.env.extend(given);
        self.container.exec_as(&command, self.user.as_deref(), cancel)
    }

    fn path(&self, target: &Path) -> PathBuf {
        self.account.as_ref().map_or_else(|| target.to_owned(), |account| account.path(target))
    }

    fn enforcement(&self) -> &Enforcement {
        self.container.enforcement()
    }

    fn freeze_on(&mut self, signal: Arc<dyn FreezeSignal>) {
        self.container.freeze_on(signal);
    }

    fn stop(self: Box<Self>) -> Result<Usage, SandboxError> {
        self.container.remove()
    }
}

impl<'a> ImageEnvironment<'a> {
    /// Prepares and searches the image.
    pub(crate) fn new(
        attempt: Attempt<'a>,
        docker: &'a Docker,
        source: &'a TaskImage,
        before: Option<ContainerSnapshot>,
    ) -> Result<Self, Broken> {
        let trial = attempt.trial;
        let cache = attempt.cache;
        let (prepared, known, snapshot, left, services) = match before {
            None => {
                let prepared = cache.prepared(docker, source, &trial.task, attempt.cancel)?;
                (prepared, None, None, Vec::new(), Services::start(&attempt, docker)?)
            }
            Some(ContainerSnapshot { files, prepared, scan, state, services }) => {
                (prepared, Some(scan), Some(files), state, services)
            }
        };
        let image = &prepared.image;
        let workdir = trial.task.config.environment.workdir.clone();
        let workdir = workdir.or_else(|| prepared.workdir.clone()).or_else(|| image.config.workdir.clone());
        let workdir = workdir.unwrap_or_else(|| PathBuf::from("/"));
        let label = format!("{}-scan", trial.id.short());
        let scan = match known {
            Some(scan) => scan,
            None => cache.scan(docker, &prepared, trial, &workdir, &label, attempt.cancel)?,
        };
        let logs = attempt.scratch.join("logs");
        for name in ["agent", "artifacts", "verifier"] {
            create_folder(&logs.join(name))?;
        }
        Ok(Self { attempt, docker, prepared, scan, workdir, logs, snapshot, services, left })
    }

    pub(super) fn spec(&self, image: &Image, policy: &NetworkPolicy, phase: &str) -> ContainerSpec {
        let trial = self.attempt.trial;
        let mut spec = ContainerSpec::new(image.clone(), format!("{}-{phase}", trial.id.short()));
        spec.workdir = Some(self.workdir.clone());
        spec.env.clone_from(&trial.env.agent);
        spec.network = self.network(policy);
        spec.limits = sandbox_record::limits(trial.limits);
        spec
    }

    /// What the agent's container or the verifier's reaches.
    pub(super) fn network(&self, policy: &NetworkPolicy) -> DockerNetwork {
        if let Some(services) = &self.services {
            return services.network(policy);
        }
        match policy {
            NetworkPolicy::None | NetworkPolicy::Hosts(_) => DockerNetwork::None,
            NetworkPolicy::Public => DockerNetwork::Public,
        }
    }

    /// Creates the folders for `/logs` and the reward, which every user of the image may write.
    pub(super) fn put_logs(&self, container: &Container, names: &[&str]) -> Result<(), Broken> {
        use std::os::unix::fs::PermissionsExt;
        let empty = self.attempt.scratch.join("empty").join(names.join("-"));
        for name in names {
            let folder = empty.join(name);
            create_folder(&folder)?;
            let open = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777));
            open.map_err(|error| Broken::harness(format!("cannot open {}: {error}", folder.display())))?;
        }
        container.copy_in(&empty, Path::new("/logs"), Owner::default(), &Caps::default())?;
        Ok(())
    }

    /// Opens the egress proxy in a started container, if a phase may reach listed hosts.
    pub(super) fn run_in(&self, policy: &NetworkPolicy, container: Container) -> Result<Running, Broken> {
        let egress = EgressProxy::open(policy, self.attempt.trial, &self.attempt.egress_folder())?;
        // Its socket is the owner's.
        let mut session =
            ContainerSession { container, user: Some("0".to_owned()), env: Vec::new(), account: None };
        if let Some(egress) = &egress {
            egress.start(&mut session, self.attempt.cancel)?;
            let near = self.services.as_ref().map_or(&[][..], |services| services.names());
            session.env = EgressProxy::env(near);
        }
        Ok(Running { session, egress })
    }

    /// Stops all processes, and returns the container with its files.
    pub(super) fn halt(&self, running: Running, phase: &str) -> Result<Container, Broken> {
        let mut container = running.session.container;
        container.halt()?;
        if let Some(egress) = running.egress {
            self.attempt.write_egress(&egress.close(), phase)?;
        }
        Ok(container)
    }

    /// The user of the agent's commands, if not the image's.
    pub(super) fn agent_user(&self) -> Option<String> {
        self.attempt.trial.task.config.agent_user.clone().or_else(|| self.prepared.user.clone())
    }

    /// The same, with a home. A task that works in root's home has no other.
    pub(super) fn account(&self) -> Account {
        let user = self.agent_user().or_else(|| self.prepared.image.config.user.clone());
        let user =
            user.filter(|_| self.attempt.trial.route.is_some() && !self.workdir.starts_with(account::ROOT));
        Account::of(user.as_deref(), &self.scan.passwd)
    }

    /// Runs one of assay's own commands as root.
    pub(super) fn housekeeping(&self, container: &mut Container, words: &[&str]) -> Result<(), Broken> {
        let command = plain_command(words, Duration::from_mins(1));
        let outcome = container.exec_as(&command, Some("0"), self.attempt.cancel)?;
        match outcome.exit {
            Exit::Code(0) | Exit::Cancelled => Ok(()),
            _ => {
                let message =
                    format!("`{}` failed in the container: {}", words[0], outcome.stdout.text().trim());
                Err(Broken::new(Cause::Sandbox, message))
            }
        }
    }

    /// Whether the agent is one that gets the task's own skills.
    pub(super) fn keeps_baked(&self) -> bool {
        self.attempt.trial.agent.needs_solution()
    }

    /// Removes paths in a running container.
    pub(super) fn remove<'p>(
        &self,
        container: &mut Container,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Result<(), Broken> {
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> =
            ["rm", "-rf", "--"].into_iter().chain(paths.iter().map(String::as_str)).collect();
        self.housekeeping(container, &words)
    }

    /// Whether something below a folder differs from the image, or may without showing.
    pub(super) fn has_changes(&self, changes: &[Changed], folder: &Path) -> bool {
        changes.iter().any(|change| change.path.starts_with(folder) && change.path != folder)
            || self
                .prepared
                .image
                .config
                .volumes
                .iter()
                .any(|volume| volume.starts_with(folder) || folder.starts_with(volume))
    }

    /// The original image, beside the agent's container.
    pub(super) fn pristine(&self) -> Pristine<'a> {
        let trial = self.attempt.trial;
        let label = format!("{}-image", trial.id.short());
        Pristine::new(self.docker, ContainerSpec::new(self.prepared.image.clone(), label))
    }

    /// The answer about the agent's files. If the daemon fails to read them but reads the image's
    /// own, the agent's files are the reason: an agent that leaves unreadable files has not passed,
    /// and its trial is not retried.
    pub(super) fn seen<T>(
        &self,
        what: &str,
        answer: Result<T, SandboxError>,
        beyond: &mut Vec<String>,
    ) -> Result<Option<T>, Broken> {
        let reason = match answer {
            Ok(answer) => return Ok(Some(answer)),
            Err(SandboxError::Daemon { reason, gone: false, .. }) => reason,
            Err(error) => return Err(error.into()),
        };
        self.pristine().get()?.changes()?;
        beyond.push(format!("{what}: cannot be searched: {}", shortened(&reason)));
        Ok(None)
    }

    /// Where the skills that the agent wrote are kept.
    pub(super) fn written_skills(&self) -> PathBuf {
        self.attempt.scratch.join("skills")
    }
}

/// Shortens a daemon's message, which may contain a path of thousands of characters.
fn shortened(text: &str) -> String {
    const EACH: usize = 100;
    let letters: Vec<char> = clean(text).chars().collect();
    if letters.len() <= 2 * EACH {
        return letters.into_iter().collect();
    }
    let end = &letters[letters.len() - EACH..];
    letters[..EACH].iter().chain(&[' ', '…', ' ']).chain(end).collect()
}
