//! Where a trial runs: a kind of sandbox, and what stands for the task's image in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use assay_diagnostic::chain;
use assay_sandbox::docker::{Docker, DockerOptions, ImageError, ImageSource};
use assay_sandbox::{Bubblewrap, NoSandbox, Root, Sandbox};
use assay_store::Store;
use assay_task::{Task, VerifierMode};
use serde_json::{Value, json};

use crate::{Experiment, SandboxKind};

/// The sandboxes of this machine.
pub struct Sandboxes {
    /// Bubblewrap, or why it cannot be used.
    pub bubblewrap: Result<Arc<Bubblewrap>, String>,
    docker: Result<DockerOptions, String>,
    /// Asked for when the first task needs it: a machine may have a daemon that answers slowly, and no task for it.
    connected: OnceLock<Result<Docker, String>>,
    /// What image names stand for, by name.
    images: Mutex<BTreeMap<String, String>>,
    /// Written once the daemon answered.
    sign: Option<PathBuf>,
}

impl Sandboxes {
    /// Bubblewrap, or why it cannot be used; how to reach a Docker daemon, or why that is not tried. The image map and the leave to pull are the
    /// experiment's.
    pub fn new(bubblewrap: Result<Arc<Bubblewrap>, String>, docker: Result<DockerOptions, String>) -> Self {
        Self { bubblewrap, docker, connected: OnceLock::new(), images: Mutex::default(), sign: None }
    }

    /// Has the store remember that its trials may have been in Docker.
    #[must_use]
    pub fn of_store(self, store: &Store) -> Self {
        Self { sign: Some(store.docker_sign()), ..self }
    }

    fn docker(&self, experiment: &Experiment) -> Result<&Docker, String> {
        let connect = || {
            let mut options = self.docker.clone()?;
            options.image_map.clone_from(&experiment.sandbox.images);
            options.pull = experiment.sandbox.pull;
            let docker = Docker::connect(options).map_err(|error| chain(&error))?;
            if let Some(sign) = &self.sign {
                fs::write(sign, "").map_err(|error| format!("cannot write {}: {error}", sign.display()))?;
            }
            Ok(docker)
        };
        self.connected.get_or_init(connect).as_ref().map_err(Clone::clone)
    }

    /// The id of the image that a name stands for.
    fn image_id(&self, docker: &Docker, name: &str) -> Result<String, String> {
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = images.get(name) {
            return Ok(id.clone());
        }
        let source = ImageSource::Prebuilt { name: name.to_owned() };
        let image = docker.image(&source, &AtomicBool::new(false)).map_err(|error| match error {
            ImageError::Missing { .. } => {
                format!(
                    "{}: `[sandbox.images]` maps names, `pull = true` under `[sandbox]` allows pulling",
                    chain(&error)
                )
            }
            error => chain(&error),
        })?;
        images.insert(name.to_owned(), image.id.clone());
        Ok(image.id)
    }
}

/// Where a trial runs.
pub struct Place {
    /// What a desk stands on here.
    pub(crate) ground: Ground,
    /// What the base is, for a trial's identity.
    pub(crate) base: Value,
}

/// What a desk stands on.
pub(crate) enum Ground {
    /// Folders of this machine, mounted over a root.
    Folders {
        /// Starts the namespaces.
        sandbox: Arc<dyn Sandbox>,
        /// What stands below.
        root: Root,
    },
    /// One container of the task's image.
    Container {
        /// The daemon.
        docker: Docker,
        /// What the image is made of.
        material: Material,
    },
}

/// What a task's image is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Material {
    /// It is there, or in a registry.
    Prebuilt(String),
    /// The task's build context, without skills.
    Build {
        /// Whether what the Dockerfile runs has a network.
        network: bool,
    },
}

/// Folders whose content belongs to the root filesystem, so that a task which writes there needs an image of its own.
const SYSTEM: [&str; 12] =
    ["/", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/dev", "/sys", "/run"];

impl Place {
    /// The sandbox for a task, by the experiment's choice and the task's environment.
    ///
    /// # Errors
    /// The reason, as a sentence fragment, for which the task cannot be run here.
    pub fn choose(task: &Task, experiment: &Experiment, sandboxes: &Sandboxes) -> Result<Self, String> {
        match experiment.sandbox.kind {
            SandboxKind::None => {
                only_docker(task)?;
                let ground = Ground::Folders { sandbox: Arc::new(NoSandbox), root: Root::Host };
                Ok(Self { ground, base: json!("host") })
            }
            SandboxKind::Docker => Self::docker(task, experiment, sandboxes),
            SandboxKind::Bubblewrap => Self::bubblewrap(task, experiment, sandboxes, Some("host")),
            SandboxKind::Auto => Self::bubblewrap(task, experiment, sandboxes, None).or_else(|reason| {
                Self::docker(task, experiment, sandboxes)
                    .map_err(|docker| format!("{reason}; and in Docker: {docker}"))
            }),
        }
    }

    fn docker(task: &Task, experiment: &Experiment, sandboxes: &Sandboxes) -> Result<Self, String> {
        let docker = sandboxes.docker(experiment)?;
        let config = &task.config.environment;
        let main = task.environment.compose.as_ref().map(|compose| &compose.main);
        let named = config.docker_image.clone().or_else(|| main.and_then(|main| main.image.clone()));
        let (material, names) = match named {
            Some(name) if main.is_none_or(|main| main.context.is_none()) || config.docker_image.is_some() => {
                (Material::Prebuilt(name.clone()), vec![name])
            }
            _ => {
                let names = task.base_images().map_err(|error| chain(&error))?;
                (Material::Build { network: experiment.sandbox.build_network }, names)
            }
        };
        let ids = names
            .into_iter()
            .map(|name| Ok((name.clone(), json!(sandboxes.image_id(docker, &name)?))))
            .collect::<Result<serde_json::Map<_, _>, String>>()?;
        Ok(Self {
            ground: Ground::Container { docker: docker.clone(), material },
            base: json!({ "images": ids }),
        })
    }

    fn bubblewrap(
        task: &Task,
        experiment: &Experiment,
        sandboxes: &Sandboxes,
        unmapped: Option<&str>,
    ) -> Result<Self, String> {
        only_docker(task)?;
        if let Some(image) = &task.config.environment.docker_image {
            return Err(format!("it needs the image {image}, which only Docker can run"));
        }
        let dockerfile = task.environment.dockerfile.as_ref().ok_or("it has no Dockerfile to follow")?;
        if let Some(other) = dockerfile.unsupported.first() {
            return Err(format!(
                "its Dockerfile needs a builder (line {}: {})",
                other.line, other.instruction
            ));
        }
        let from = &dockerfile.from;
        let root = experiment.sandbox.roots.get(from).map(String::as_str).or(unmapped).ok_or_else(|| {
            format!("its image {from} has no root here: add `\"{from}\" = \"host\"` to `[sandbox.roots]`")
        })?;
        for path in &task.writable {
            let inside = SYSTEM
                .iter()
                .any(|system| path == Path::new(system) || (*system != "/" && path.starts_with(system)));
            if inside {
                return Err(format!("it writes to {}, which belongs to the image", path.display()));
            }
        }
        let sandbox = sandboxes.bubblewrap.as_ref().map_err(Clone::clone)?.clone();
        let (root, base) = match root {
            "host" => (Root::Host, json!({ "host": host_digest() })),
            folder => {
                let folder = experiment.directory.join(folder);
                let folder = folder
                    .canonicalize()
                    .map_err(|error| format!("the root {}: {error}", folder.display()))?;
                let base = json!({ "folder": folder_digest(&folder)? });
                (Root::Dir(folder), base)
            }
        };
        Ok(Self { ground: Ground::Folders { sandbox, root }, base })
    }

    /// The sandbox's kind.
    pub fn kind(&self) -> &'static str {
        match &self.ground {
            Ground::Folders { sandbox, .. } => sandbox.kind(),
            Ground::Container { .. } => "docker",
        }
    }

    /// How many processors there are.
    pub(crate) fn processors(&self) -> f64 {
        let here = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        match &self.ground {
            Ground::Folders { .. } => here(),
            Ground::Container { docker, .. } => docker.probe().processors.unwrap_or_else(here),
        }
    }

    /// Waits until nothing of trials is left there that only waits to be removed.
    pub(crate) fn settle(&self) {
        if let Ground::Container { docker, .. } = &self.ground {
            docker.settle();
        }
    }

    /// Whether what is built for it has a network.
    pub(crate) fn builds_with_network(&self) -> bool {
        matches!(&self.ground, Ground::Container { material: Material::Build { network: true }, .. })
    }

    /// What the base is, for a trial's identity.
    pub fn base(&self) -> &Value {
        &self.base
    }
}

/// What a task wishes that needs a container, as the reason for which it is left out elsewhere.
fn only_docker(task: &Task) -> Result<(), String> {
    let config = &task.config;
    let is_root = |user: &Option<String>| user.as_deref().is_none_or(|user| matches!(user, "root" | "0"));
    let wishes = [
        (task.environment.compose.is_some(), "it has a compose file"),
        (!is_root(&config.agent_user) || !is_root(&config.verifier_user), "it names the user that works"),
        (config.environment.healthcheck.is_some(), "it has a healthcheck"),
        (!config.collect.is_empty(), "it runs commands between agent and grader"),
        (config.verifier_mode == VerifierMode::Separate, "its verifier wants an environment of its own"),
    ];
    if let Some((_, what)) = wishes.iter().find(|(wished, _)| *wished) {
        return Err(format!("{what}, which only Docker can do"));
    }
    Ok(())
}

/// What tells one host's base from another's without reading all of it: its release, and its first interpreter.
fn host_digest() -> String {
    let release = fs::read("/etc/os-release").unwrap_or_default();
    let python = fs::canonicalize("/usr/bin/python3").unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&release);
    hasher.update(python.as_os_str().as_encoded_bytes());
    format!("blake3:{}", hasher.finalize().to_hex())
}

/// A root filesystem is told by the names, sizes and times of its files: reading gigabytes before every plan would not do.
fn folder_digest(folder: &Path) -> Result<String, String> {
    use std::os::unix::fs::MetadataExt;
    let mut hasher = blake3::Hasher::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        let entries = fs::read_dir(&next).map_err(|error| format!("the root {}: {error}", next.display()))?;
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
