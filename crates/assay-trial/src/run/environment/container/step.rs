//! From one step of a task to the next: the container's files as the agent left them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_fs::{Caps, ChangeKind, Manifest};
use assay_sandbox::docker::{Container, Owner};
use assay_store::Cause;

use super::base::ImageEnvironment;
use super::snapshot::ContainerSnapshot;
use super::verifier::ComparedContainer;
use crate::run::broken::{Broken, create_folder};
use crate::run::commands::{set_up, wait_healthy};
use crate::run::egress_proxy;
use crate::run::environment::phases::StepStart;
use crate::run::image_scan::{ImageInventory, WORK_CAPS};
use crate::run::prep_cache::Prepared;

/// Where the phases of a step leave files that are not for the next one.
const LOGS: [&str; 4] = ["/logs/agent", "/logs/artifacts", "/logs/verifier", "/logs/doubles.jsonl"];

impl ImageEnvironment<'_> {
    /// Adds what a step starts with, and removes what the step before has left besides its work:
    /// both in a container that becomes the image of this step.
    pub(super) fn prepare_step(mut self, start: &StepStart<'_>) -> Result<Self, Broken> {
        let trial = self.attempt.trial;
        if self.snapshot.is_none() && start.files.is_none() && start.healthcheck.is_none() {
            return Ok(self);
        }
        create_folder(&self.attempt.egress_folder())?;
        let mut spec = self.spec(&self.prepared.image, &trial.network, "setup");
        spec.mounts = egress_proxy::mounts(trial, &self.attempt.egress_folder());
        let mut container = self.docker.create_stopped(&spec)?;
        if let Some(files) = start.files {
            container.copy_in(files, &self.workdir, Owner::default(), &Caps::default())?;
        }
        container.restart()?;
        if self.snapshot.is_some() {
            let left = self.left.iter().map(PathBuf::as_path);
            self.remove(&mut container, LOGS.iter().map(Path::new).chain(left))?;
        }
        let mut running = self.run_in(&trial.network, container)?;
        running.session.user = self.agent_user();
        if start.is_seed {
            // The files were copied as root's; the script gives what it makes to the folder's owner.
            running.session.user = Some("0".to_owned());
        }
        if start.files.is_some_and(|files| files.join(start.script()).is_file()) {
            set_up(&mut running.session, &self.workdir, start, self.attempt.cancel)?;
        }
        if let Some(check) = start.healthcheck {
            wait_healthy(&mut running.session, check, self.attempt.cancel)?;
        }
        let container = self.halt(running, "setup")?;
        self.check_volumes()?;
        let files = Arc::new(container.snapshot(&self.prepared.image, self.snapshot.as_ref())?);
        let work = self.fetch_work(&container)?;
        container.remove_in_background();
        let ImageInventory { programs, baked, verifier_folders, verifier_copies, found, .. } = &*self.scan;
        self.scan = Arc::new(ImageInventory {
            programs: programs.clone(),
            baked: baked.clone(),
            verifier_folders: verifier_folders.clone(),
            verifier_copies: verifier_copies.clone(),
            found: found.clone(),
            work,
            loader_cache: self.scan.loader_cache.clone(),
            passwd: self.scan.passwd.clone(),
            pytest: self.scan.pytest.clone(),
        });
        self.prepared = Arc::new(Prepared {
            image: files.image().clone(),
            user: self.prepared.user.clone(),
            workdir: self.prepared.workdir.clone(),
            healthcheck: self.prepared.healthcheck.clone(),
        });
        self.snapshot = Some(files);
        Ok(self)
    }

    /// The work folder that the step starts with; `None` if it is too large, or the root.
    fn fetch_work(&self, container: &Container) -> Result<Option<(PathBuf, Manifest)>, Broken> {
        if self.workdir == Path::new("/") {
            return Ok(None);
        }
        let to = self.attempt.scratch.join("before");
        create_folder(&to)?;
        let report = container.fetch(&self.workdir, &to, &WORK_CAPS)?;
        if report.is_some_and(|report| !report.left_out.is_empty()) {
            return Ok(None);
        }
        let manifest = Manifest::scan(&to, &WORK_CAPS).map_err(|error| Broken::harness_error(&error))?;
        Ok(Some((to, manifest)))
    }

    /// Volumes of an image are no part of a container's files.
    fn check_volumes(&self) -> Result<(), Broken> {
        let Some(volume) = self.prepared.image.config.volumes.first() else { return Ok(()) };
        let message = format!(
            "the image has a volume, {}, whose content cannot be kept for the next step",
            volume.display()
        );
        Err(Broken::new(Cause::Image, message))
    }
}

impl ComparedContainer<'_> {
    pub(super) fn keep_files(&self) -> Result<ContainerSnapshot, Broken> {
        let environment = &self.environment;
        environment.check_volumes()?;
        self.check_size(&[Path::new("/")], Cause::Harness)?;
        let files = self.container.snapshot(&environment.prepared.image, environment.snapshot.as_ref())?;
        let prepared = Prepared {
            image: files.image().clone(),
            user: environment.prepared.user.clone(),
            workdir: environment.prepared.workdir.clone(),
            // The environment was found healthy before the first step.
            healthcheck: None,
        };
        let home = environment.account().home;
        let agent = &environment.attempt.trial.agent;
        let is_state = |path: &Path| path.strip_prefix(&home).is_ok_and(|own| agent.is_own_state(own));
        // A folder with something else in it stays.
        let state = self.changes.iter().filter(|change| {
            change.kind == ChangeKind::Added
                && change.path != home
                && self
                    .changes
                    .iter()
                    .filter(|below| below.path.starts_with(&change.path))
                    .all(|below| is_state(&below.path))
        });
        Ok(ContainerSnapshot {
            state: state.map(|change| change.path.clone()).collect(),
            files: Arc::new(files),
            prepared: Arc::new(prepared),
            scan: Arc::clone(&environment.scan),
            services: environment.services.clone(),
        })
    }
}
