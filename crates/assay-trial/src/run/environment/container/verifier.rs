//! The verifier's phase in a container: the agent's, restarted, or a separate one.

use std::path::{Path, PathBuf};

use assay_fs::{Caps, ChangeKind, LeftOut};
use assay_sandbox::Session;
use assay_sandbox::docker::{Changed, Container, Owner};
use assay_store::KeptBecause;
use assay_task::{Artifact, VerifierMode};

use super::base::{ImageEnvironment, Running};
use super::files::{kept_as, leave_out, write};
use super::snapshot::ContainerSnapshot;
use crate::run::broken::{Broken, LOG_CAPS, create_folder};
use crate::run::commands::plain_command;
use crate::run::environment::phases::{Compared, Graded, Restoring, VerifierPhase};
use crate::run::tamper::{VERIFIER_LOGS, image};
use crate::run::{doubles, egress_proxy};

/// A folder that never exists: Python looks for bytecode only there.
const NOWHERE: &str = "/nonexistent/assay";

/// After the agent's changes were compared.
pub(crate) struct ComparedContainer<'a> {
    pub(super) environment: ImageEnvironment<'a>,
    pub(super) container: Container,
    /// The task's own skills, as the oracle had them.
    pub(super) planted: Vec<PathBuf>,
    /// What differs from the image, since the agent.
    pub(super) changes: Vec<Changed>,
    pub(super) verdict: image::Verdict,
    /// Folders whose permissions are to be reset, with the image's.
    pub(super) closed: Vec<(PathBuf, u32)>,
    /// Links in the agent's logs that are to be removed.
    pub(super) links_in_logs: Vec<PathBuf>,
    /// What the agent changed outside its work folders.
    pub(super) system: Vec<String>,
    /// Where the instruction asks for results outside of them.
    pub(super) named: Vec<PathBuf>,
    /// Whether the task's artifacts were fetched.
    pub(super) is_collected: bool,
    /// Whether the work was graded in a restored environment before.
    pub(super) was_restored: bool,
}

/// With the verifier at work.
pub(crate) struct VerifierInContainer<'a> {
    pub(super) environment: ImageEnvironment<'a>,
    pub(super) running: Running,
    /// The folder of this machine for its results.
    pub(super) logs: PathBuf,
}

/// Where an artifact is kept in an attempt's folder.
fn shown(artifact: &Artifact) -> String {
    Path::new("artifacts").join(kept_as(artifact)).display().to_string()
}

impl ImageEnvironment<'_> {
    /// Runs the commands that the task defines for the time between agent and verifier, and fetches
    /// its artifacts.
    fn collect(&self, container: &mut Container) -> Result<(), Broken> {
        let config = &self.attempt.trial.task.config;
        if config.collect.is_empty() && config.artifacts.is_empty() {
            return Ok(());
        }
        let kept = self.logs.join("artifacts");
        if !config.collect.is_empty() {
            container.restart()?;
            for collect in &config.collect {
                let timeout = assay_diagnostic::duration_of_seconds(collect.timeout);
                let command = plain_command(&["/bin/sh", "-c", &collect.command], timeout);
                // Its effect shows in the artifacts.
                container.exec_as(&command, collect.user.as_deref(), self.attempt.cancel)?;
            }
            container.halt()?;
            assay_fs::remove_tree(&kept).map_err(|error| Broken::harness_error(&error))?;
            create_folder(&kept)?;
            let fetched = container.fetch(Path::new("/logs/artifacts"), &kept, &LOG_CAPS)?;
            self.attempt.note_left_out(fetched.as_ref(), "artifacts");
        }
        self.bring_artifacts(container)?;
        let folder = self.attempt.folder.join("artifacts");
        // Those from before are replaced by what they are now.
        assay_fs::remove_tree(&folder).map_err(|error| Broken::harness_error(&error))?;
        create_folder(&folder)?;
        self.attempt.evidence.copied(&folder, assay_fs::copy_tree(&kept, &folder, &LOG_CAPS));
        Ok(())
    }

    fn bring_artifacts(&self, container: &Container) -> Result<(), Broken> {
        for artifact in &self.attempt.trial.task.config.artifacts {
            let from = self.workdir.join(&artifact.source);
            let to = self.logs.join("artifacts").join(kept_as(artifact));
            if let Some(parent) = to.parent() {
                create_folder(parent)?;
            }
            match container.stat(&from)? {
                Some(found) if found.is_dir => {
                    create_folder(&to)?;
                    let fetched = container.fetch(&from, &to, &LOG_CAPS)?;
                    self.attempt.note_left_out(fetched.as_ref(), &shown(artifact));
                    leave_out(&to, &artifact.exclude);
                }
                // A larger one is left out, as in a folder: it must not discard the trial.
                Some(found) if found.is_file && found.size <= LOG_CAPS.file_bytes => {
                    if let Some(bytes) = container.read(&from, LOG_CAPS.file_bytes)? {
                        write(&to, &bytes)?;
                    }
                }
                Some(found) if found.is_file => {
                    let reason = format!("larger than {} bytes", LOG_CAPS.file_bytes);
                    self.attempt.evidence.lost(&self.attempt.folder.join(shown(artifact)), &reason);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The container of a verifier with its own environment, not started, with nothing of the
    /// agent's but its artifacts.
    fn own_environment(&self) -> Result<Container, Broken> {
        let trial = self.attempt.trial;
        let prepared =
            self.attempt.cache.prepared_verifier(self.docker, trial, &self.prepared, self.attempt.cancel)?;
        let mut spec = self.spec(&prepared.image, &trial.verifier_network, "verifier");
        spec.workdir = trial
            .task
            .config
            .verifier_environment
            .as_ref()
            .and_then(|environment| environment.workdir.clone())
            .or_else(|| prepared.image.config.workdir.clone())
            .or_else(|| Some(self.workdir.clone()));
        spec.mounts = egress_proxy::mounts(trial, &self.attempt.egress_folder());
        let container = self.docker.create_stopped(&spec)?;
        container.copy_in(
            &self.logs.join("artifacts"),
            Path::new("/logs/artifacts"),
            Owner::default(),
            &Caps::default(),
        )?;
        for artifact in &trial.task.config.artifacts {
            let kept = self.logs.join("artifacts").join(kept_as(artifact));
            if kept.exists() {
                let target = self.workdir.join(&artifact.source);
                container.copy_in(&kept, &target, Owner::default(), &Caps::default())?;
            }
        }
        Ok(container)
    }
}

impl ImageEnvironment<'_> {
    /// Whether an agent's work can be graded in a restored environment.
    pub(super) fn restoring(&self) -> Restoring {
        let trial = self.attempt.trial;
        match () {
            () if trial.task.config.verifier_mode == VerifierMode::Separate => Restoring::NotNeeded,
            // It begins with what the one before has left, the system's files included.
            () if trial.step.is_some() => Restoring::Impossible(KeptBecause::Steps),
            () => Restoring::Possible,
        }
    }

    /// Whether programs of the agent's own container certainly decide what is graded: it is graded
    /// there, or its commands make the artifacts.
    pub(super) fn relies_on_container(&self) -> bool {
        matches!(self.restoring(), Restoring::Impossible(_))
            || !self.attempt.trial.task.config.collect.is_empty()
    }

    /// Copies the tests into a container that does not run, with empty folders for results, and
    /// what verifiers find in `/logs`.
    pub(super) fn put_verifier_files(&self, container: &Container) -> Result<(), Broken> {
        let tests = self.attempt.scratch.join("tests");
        if !tests.is_dir() {
            create_folder(&tests)?;
            let laid = self.attempt.trial.task.lay_out_tests(&tests);
            laid.map_err(|error| Broken::harness_error(&error))?;
        }
        container.copy_in(&tests, Path::new("/tests"), Owner::default(), &Caps::default())?;
        self.put_logs(container, &["verifier"])?;
        for name in ["agent/final.txt"].iter().chain(&doubles::VERIFIER_FILES) {
            let file = self.logs.join(name);
            if file.is_file() {
                let inside = Path::new("/logs").join(name);
                container.copy_in(&file, &inside, Owner::default(), &Caps::default())?;
            }
        }
        Ok(())
    }
}

impl ComparedContainer<'_> {
    /// Fetches the task's artifacts, unless that was done.
    pub(super) fn collect_once(&mut self) -> Result<(), Broken> {
        if !std::mem::replace(&mut self.is_collected, true) {
            self.environment.collect(&mut self.container)?;
        }
        Ok(())
    }

    /// Empties the verifier's folders, resets permissions, and puts its own copies of skills back. Files given to the
    /// oracle are removed: no verifier may need what agents without skills do not have.
    fn clear_for_verifier(&mut self) -> Result<(), Broken> {
        let (environment, container) = (&self.environment, &mut self.container);
        let scan = &environment.scan;
        let own: &[PathBuf] = if environment.keeps_baked() { &scan.baked } else { &[] };
        // The agent's files in the verifier's folders are not part of its work.
        let left = environment.has_changes(&self.changes, Path::new(VERIFIER_LOGS))
            || self
                .changes
                .iter()
                .any(|change| change.path.starts_with(VERIFIER_LOGS) && change.kind != ChangeKind::Removed);
        let written: Vec<PathBuf> = doubles::VERIFIER_FILES
            .iter()
            .filter(|name| environment.logs.join(name).is_file())
            .map(|name| Path::new("/logs").join(name))
            .collect();
        let paths: Vec<&Path> = scan
            .verifier_folders
            .iter()
            .chain(&self.planted)
            .chain(own)
            .map(PathBuf::as_path)
            .chain(left.then(|| Path::new(VERIFIER_LOGS)))
            .chain(written.iter().map(PathBuf::as_path))
            .chain(self.links_in_logs.iter().map(PathBuf::as_path))
            .chain(scan.verifier_copies.iter().map(|(path, _)| path.as_path()))
            .collect();
        if paths.is_empty() && self.closed.is_empty() {
            return Ok(());
        }
        container.restart()?;
        environment.remove(container, paths.into_iter())?;
        for (folder, mode) in &self.closed {
            let (mode, folder) = (format!("{mode:o}"), folder.display().to_string());
            environment.housekeeping(container, &["chmod", &mode, "--", &folder])?;
        }
        container.halt()?;
        for (path, kept) in &scan.verifier_copies {
            container.copy_in(kept, path, Owner::default(), &Caps::default())?;
        }
        Ok(())
    }
}

impl<'a> Compared for ComparedContainer<'a> {
    type Snapshot = ContainerSnapshot;
    type Verifier = VerifierInContainer<'a>;

    fn snapshot(&mut self) -> Result<ContainerSnapshot, Broken> {
        self.keep_files()
    }

    fn copy_work(&mut self, to: &Path, caps: &Caps) -> Result<Vec<LeftOut>, Broken> {
        create_folder(to)?;
        if self.environment.workdir == Path::new("/") {
            return Ok(Vec::new());
        }
        let report = self.container.fetch(&self.environment.workdir, to, caps)?;
        Ok(report.map(|report| report.left_out).unwrap_or_default())
    }

    fn start_verifier(mut self) -> Result<VerifierInContainer<'a>, Broken> {
        self.collect_once()?;
        let trial = self.environment.attempt.trial;
        let config = &trial.task.config;
        let separate = config.verifier_mode == VerifierMode::Separate;
        if !separate {
            if self.verdict.loader_cache
                && let Some(cache) = &self.environment.scan.loader_cache
            {
                let path = Path::new(image::LOADER_CACHE);
                self.container.put_bytes(cache, path, 0o644, Owner::default())?;
            }
            self.restore_system_files()?;
            self.clear_for_verifier()?;
            let before = self.environment.network(&trial.network);
            let now = self.environment.network(&trial.verifier_network);
            self.container.reconnect(&before, &now)?;
        }
        let Self { environment, container, verdict, was_restored, .. } = self;
        let mut container = if separate {
            container.remove_in_background();
            environment.own_environment()?
        } else {
            container
        };
        environment.put_verifier_files(&container)?;
        container.restart()?;
        let mut running = environment.run_in(&trial.verifier_network, container)?;
        if verdict.bytecode {
            running.session.env.push(("PYTHONPYCACHEPREFIX".to_owned(), NOWHERE.to_owned()));
        }
        let own = if separate { None } else { environment.prepared.user.clone() };
        running.session.user = config.verifier_user.clone().or(own);
        let name = if was_restored { "verifier-kept" } else { "verifier" };
        let logs = environment.logs.join(name);
        Ok(VerifierInContainer { environment, running, logs })
    }

    fn restoring(&self) -> Restoring {
        self.environment.restoring()
    }

    fn start_restored(&mut self) -> Result<VerifierInContainer<'a>, Broken> {
        self.restored_verifier()
    }

    fn system_changes(&self) -> &[String] {
        &self.system
    }

    fn dangerous(&self) -> &[String] {
        &self.verdict.dangerous
    }
}

impl VerifierPhase for VerifierInContainer<'_> {
    fn session(&mut self) -> &mut dyn Session {
        &mut self.running.session
    }

    fn stop(self) -> Result<Graded, Broken> {
        let container = self.environment.halt(self.running, "verifier")?;
        let logs = self.logs;
        create_folder(&logs)?;
        let fetched = container.fetch(Path::new("/logs/verifier"), &logs, &LOG_CAPS)?;
        self.environment.attempt.note_left_out(fetched.as_ref(), "verifier");
        container.remove_in_background();
        Ok(Graded { logs })
    }
}
