//! Where a trial runs: a kind of sandbox, and what stands for the task's image in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_sandbox::{Bubblewrap, NoSandbox, Root, Sandbox};
use assay_task::Task;
use serde_json::{Value, json};

use crate::{Experiment, SandboxKind};

/// The sandboxes of this machine.
pub struct Sandboxes {
    /// Bubblewrap, or why it cannot be used.
    pub bubblewrap: Result<Arc<Bubblewrap>, String>,
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
                let ground = Ground::Folders { sandbox: Arc::new(NoSandbox), root: Root::Host };
                Ok(Self { ground, base: json!("host") })
            }
            SandboxKind::Docker => Err("it is to run in Docker, which this version does not do".to_owned()),
            SandboxKind::Bubblewrap => Self::bubblewrap(task, experiment, sandboxes, Some("host")),
            SandboxKind::Auto => Self::bubblewrap(task, experiment, sandboxes, None)
                .map_err(|reason| format!("{reason}; and Docker is not done by this version")),
        }
    }

    fn bubblewrap(
        task: &Task,
        experiment: &Experiment,
        sandboxes: &Sandboxes,
        unmapped: Option<&str>,
    ) -> Result<Self, String> {
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
        }
    }

    /// What the base is, for a trial's identity.
    pub fn base(&self) -> &Value {
        &self.base
    }
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
