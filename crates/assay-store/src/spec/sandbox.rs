//! The requested sandbox, and the limits of trials in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which sandbox trials run in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SandboxChoice {
    /// `auto`, `bubblewrap`, `docker` or `none`.
    pub kind: SandboxKind,
    /// Replacements of images in bubblewrap: `host`, or a folder with a root file system.
    pub roots: BTreeMap<String, String>,
    /// Replacements of images in Docker: the names of other images.
    pub images: BTreeMap<String, String>,
    /// Whether images that are missing may be pulled.
    pub pull: bool,
    /// Whether a Dockerfile's commands have a network.
    pub build_network: bool,
    /// Whether tasks whose compose file mounts the host's credentials for the agent's own login run
    /// without them.
    pub drop_login_mounts: bool,
}

/// A kind of sandbox, as requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Bubblewrap if the task's Dockerfile allows it.
    #[default]
    Auto,
    /// Bubblewrap for every task that it supports.
    Bubblewrap,
    /// Docker.
    Docker,
    /// No isolation at all.
    None,
}

/// A trial's resource limits on the machine; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processors' worth of time.
    pub cpus: Option<f64>,
    /// Bytes of memory of all processes together.
    pub memory_bytes: Option<u64>,
    /// Processes and threads together.
    pub pids: Option<u32>,
    /// Bytes on disk under the writable mounts together.
    pub storage_bytes: Option<u64>,
}
