//! Removes containers, networks and images that are no longer needed.

use std::collections::{BTreeMap, HashMap};

use bollard::query_parameters::{
    ListContainersOptions, ListImagesOptions, ListNetworksOptions, RemoveContainerOptions, RemoveImageOptions,
};

use super::client::{Docker, LABEL_OWNER, LABEL_STORE};
use super::error::{failed, status};
use crate::SandboxError;

/// What [`Docker::remove_stale`] or [`Docker::prune`] removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Containers, by id.
    pub containers: Vec<String>,
    /// Networks, by id.
    pub networks: Vec<String>,
    /// Images, by id.
    pub images: Vec<String>,
    /// Bytes of the images. Images share layers, so that less may have been freed.
    pub image_bytes: u64,
}

impl Docker {
    /// Removes the containers and networks of `store_label` whose owner is dead, and untagged images of the
    /// store.
    ///
    /// `is_alive` gets [`DockerOptions::owner`](super::DockerOptions::owner) of the process that
    /// created the container.
    pub fn remove_stale(
        &self,
        store_label: &str,
        is_alive: &dyn Fn(&str) -> bool,
    ) -> Result<Removed, SandboxError> {
        let inner = &self.inner;
        let filters = HashMap::from([("label".to_owned(), vec![format!("{LABEL_STORE}={store_label}")])]);
        let list = ListContainersOptions { all: true, filters: Some(filters.clone()), ..Default::default() };
        let found = inner.request("list containers", inner.api.list_containers(Some(list)))?;
        let mut removed = Removed::default();
        for container in found {
            let Some(id) = container.id else { continue };
            let labels = container.labels.unwrap_or_default();
            if labels.get(LABEL_OWNER).is_some_and(|owner| is_alive(owner)) {
                continue;
            }
            let options = RemoveContainerOptions { v: true, force: true, link: false };
            match inner.block(inner.api.remove_container(&id, Some(options))) {
                Ok(()) => removed.containers.push(id),
                // Another process has removed it, or is removing it.
                Err(error) if matches!(status(&error), Some(404 | 409)) => {}
                Err(error) => return Err(failed("remove a container", &error)),
            }
        }
        let list = ListNetworksOptions { filters: Some(filters.clone()) };
        for network in inner.request("list networks", inner.api.list_networks(Some(list)))? {
            let Some(id) = network.id else { continue };
            let labels = network.labels.unwrap_or_default();
            if labels.get(LABEL_OWNER).is_some_and(|owner| is_alive(owner)) {
                continue;
            }
            match inner.block(inner.api.remove_network(&id)) {
                Ok(()) => removed.networks.push(id),
                // Another process has removed it, or something is attached to it.
                Err(error) if matches!(status(&error), Some(403 | 404 | 409)) => {}
                Err(error) => return Err(failed("remove a network", &error)),
            }
        }
        let mut filters = filters;
        filters.insert("dangling".to_owned(), vec!["true".to_owned()]);
        let list = ListImagesOptions { filters: Some(filters), ..Default::default() };
        for image in inner.request("list images", inner.api.list_images(Some(list)))? {
            // A snapshot of a container has the label of its owner.
            if image.labels.get(LABEL_OWNER).is_some_and(|owner| is_alive(owner)) {
                continue;
            }
            self.remove_image(&image.id, image.size, &mut removed)?;
        }
        Ok(removed)
    }

    /// Removes images that were built for this store, least recently used first, until the rest
    /// takes at most `budget_bytes`. Images of existing containers stay.
    pub fn prune(&self, budget_bytes: u64) -> Result<Removed, SandboxError> {
        let inner = &self.inner;
        let label = format!("{LABEL_STORE}={}", inner.options.store_label);
        let list = ListImagesOptions {
            filters: Some(HashMap::from([("label".to_owned(), vec![label])])),
            ..Default::default()
        };
        let mut images = inner.request("list images", inner.api.list_images(Some(list)))?;
        // Snapshots of containers are removed by their owners, or with what these left.
        images.retain(|image| !image.labels.contains_key(LABEL_OWNER));
        let mut total: u64 = images.iter().map(|image| u64::try_from(image.size).unwrap_or(0)).sum();
        let mut removed = Removed::default();
        if total <= budget_bytes {
            return Ok(removed);
        }
        // An image is tagged again whenever it is used, and the daemon records the time of the last
        // tagging.
        let mut by_use = BTreeMap::new();
        for image in images {
            let found = inner.request("inspect an image", inner.api.inspect_image(&image.id))?;
            let used = found.metadata.and_then(|metadata| metadata.last_tag_time).unwrap_or_default();
            by_use.insert((sortable(&used), image.id.clone()), image);
        }
        for image in by_use.into_values() {
            if total <= budget_bytes {
                break;
            }
            if self.remove_image(&image.id, image.size, &mut removed)? {
                total = total.saturating_sub(u64::try_from(image.size).unwrap_or(0));
            }
        }
        Ok(removed)
    }

    /// False if something still uses it.
    fn remove_image(&self, id: &str, size: i64, removed: &mut Removed) -> Result<bool, SandboxError> {
        let options = RemoveImageOptions { force: false, noprune: false, platforms: None };
        match self.inner.block(self.inner.api.remove_image(id, Some(options), None)) {
            Ok(_) => {
                removed.images.push(id.to_owned());
                removed.image_bytes += u64::try_from(size).unwrap_or(0);
                Ok(true)
            }
            Err(error) if matches!(status(&error), Some(404 | 409)) => Ok(false),
            Err(error) => Err(failed("remove an image", &error)),
        }
    }
}

/// The daemon's times are RFC 3339 of one time zone, with a varying number of digits of a second:
/// padded, they sort as text.
fn sortable(time: &str) -> String {
    let (whole, rest) = time.split_once('.').unwrap_or((time.trim_end_matches('Z'), ""));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    format!("{whole}.{digits:0<9}")
}
