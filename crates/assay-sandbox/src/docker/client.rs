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

/// Where the daemon listens unless somebody says otherwise.
pub const DEFAULT_SOCKET: &str = "/var/run/docker.sock";
/// Says on each container and image which store it belongs to.
pub(super) const LABEL_STORE: &str = "dev.assay.store";
/// Says on each container which process made it.
pub(super) const LABEL_OWNER: &str = "dev.assay.owner";
/// Says on each container what it is for.
pub(super) const LABEL_NAME: &str = "dev.assay.name";
/// How long the daemon may take to answer a request; a busy one takes seconds to start a container.
const PATIENCE: Duration = Duration::from_mins(2);

/// Most containers that are removed while nobody waits.
const REMOVALS: usize = 32;

/// How to reach a daemon, and what it may do.
#[derive(Debug, Clone)]
pub struct DockerOptions {
    /// Its socket; `None`: [`DEFAULT_SOCKET`].
    pub socket: Option<PathBuf>,
    /// Which store containers and images belong to: [`Docker::sweep`] and [`Docker::prune`] look at one store's only.
    pub store_label: String,
    /// The owning process, used by cleanup. Opaque here.
    pub owner: String,
    /// What stands in for an image: the name a task writes, and the name that is used.
    pub image_map: BTreeMap<String, String>,
    /// Whether images that are missing may be pulled.
    pub pull: bool,
    /// Whether the files of a container that does not run are read and written where the daemon keeps them, where this process may. Otherwise
    /// they come and go as archives, which takes longer.
    pub direct: bool,
    /// The `docker` program, for Dockerfiles that only BuildKit can build; `None`: those are refused.
    pub program: Option<PathBuf>,
}

impl DockerOptions {
    /// For a store and a process: the default socket, no image map, nothing pulled, no program.
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

/// What a daemon is and can hold.
#[derive(Debug, Clone)]
pub struct DockerProbe {
    /// Its version, such as `20.10.24`.
    pub version: String,
    /// The version of its API.
    pub api: String,
    /// `1` or `2`; `none` where it has no control groups.
    pub cgroup: String,
    /// Its storage driver, such as `overlay2`.
    pub storage: String,
    /// What holds each limit.
    pub enforcement: Enforcement,
    /// How many processors its machine has, where it says: it creates no container with more.
    pub processors: Option<f64>,
    /// What it warns of itself.
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
    /// Whether containers' files may be looked for in the daemon's folder.
    pub(crate) direct: bool,
    probe: DockerProbe,
    /// One lock for each image that is being built.
    pub(crate) builds: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
    /// Containers that are being removed while nobody waits.
    removals: Mutex<Vec<JoinHandle<()>>>,
    // Dropped last: what the others hold lives on it.
    runtime: Runtime,
}

impl Docker {
    /// Finds the daemon and asks what it is.
    ///
    /// [`SandboxError::Unavailable`] where none answers, with what to do.
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
        let direct = options.direct && plain && probe.storage == "overlay2" && layers::may_look();
        let builds = Mutex::default();
        let removals = Mutex::default();
        let inner = Inner { api, options, socket, enforcement, direct, probe, builds, removals, runtime };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the daemon is.
    pub fn probe(&self) -> &DockerProbe {
        &self.inner.probe
    }

    /// Whether the daemon answers now.
    pub fn answers(&self) -> bool {
        self.inner.block(self.inner.api.ping()).is_ok()
    }

    /// Waits until containers that were [left](super::Container::remove_in_background) are removed. A daemon that does not answer is not waited for without end.
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
    /// Removes a container beside what goes on; false where too many wait for that already.
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
        // Each ends when the daemon answers or has had its time.
        self.block(async {
            for removal in removals {
                let _ = removal.await;
            }
        });
    }

    /// Waits for what the daemon does.
    pub(crate) fn block<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Waits for an answer of the daemon.
    pub(crate) fn request<T>(
        &self,
        action: &'static str,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, SandboxError> {
        self.block(future).map_err(|error| failed(action, &error))
    }
}

/// What the daemon is, and whether its files have the owners and labels that any other's would.
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
            // Only some storage drivers on some file systems can, and none says so.
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
