//! The connection to a daemon.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::errors::Error;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::error::{failed, words};
use super::layers;
use crate::{Enforcement, Mechanism, SandboxError};

/// The default socket of the daemon.
pub const DEFAULT_SOCKET: &str = "/var/run/docker.sock";
/// Label with the store that a container or image belongs to.
pub(super) const LABEL_STORE: &str = "dev.assay.store";
/// Label with the process that created a container.
pub(super) const LABEL_OWNER: &str = "dev.assay.owner";
/// Label with the purpose of a container.
pub(super) const LABEL_NAME: &str = "dev.assay.name";
/// Timeout of a request to the daemon; a busy one takes seconds to start a container.
const PATIENCE: Duration = Duration::from_mins(2);

/// Maximum number of containers that are removed in the background.
const REMOVALS: usize = 32;

/// How to reach a daemon, and what assay may do with it.
#[derive(Debug, Clone)]
pub struct DockerOptions {
    /// Its socket; `None`: [`DEFAULT_SOCKET`].
    pub socket: Option<PathBuf>,
    /// The store that containers and images belong to. [`Docker::remove_stale`] and
    /// [`Docker::prune`] affect one store only.
    pub store_label: String,
    /// The owning process, used by cleanup. Opaque here.
    pub owner: String,
    /// Replacements of images: the name in a task, and the name to use.
    pub image_map: BTreeMap<String, String>,
    /// Whether images that are missing may be pulled.
    pub pull: bool,
    /// Whether the files of a stopped container are read and written in the daemon's own folder, if
    /// this process may access it. Otherwise they are transferred as archives, which takes longer.
    pub direct: bool,
    /// The `docker` program, for Dockerfiles that need BuildKit; `None`: those are refused.
    pub program: Option<PathBuf>,
}

impl DockerOptions {
    /// Options for a store and a process: the default socket, no image map, no pulling, no program.
    pub fn new(store_label: impl Into<String>, owner: impl Into<String>) -> Self {
        Self {
            socket: None,
            store_label: store_label.into(),
            owner: owner.into(),
            image_map: BTreeMap::new(),
            pull: false,
            direct: true,
            program: None,
        }
    }
}

/// Properties of a daemon.
#[derive(Debug, Clone)]
pub struct DockerProbe {
    /// Its version, such as `20.10.24`.
    pub version: String,
    /// The version of its API.
    pub api: String,
    /// `1` or `2`; `none` without control groups.
    pub cgroup: String,
    /// Its storage driver, such as `overlay2`.
    pub storage: String,
    /// What enforces each limit.
    pub enforcement: Enforcement,
    /// The number of its machine's CPUs, if it reports it: no container gets more.
    pub processors: Option<f64>,
    /// Its own warnings.
    pub warnings: Vec<String>,
}

/// A connection to a daemon. Clones share it.
#[derive(Debug, Clone)]
pub struct Docker {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) api: bollard::Docker,
    pub(crate) options: DockerOptions,
    pub(crate) socket: PathBuf,
    pub(crate) enforcement: Enforcement,
    /// Whether containers' files may be accessed in the daemon's folder.
    pub(crate) direct: bool,
    probe: DockerProbe,
    /// One lock for each image that is being built.
    pub(crate) builds: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
    /// Containers that are being removed in the background.
    removals: Mutex<Vec<JoinHandle<()>>>,
    // Dropped last: the other fields use it.
    runtime: Runtime,
}

impl Docker {
    /// Connects to the daemon and queries its properties.
    ///
    /// Fails with [`SandboxError::Unavailable`] and a hint if none answers.
    pub fn connect(options: DockerOptions) -> Result<Self, SandboxError> {
        let socket = options.socket.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_SOCKET));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("docker")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|source| SandboxError::Io {
                action: "start",
                path: PathBuf::from("a thread"),
                source,
            })?;
        let path = socket.to_str().ok_or_else(|| unavailable(&socket, "its name is not UTF-8"))?;
        let (api, probe, plain) = runtime
            .block_on(async {
                let api = bollard::Docker::connect_with_unix(
                    path,
                    PATIENCE.as_secs(),
                    bollard::API_DEFAULT_VERSION,
                )?;
                let api = api.negotiate_version().await?;
                let (probe, plain) = probe(&api).await?;
                Ok((api, probe, plain))
            })
            .map_err(|error: Error| unavailable(&socket, &words(&error)))?;
        let enforcement = probe.enforcement;
        let direct = options.direct && plain && probe.storage == "overlay2" && layers::can_read_layers();
        let builds = Mutex::default();
        let removals = Mutex::default();
        let inner = Inner { api, options, socket, enforcement, direct, probe, builds, removals, runtime };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The properties of the daemon.
    pub fn probe(&self) -> &DockerProbe {
        &self.inner.probe
    }

    /// Whether the daemon currently answers.
    pub fn answers(&self) -> bool {
        self.inner.block(self.inner.api.ping()).is_ok()
    }

    /// Waits until containers are removed that are being [removed in the
    /// background](super::Container::remove_in_background). The wait for a daemon that does not
    /// answer is bounded.
    pub fn wait_for_removals(&self) {
        self.inner.wait_for_removals();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.wait_for_removals();
    }
}

impl Inner {
    /// Removes a container in the background; false if too many removals are pending.
    pub(crate) fn remove_later(&self, removal: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut removals = self.removals.lock().unwrap_or_else(PoisonError::into_inner);
        removals.retain(|removal| !removal.is_finished());
        if removals.len() >= REMOVALS {
            return false;
        }
        removals.push(self.runtime.spawn(removal));
        true
    }

    fn wait_for_removals(&self) {
        let removals = std::mem::take(&mut *self.removals.lock().unwrap_or_else(PoisonError::into_inner));
        // Each ends when the daemon answers, or with its timeout.
        self.block(async {
            for removal in removals {
                let _ = removal.await;
            }
        });
    }

    /// Blocks on an operation of the daemon.
    pub(crate) fn block<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Blocks on a request to the daemon.
    pub(crate) fn request<T>(
        &self,
        action: &'static str,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, SandboxError> {
        self.block(future).map_err(|error| failed(action, &error))
    }
}

/// Queries the daemon, and whether files in its folder have their usual owners and labels.
async fn probe(api: &bollard::Docker) -> Result<(DockerProbe, bool), Error> {
    let version = api.version().await?;
    let info = api.info().await?;
    let cgroup = info.cgroup_version.map_or_else(String::new, |version| version.to_string());
    let group = match cgroup.as_str() {
        "1" => Mechanism::CgroupV1,
        "2" => Mechanism::CgroupV2,
        _ => Mechanism::Nothing,
    };
    let security = info.security_options.unwrap_or_default();
    let plain = !security.iter().any(|option| {
        ["name=userns", "name=rootless", "name=selinux"].iter().any(|name| option.starts_with(name))
    });
    let held = |by: Option<bool>| if by == Some(true) { group } else { Mechanism::Nothing };
    let probe = DockerProbe {
        version: version.version.unwrap_or_default(),
        api: api.client_version().to_string(),
        cgroup: if cgroup.is_empty() { "none".to_owned() } else { cgroup },
        storage: info.driver.unwrap_or_default(),
        enforcement: Enforcement {
            cpus: held(info.cpu_cfs_quota),
            memory: held(info.memory_limit),
            pids: held(info.pids_limit),
            // Only some storage drivers on some file systems can, and none reports it.
            storage: Mechanism::Nothing,
        },
        processors: info.ncpu.filter(|count| *count > 0).map(|count| count as f64),
        warnings: info.warnings.unwrap_or_default(),
    };
    Ok((probe, plain))
}

fn unavailable(socket: &Path, reason: &str) -> SandboxError {
    SandboxError::Unavailable {
        what: "docker",
        reason: format!(
            "no Docker daemon at {}: {reason} (hint: start it, or set another socket)",
            socket.display()
        ),
    }
}
