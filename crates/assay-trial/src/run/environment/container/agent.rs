//! The agent's phase in a container.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_diagnostic::chain;
use assay_fs::Caps;
use assay_sandbox::docker::{Container, Owner};
use assay_sandbox::{Mount, Session};
use assay_store::Cause;

use super::account::Account;
use super::base::{Additions, ImageEnvironment, Running};
use super::compare::StoppedContainer;
use super::snapshot::ContainerSnapshot;
use crate::run::broken::{Broken, LOG_CAPS, create_folder, inside};
use crate::run::commands::wait_healthy;
use crate::run::environment::phases::{AgentPhase, Environment, StepStart};
use crate::run::{cli_agents, doubles, egress_proxy};

/// With the agent at work.
pub(crate) struct AgentInContainer<'a> {
    environment: ImageEnvironment<'a>,
    running: Running,
    given: Additions,
}

impl ImageEnvironment<'_> {
    /// Gives a user what is otherwise made for root: the home with the folders above the skills,
    /// and the socket to its model.
    fn prepare_home(
        &self,
        container: &mut Container,
        account: &Account,
        mounts: &[Mount],
    ) -> Result<(), Broken> {
        let mut folders = BTreeSet::from([account.home.clone()]);
        for mount in mounts.iter().filter(|mount| mount.target.starts_with(&account.home)) {
            let above = mount.target.ancestors().skip(1);
            folders.extend(above.take_while(|above| above.starts_with(&account.home)).map(Path::to_owned));
        }
        let own = "for folder; do mkdir -p \"$folder\" && chown \"$0\" \"$folder\" || exit 1; done";
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let words: Vec<&str> =
            ["sh", "-c", own, &account.name].into_iter().chain(folders.iter().map(String::as_str)).collect();
        self.housekeeping(container, &words)?;
        let folder = self.attempt.proxy_folder();
        for path in [folder.join("socket"), folder] {
            std::os::unix::fs::chown(&path, Some(account.uid), None).map_err(|error| {
                Broken::harness(format!(
                    "cannot give {} to the user {}: {error}",
                    path.display(),
                    account.uid
                ))
            })?;
        }
        Ok(())
    }

    /// Removes the verifier's copies of skills, and the image's own skills, except where a skill of
    /// the trial is mounted. The oracle keeps the latter: its solution was written for them.
    fn remove_baked_skills(&self, container: &mut Container, mounts: &[Mount]) -> Result<(), Broken> {
        let is_mounted = |path: &Path| {
            mounts.iter().any(|mount| path.starts_with(&mount.target) || mount.target.starts_with(path))
        };
        let verifiers = self.scan.verifier_copies.iter().map(|(path, _)| path.as_path());
        let own: &[PathBuf] = if self.keeps_baked() { &[] } else { &self.scan.baked };
        let baked = own.iter().map(PathBuf::as_path).filter(|path| !is_mounted(path));
        self.remove(container, verifiers.chain(baked))
    }

    /// Puts the task's own skills into a container that does not run, where its image would have
    /// them.
    fn plant_skills(&self, container: &Container) -> Result<Vec<PathBuf>, Broken> {
        let laid = self.attempt.scratch.join("task-skills");
        create_folder(&laid)?;
        let paths = self.attempt.trial.task.lay_out_baked_skills(&laid);
        let planted = paths.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
        for path in &planted {
            container.copy_in(&inside(&laid, path), path, Owner::default(), &Caps::default())?;
        }
        Ok(planted)
    }
}

impl<'a> Environment for ImageEnvironment<'a> {
    type Snapshot = ContainerSnapshot;
    type Agent = AgentInContainer<'a>;

    fn contamination(&self) -> Result<Vec<String>, Broken> {
        Ok(self.scan.found.clone())
    }

    fn workdir(&self) -> PathBuf {
        self.workdir.clone()
    }

    fn begin_step(self, start: &StepStart<'_>) -> Result<Self, Broken> {
        self.prepare_step(start)
    }

    fn start_agent(self) -> Result<AgentInContainer<'a>, Broken> {
        let trial = self.attempt.trial;
        let cache = self.attempt.cache;
        let account = self.account();
        let mut given = Additions::default();
        for skill in &trial.provision.skills {
            let source =
                cache.skill(skill).map_err(|error| Broken::harness(error.to_string()))?.to_path_buf();
            let target = account.path(&trial.mount_of(skill));
            given.mounts.push(Mount { source, target, writable: false });
        }
        if trial.agent.needs_solution() {
            let source = cache
                .solution(&trial.task)
                .map_err(|error| Broken::harness(error.to_string()))?
                .to_path_buf();
            given.mounts.push(Mount { source, target: "/solution".into(), writable: false });
        }
        given.mounts.extend(cli_agents::mounts(trial, &self.attempt.proxy_folder()));
        given.mounts.extend(doubles::container_mounts(&self.attempt));
        create_folder(&self.attempt.egress_folder())?;
        given.mounts.extend(egress_proxy::mounts(trial, &self.attempt.egress_folder()));
        let mut spec = self.spec(&self.prepared.image, &trial.network, "agent");
        spec.mounts.clone_from(&given.mounts);
        let mut container = self.docker.create_stopped(&spec)?;
        self.put_logs(&container, &["agent", "artifacts"])?;
        if self.keeps_baked() {
            given.planted = self.plant_skills(&container)?;
        }
        container.restart()?;
        self.remove_baked_skills(&mut container, &given.mounts)?;
        if trial.provision.writes_skills {
            let own = account.path(Path::new(trial.agent.skills_dir())).display().to_string();
            self.housekeeping(&mut container, &["mkdir", "-p", "-m", "0777", &own])?;
        }
        if trial.route.is_some() && account.uid != 0 {
            self.prepare_home(&mut container, &account, &given.mounts)?;
        }
        let mut running = self.run_in(&trial.network, container)?;
        running.session.user = self.agent_user();
        running.session.account = Some(account);
        // Harbor waits for that of the compose file when it starts the container, then for that of task.toml.
        let own = trial.task.config.environment.healthcheck.as_ref();
        for check in self.prepared.healthcheck.iter().chain(own) {
            wait_healthy(&mut running.session, check, self.attempt.cancel)?;
        }
        Ok(AgentInContainer { environment: self, running, given })
    }
}

impl<'a> AgentPhase for AgentInContainer<'a> {
    type Snapshot = ContainerSnapshot;
    type Stopped = StoppedContainer<'a>;

    fn session(&mut self) -> &mut dyn Session {
        &mut self.running.session
    }

    fn stop(self) -> Result<StoppedContainer<'a>, Broken> {
        let Self { environment, running, given } = self;
        let trial = environment.attempt.trial;
        let container = environment.halt(running, "agent")?;
        let used = container.usage();
        let mut beyond = Vec::new();
        let changes =
            environment.seen("the container", container.changes(), &mut beyond)?.unwrap_or_default();
        for name in ["agent", "artifacts"] {
            let inside = Path::new("/logs").join(name);
            if environment.has_changes(&changes, &inside) {
                let fetched = container.fetch(&inside, &environment.logs.join(name), &LOG_CAPS);
                let fetched = environment.seen(&inside.display().to_string(), fetched, &mut beyond)?;
                match fetched {
                    Some(report) => environment.attempt.note_left_out(report.as_ref(), name),
                    None => environment.attempt.note_unread(name),
                }
            }
        }
        if trial.provision.writes_skills {
            let to = environment.written_skills();
            create_folder(&to)?;
            let own = environment.account().path(Path::new(trial.agent.skills_dir()));
            let fetched = container.fetch(&own, &to, &LOG_CAPS);
            let fetched = environment.seen(&own.display().to_string(), fetched, &mut beyond)?;
            match fetched {
                Some(report) => environment.attempt.note_left_out(report.as_ref(), "generated-skills"),
                None => environment.attempt.note_unread("generated-skills"),
            }
        }
        Ok(StoppedContainer { environment, container, given, used, changes, beyond })
    }
}
