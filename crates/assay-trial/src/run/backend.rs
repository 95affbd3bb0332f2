//! Where a trial runs: a kind of sandbox, and the source of the task's root filesystem in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use assay_diagnostic::chain;
use assay_sandbox::docker::{Docker, DockerOptions, ImageError, ImageSource};
use assay_sandbox::{Bubblewrap, NoSandbox, Root, Sandbox, SandboxError};
use assay_store::{SandboxChoice, SandboxKind, Store};
use assay_task::{Task, TaskError, VerifierMode};
use serde_json::{Value, json};

/// Why a kind of sandbox cannot be used on this machine.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxUnavailable {
    /// Bubblewrap does not work here.
    #[error("{0}")]
    Bubblewrap(Arc<SandboxError>),
    /// No Docker daemon answers.
    #[error("{}", chain(&**.0))]
    Docker(Arc<SandboxError>),
    /// `DOCKER_HOST` leads to another machine.
    #[error("DOCKER_HOST is {host:?}, but only local sockets are supported (unix:///…)")]
    RemoteDocker {
        /// The variable's value.
        host: String,
    },
    /// The store cannot remember that its trials may have been in Docker.
    #[error("cannot write {}: {error}", path.display())]
    Sign {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Arc<std::io::Error>,
    },
    /// The caller offers no such sandbox, for this reason.
    #[error("{0}")]
    NotOffered(&'static str),
}

/// The sandboxes of this machine.
pub struct Sandboxes {
    /// Bubblewrap, or why it cannot be used.
    pub bubblewrap: Result<Arc<Bubblewrap>, SandboxUnavailable>,
    docker: Result<DockerOptions, SandboxUnavailable>,
    /// Connected for the first task that needs it: a daemon may answer slowly, and there may be no
    /// such task.
    connected: OnceLock<Result<Docker, SandboxUnavailable>>,
    /// The ids of images, by name.
    images: Mutex<BTreeMap<String, String>>,
    /// Digests of root filesystems, by folder: each is walked once.
    roots: Mutex<BTreeMap<PathBuf, String>>,
    /// Written once the daemon answered.
    sign: Option<PathBuf>,
}

impl Sandboxes {
    /// Bubblewrap, or why it cannot be used; how to reach a Docker daemon, or why that is not
    /// tried. The image map and the leave to pull are the experiment's.
    pub fn new(
        bubblewrap: Result<Arc<Bubblewrap>, SandboxUnavailable>,
        docker: Result<DockerOptions, SandboxUnavailable>,
    ) -> Self {
        Self {
            bubblewrap,
            docker,
            connected: OnceLock::new(),
            images: Mutex::default(),
            roots: Mutex::default(),
            sign: None,
        }
    }

    /// Has the store remember that its trials may have been in Docker.
    #[must_use]
    pub fn of_store(self, store: &Store) -> Self {
        Self { sign: Some(store.docker_sign()), ..self }
    }

    fn docker(&self, choice: &SandboxChoice) -> Result<&Docker, BackendError> {
        let connect = || {
            let mut options = self.docker.clone()?;
            options.image_map.clone_from(&choice.images);
            options.pull = choice.pull;
            let docker =
                Docker::connect(options).map_err(|error| SandboxUnavailable::Docker(Arc::new(error)))?;
            if let Some(sign) = &self.sign {
                fs::write(sign, "").map_err(|error| SandboxUnavailable::Sign {
                    path: sign.clone(),
                    error: Arc::new(error),
                })?;
            }
            Ok(docker)
        };
        let connected = self.connected.get_or_init(connect).as_ref();
        connected.map_err(|reason| BackendError::Unavailable(reason.clone()))
    }

    /// The digest of a root filesystem.
    fn root_digest(&self, folder: &Path) -> Result<String, BackendError> {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = roots.get(folder) {
            return Ok(digest.clone());
        }
        let digest = folder_digest(folder)?;
        roots.insert(folder.to_owned(), digest.clone());
        Ok(digest)
    }

    /// The id of the image with a name.
    fn image_id(&self, docker: &Docker, name: &str) -> Result<String, BackendError> {
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = images.get(name) {
            return Ok(id.clone());
        }
        let source = ImageSource::Prebuilt { name: name.to_owned() };
        let image = docker.image(&source, &AtomicBool::new(false)).map_err(BackendError::Image)?;
        images.insert(name.to_owned(), image.id.clone());
        Ok(image.id)
    }
}

/// The place in which a trial runs.
pub struct Backend {
    /// What starts sandboxes here.
    pub(crate) inner: BackendKind,
    /// The base, as part of a trial's identity.
    pub(crate) base: Value,
}

/// Why a task cannot run in the experiment's sandbox. Messages are sentence fragments: they are the
/// reason of an exclusion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// It needs a container.
    #[error("{0}, which only Docker supports")]
    NeedsDocker(&'static str),
    /// It names an image.
    #[error("it needs the image {0}, which only Docker can run")]
    NeedsImage(String),
    /// It has neither image nor Dockerfile.
    #[error("it has no Dockerfile")]
    NoDockerfile,
    /// Its Dockerfile cannot be followed.
    #[error("its Dockerfile must be built by Docker (line {line}: {instruction})")]
    NeedsBuilder {
        /// From 1.
        line: usize,
        /// The unsupported instruction.
        instruction: String,
    },
    /// Its image has no root file system here.
    #[error("no root file system for its image {0}: add `\"{0}\" = \"host\"` to `[sandbox.roots]`")]
    NoRoot(String),
    /// It writes to folders of the image.
    #[error("it writes to {}, which belongs to the image", .0.display())]
    WritesToImage(PathBuf),
    /// A root filesystem that cannot be read.
    #[error("cannot read the root file system {}: {error}", folder.display())]
    Root {
        /// The expected path of the folder.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The names of its images cannot be read.
    #[error("{}", chain(.0))]
    Images(TaskError),
    /// An image is not here.
    #[error(
        "{}{}",
        chain(.0),
        if matches!(.0, ImageError::Missing { .. }) {
            ": `[sandbox.images]` maps names, `pull = true` under `[sandbox]` allows pulling"
        } else {
            ""
        }
    )]
    Image(ImageError),
    /// The sandbox does not work on this machine.
    #[error("{0}")]
    Unavailable(SandboxUnavailable),
    /// Neither of the two that were tried.
    #[error("{bubblewrap}; in Docker: {docker}")]
    Neither {
        /// Why not in bubblewrap.
        bubblewrap: Box<BackendError>,
        /// Why not in Docker.
        docker: Box<BackendError>,
    },
}

/// What starts sandboxes, and the image or root file system in them.
pub(crate) enum BackendKind {
    /// Folders of this machine, mounted over a root.
    Folders {
        /// Starts the namespaces.
        sandbox: Arc<dyn Sandbox>,
        /// The root file system.
        root: Root,
    },
    /// One container of the task's image.
    Container {
        /// The daemon.
        docker: Docker,
        /// The source of the image.
        image: TaskImage,
    },
}

/// The source of a task's image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskImage {
    /// A local image, or one in a registry.
    Prebuilt(String),
    /// The task's build context, without skills.
    Build {
        /// Whether the Dockerfile's commands have a network.
        network: bool,
    },
}

/// Folders whose content belongs to the root filesystem, so that a task which writes there needs
/// its own image.
const SYSTEM: [&str; 12] =
    ["/", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/dev", "/sys", "/run"];

impl Backend {
    /// The sandbox for a task, by the experiment's choice and the task's environment. Folders of
    /// root filesystems are relative to `directory`.
    ///
    /// # Errors
    /// The reason, as a sentence fragment, for which the task cannot be run here.
    pub fn choose(
        task: &Task,
        choice: &SandboxChoice,
        directory: &Path,
        sandboxes: &Sandboxes,
    ) -> Result<Self, BackendError> {
        match choice.kind {
            SandboxKind::None => {
                only_docker(task)?;
                let inner = BackendKind::Folders { sandbox: Arc::new(NoSandbox), root: Root::Host };
                Ok(Self { inner, base: json!("host") })
            }
            SandboxKind::Docker => Self::docker(task, choice, sandboxes),
            SandboxKind::Bubblewrap => Self::bubblewrap(task, choice, directory, sandboxes, Some("host")),
            SandboxKind::Auto => {
                Self::bubblewrap(task, choice, directory, sandboxes, None).or_else(|bubblewrap| {
                    Self::docker(task, choice, sandboxes).map_err(|docker| BackendError::Neither {
                        bubblewrap: Box::new(bubblewrap),
                        docker: Box::new(docker),
                    })
                })
            }
        }
    }

    fn docker(task: &Task, choice: &SandboxChoice, sandboxes: &Sandboxes) -> Result<Self, BackendError> {
        let docker = sandboxes.docker(choice)?;
        let (image, names) = if let Some(name) = task.prebuilt_image().map(str::to_owned) {
            (TaskImage::Prebuilt(name.clone()), vec![name])
        } else {
            let names = task.base_images().map_err(BackendError::Images)?;
            (TaskImage::Build { network: choice.build_network }, names)
        };
        let of_services = task.service_images().map_err(BackendError::Images)?;
        let names: BTreeSet<String> = names.into_iter().chain(of_services).collect();
        let ids = names
            .into_iter()
            .map(|name| Ok((name.clone(), json!(sandboxes.image_id(docker, &name)?))))
            .collect::<Result<serde_json::Map<_, _>, BackendError>>()?;
        Ok(Self {
            inner: BackendKind::Container { docker: docker.clone(), image },
            base: json!({ "images": ids }),
        })
    }

    fn bubblewrap(
        task: &Task,
        choice: &SandboxChoice,
        directory: &Path,
        sandboxes: &Sandboxes,
        unmapped: Option<&str>,
    ) -> Result<Self, BackendError> {
        only_docker(task)?;
        for step in (0..task.steps.len()).filter_map(|number| task.of_step(number)) {
            only_docker(&step)?;
        }
        if let Some(image) = &task.config.environment.docker_image {
            return Err(BackendError::NeedsImage(image.clone()));
        }
        let dockerfile = task.environment.dockerfile.as_ref().ok_or(BackendError::NoDockerfile)?;
        if let Some(other) = dockerfile.unsupported.first() {
            let (line, instruction) = (other.line, other.instruction.clone());
            return Err(BackendError::NeedsBuilder { line, instruction });
        }
        let from = &dockerfile.from;
        let root = choice.roots.get(from).map(String::as_str).or(unmapped);
        let root = root.ok_or_else(|| BackendError::NoRoot(from.clone()))?;
        for path in &task.writable {
            let inside = SYSTEM
                .iter()
                .any(|system| path == Path::new(system) || (*system != "/" && path.starts_with(system)));
            if inside {
                return Err(BackendError::WritesToImage(path.clone()));
            }
        }
        let sandbox = sandboxes.bubblewrap.as_ref();
        let sandbox = sandbox.map_err(|reason| BackendError::Unavailable(reason.clone()))?.clone();
        let (root, base) = match root {
            "host" => (Root::Host, json!({ "host": host_digest() })),
            folder => {
                let folder = directory.join(folder);
                let folder = folder
                    .canonicalize()
                    .map_err(|error| BackendError::Root { folder: folder.clone(), error })?;
                let base = json!({ "folder": sandboxes.root_digest(&folder)? });
                (Root::Dir(folder), base)
            }
        };
        Ok(Self { inner: BackendKind::Folders { sandbox, root }, base })
    }

    /// An experiment's choice with the actual kind instead of `auto`, and absolute paths of roots.
    pub(crate) fn settled_choice(&self, choice: &SandboxChoice, directory: &Path) -> SandboxChoice {
        let kind = match &self.inner {
            BackendKind::Container { .. } => SandboxKind::Docker,
            BackendKind::Folders { .. } if choice.kind == SandboxKind::None => SandboxKind::None,
            BackendKind::Folders { .. } => SandboxKind::Bubblewrap,
        };
        let root = |(name, folder): (&String, &String)| {
            let path = directory.join(folder);
            let found = path.canonicalize().unwrap_or(path).display().to_string();
            (name.clone(), if folder == "host" { folder.clone() } else { found })
        };
        SandboxChoice { kind, roots: choice.roots.iter().map(root).collect(), ..choice.clone() }
    }

    /// The sandbox's kind.
    pub fn kind(&self) -> &'static str {
        match &self.inner {
            BackendKind::Folders { sandbox, .. } => sandbox.kind(),
            BackendKind::Container { .. } => "docker",
        }
    }

    /// How many processors there are.
    pub(crate) fn processors(&self) -> f64 {
        let here = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        match &self.inner {
            BackendKind::Folders { .. } => here(),
            BackendKind::Container { docker, .. } => docker.probe().processors.unwrap_or_else(here),
        }
    }

    /// Waits until all pending removals of containers are done.
    pub(crate) fn wait_for_removals(&self) {
        if let BackendKind::Container { docker, .. } = &self.inner {
            docker.wait_for_removals();
        }
    }

    /// Whether builds for it have a network.
    pub(crate) fn builds_with_network(&self) -> bool {
        matches!(&self.inner, BackendKind::Container { image: TaskImage::Build { network: true }, .. })
    }

    /// The base, as part of a trial's identity.
    pub fn base(&self) -> &Value {
        &self.base
    }
}

/// A requirement of a task that needs a container, as the reason for its exclusion elsewhere.
fn only_docker(task: &Task) -> Result<(), BackendError> {
    let config = &task.config;
    let is_root = |user: &Option<String>| user.as_deref().is_none_or(|user| matches!(user, "root" | "0"));
    let wishes = [
        (task.environment.compose.is_some(), "it has a compose file"),
        (
            !is_root(&config.agent_user) || !is_root(&config.verifier_user),
            "it sets the user of the agent or the verifier",
        ),
        (config.environment.healthcheck.is_some(), "it has a healthcheck"),
        (!config.collect.is_empty(), "it runs commands between agent and verifier"),
        (config.verifier_mode == VerifierMode::Separate, "its verifier needs a separate environment"),
    ];
    if let Some((_, what)) = wishes.iter().find(|(wished, _)| *wished) {
        return Err(BackendError::NeedsDocker(what));
    }
    Ok(())
}

/// A digest that distinguishes hosts without reading all files: of the release and the default
/// Python.
fn host_digest() -> String {
    let release = fs::read("/etc/os-release").unwrap_or_default();
    let python = fs::canonicalize("/usr/bin/python3").unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&release);
    hasher.update(python.as_os_str().as_encoded_bytes());
    format!("blake3:{}", hasher.finalize().to_hex())
}

/// A digest of a root file system from names, sizes and times: reading gigabytes before every plan
/// would be too slow.
fn folder_digest(folder: &Path) -> Result<String, BackendError> {
    use std::os::unix::fs::MetadataExt;
    let mut hasher = blake3::Hasher::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        let entries =
            fs::read_dir(&next).map_err(|error| BackendError::Root { folder: next.clone(), error })?;
        let paths: BTreeSet<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        for path in paths {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let name = path.strip_prefix(folder).unwrap_or(&path);
            hasher.update(name.as_os_str().as_encoded_bytes());
            hasher.update(&[0]);
            if metadata.is_dir() {
                waiting.push(path);
            } else {
                hasher.update(&metadata.size().to_le_bytes());
                hasher.update(&metadata.mtime().to_le_bytes());
            }
        }
    }
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}
