//! `[environment]`, and what the network and the verifier of a task are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::mcp::McpServer;

/// The format's default for the verifier and for building, in seconds.
pub(super) const DEFAULT_SECONDS: f64 = 600.0;

/// `[environment]` of `task.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvironmentConfig {
    /// `docker_image`: a prebuilt image, used instead of the Dockerfile.
    pub docker_image: Option<String>,
    /// `cpus`.
    pub cpus: Option<f64>,
    /// `memory_mb` (or `memory = "2G"` of old files), in bytes.
    pub memory_bytes: Option<u64>,
    /// `storage_mb` (or `storage = "10G"` of old files), in bytes.
    pub storage_bytes: Option<u64>,
    /// `[metadata.assay] pids`: most processes at once.
    pub pids: Option<u64>,
    /// `env`, for the agent's phase and the verifier's.
    pub env: BTreeMap<String, String>,
    /// `workdir`, absolute; else the Dockerfile's.
    pub workdir: Option<PathBuf>,
    /// `skills_dir`: the format's own runner puts skills there.
    pub skills_dir: Option<PathBuf>,
    /// `network_mode` with `allowed_hosts`, or `allow_internet` of old files.
    pub network: NetworkWish,
    /// `gpus`, and 1 if `gpu_types` or `tpu` has no count.
    pub gpus: u64,
    /// `build_timeout_sec`: seconds; default 600.
    pub build_timeout: f64,
    /// `healthcheck`.
    pub healthcheck: Option<Healthcheck>,
    /// `os = "windows"`.
    pub windows: bool,
    /// `mcp_servers`.
    pub mcp_servers: Vec<McpServer>,
}

impl Default for EnvironmentConfig {
    fn default() -> Self {
        Self {
            docker_image: None,
            cpus: None,
            memory_bytes: None,
            storage_bytes: None,
            pids: None,
            env: BTreeMap::new(),
            workdir: None,
            skills_dir: None,
            network: NetworkWish::Public,
            gpus: 0,
            build_timeout: DEFAULT_SECONDS,
            healthcheck: None,
            windows: false,
            mcp_servers: Vec::new(),
        }
    }
}

/// `[environment.healthcheck]`; times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Healthcheck {
    /// The shell command that has to succeed.
    pub command: String,
    /// Between two attempts; default 5.
    pub interval: f64,
    /// Of one attempt; default 30.
    pub timeout: f64,
    /// During which failures do not count; default 0.
    pub start_period: f64,
    /// Between two attempts within the start period; default 5.
    pub start_interval: f64,
    /// Consecutive failures that make it unhealthy; default 3.
    pub retries: u64,
}

/// The network that a task requests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkWish {
    /// Everything; the format's default.
    #[default]
    Public,
    /// Nothing.
    None,
    /// These hosts (`host`, `*.host`, an address, a CIDR block), in the order given.
    Allowlist(Vec<String>),
}

/// The verifier's environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifierMode {
    /// The agent's; the format's default.
    #[default]
    Shared,
    /// A separate environment that gets only the artifacts.
    Separate,
}
