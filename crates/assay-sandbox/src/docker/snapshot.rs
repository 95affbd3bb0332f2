//! The files of a stopped container as an image, for other containers to start from.

use std::sync::Arc;
use std::time::Duration;

use bollard::models::ContainerConfig;
use bollard::query_parameters::{CommitContainerOptions, RemoveImageOptions};

use super::client::Inner;
use super::container::Container;
use super::error::status;
use super::image::Image;
use crate::SandboxError;

/// How often the removal of an image is tried while something still uses it.
const TRIES: u32 = 100;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// An untagged image of a container's files. Dropping it removes it in the background, as soon as
/// its containers are gone. It carries the labels of the container, so that
/// [`Docker::remove_stale`](super::Docker::remove_stale) removes it after a crash.
#[derive(Debug)]
pub struct Snapshot {
    inner: Arc<Inner>,
    image: Image,
    /// What it was made from, which cannot be removed before.
    _before: Option<Arc<Self>>,
}

impl Snapshot {
    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let (api, id) = (self.inner.api.clone(), self.image.id.clone());
        self.inner.remove_later(async move {
            for _ in 0..TRIES {
                let options = RemoveImageOptions { force: false, noprune: false, platforms: None };
                match api.remove_image(&id, Some(options), None).await {
                    Err(error) if status(&error) == Some(409) => tokio::time::sleep(PAUSE).await,
                    _ => return,
                }
            }
        });
    }
}

impl Container {
    /// Keeps the files of a halted container. Mounts, in-memory folders and volumes are not part of
    /// them. `base` is the image that the container was made from, whose settings stay, and
    /// `before` the snapshot that this is, if it is one.
    pub fn snapshot(&self, base: &Image, before: Option<&Arc<Snapshot>>) -> Result<Snapshot, SandboxError> {
        let options = CommitContainerOptions {
            container: Some(self.id.clone()),
            pause: false,
            ..CommitContainerOptions::default()
        };
        let commit = self.inner.api.commit_container(options, ContainerConfig::default());
        let made = self.inner.request("keep the files of a container", commit)?;
        Ok(Snapshot {
            inner: Arc::clone(&self.inner),
            image: Image { id: made.id, ..base.clone() },
            _before: before.cloned(),
        })
    }
}
