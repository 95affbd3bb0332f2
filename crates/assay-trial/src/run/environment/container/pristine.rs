//! The unmodified image, used to recognise paths that are listed as changed but are identical.

use std::path::Path;

use assay_sandbox::SandboxError;
use assay_sandbox::docker::{Container as Docked, ContainerSpec, Docker};

use crate::run::broken::Broken;

/// Most paths that are compared: each may be a program of a hundred megabytes.
const COMPARED: usize = 200;

/// Largest file that is compared; a larger one counts as changed.
const LARGEST: u64 = 256 << 20;

/// A container of the image that never runs, made when it is first needed.
pub(super) struct Pristine<'a> {
    docker: &'a Docker,
    spec: ContainerSpec,
    made: Option<Docked>,
    room: usize,
    failed: Option<SandboxError>,
}

impl<'a> Pristine<'a> {
    pub(super) fn new(docker: &'a Docker, spec: ContainerSpec) -> Self {
        Self { docker, spec, made: None, room: COMPARED, failed: None }
    }

    pub(super) fn get(&mut self) -> Result<&Docked, SandboxError> {
        let made = match self.made.take() {
            Some(made) => made,
            None => self.docker.create_stopped(&self.spec)?,
        };
        Ok(self.made.insert(made))
    }

    /// Whether a container has the same at a path as the image: a folder of the same mode, a link
    /// with the same target, or a file of the same mode and content. If that cannot be determined,
    /// it has not.
    pub(super) fn has_the_same(&mut self, container: &Docked, path: &Path) -> bool {
        if self.failed.is_some() || self.room == 0 {
            return false;
        }
        self.room -= 1;
        match self.compare(container, path) {
            Ok(same) => same,
            Err(error @ SandboxError::Daemon { .. }) => {
                self.failed = Some(error);
                false
            }
            Err(_) => false,
        }
    }

    /// The content of a small file of the image.
    pub(super) fn read(&mut self, path: &Path, cap: u64) -> Option<Vec<u8>> {
        self.get().ok()?.read(path, cap).ok().flatten()
    }

    fn compare(&mut self, container: &Docked, path: &Path) -> Result<bool, SandboxError> {
        let image = self.get()?;
        let (Some(was), Some(now)) = (image.stat(path)?, container.stat(path)?) else { return Ok(false) };
        if (was.is_dir, was.is_file, was.mode, &was.link) != (now.is_dir, now.is_file, now.mode, &now.link) {
            return Ok(false);
        }
        if !was.is_file {
            return Ok(was.is_dir || was.link.is_some());
        }
        Ok(was.size == now.size && image.read(path, LARGEST)? == container.read(path, LARGEST)?)
    }

    /// Removes the container, and returns whether the daemon failed meanwhile: then files that look
    /// changed prove nothing.
    pub(super) fn finish(self) -> Result<(), Broken> {
        if let Some(made) = self.made {
            made.remove_in_background();
        }
        self.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
