//! Networks of a trial's own, without a route out.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bollard::models::NetworkCreateRequest;

use super::client::{Docker, Inner, LABEL_NAME, LABEL_OWNER, LABEL_STORE};
use super::error::status;
use crate::SandboxError;

/// How often the removal of a network is tried while a container is still attached to it.
const TRIES: u32 = 100;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// A network on which containers find each other by name, and nothing else. Dropping it removes it
/// in the background, as soon as its containers are gone. It carries the labels of containers, so
/// that [`Docker::remove_stale`] removes it after a crash.
#[derive(Debug)]
pub struct InternalNetwork {
    inner: Arc<Inner>,
    id: String,
}

impl Docker {
    /// Creates an internal network. `label` is a short name, as of a container.
    ///
    /// [`SandboxError::Daemon`] if the daemon refuses it; it has addresses for some thirty networks
    /// unless its configuration says otherwise.
    pub fn create_network(&self, label: &str) -> Result<InternalNetwork, SandboxError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let inner = &self.inner;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // The daemon does not require that names are unique, but clients that go by name do.
        let name = format!("assay-{label}-{}-{number}", std::process::id());
        let labels = [
            (LABEL_STORE, inner.options.store_label.clone()),
            (LABEL_OWNER, inner.options.owner.clone()),
            (LABEL_NAME, label.to_owned()),
        ];
        let request = NetworkCreateRequest {
            name,
            driver: Some("bridge".to_owned()),
            internal: Some(true),
            // Otherwise the host has an address on it, at which its own servers can be reached.
            options: Some(HashMap::from([(
                "com.docker.network.bridge.inhibit_ipv4".to_owned(),
                "true".to_owned(),
            )])),
            labels: Some(labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ..Default::default()
        };
        let made = inner.request("create a network", inner.api.create_network(request))?;
        Ok(InternalNetwork { inner: Arc::clone(inner), id: made.id })
    }
}

impl InternalNetwork {
    /// Its id in the daemon.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for InternalNetwork {
    fn drop(&mut self) {
        let (api, id) = (self.inner.api.clone(), self.id.clone());
        self.inner.remove_later(async move {
            for _ in 0..TRIES {
                match api.remove_network(&id).await {
                    // A container is still attached.
                    Err(error) if matches!(status(&error), Some(403 | 409)) => {
                        tokio::time::sleep(PAUSE).await;
                    }
                    _ => return,
                }
            }
        });
    }
}
