//! `task.toml`, typed.

mod grading;
mod metadata;
mod read;
mod section;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

pub use grading::{Artifact, Collect};
pub(crate) use metadata::{Metadata, metadata, object};
pub(crate) use read::{Parsed, parse};

/// The format's default for the verifier and for building, in seconds.
const DEFAULT_SECONDS: f64 = 600.0;

/// What `task.toml` says, or what a task without one amounts to. Values with `${VAR}` are kept as
/// written: the caller expands what it allows.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskConfig {
    /// `schema_version`, or `version` in old files.
    pub schema_version: Option<String>,
    /// `[task] name`, as written.
    pub name: Option<String>,
    /// `[agent] timeout_sec`: seconds; none is no limit.
    pub agent_timeout: Option<f64>,
    /// `[agent] user`: a name or a number.
    pub agent_user: Option<String>,
    /// `[agent] network_mode`: where the agent's phase differs from the environment.
    pub agent_network: Option<NetworkWish>,
    /// `[verifier] timeout_sec`: seconds; 600 when not given.
    pub verifier_timeout: f64,
    /// `[verifier] env`.
    pub verifier_env: BTreeMap<String, String>,
    /// `[verifier] user`: a name or a number.
    pub verifier_user: Option<String>,
    /// `[verifier] network_mode`: where the verifier's phase differs from the environment.
    pub verifier_network: Option<NetworkWish>,
    /// `[verifier] environment_mode`; separate also when `[verifier.environment]` is given.
    pub verifier_mode: VerifierMode,
    /// `[environment]`.
    pub environment: EnvironmentConfig,
    /// `[solution] env`, for the oracle only.
    pub solution_env: BTreeMap<String, String>,
    /// `[metadata]` as written: difficulty, category, tags and whatever else there is.
    pub metadata: toml::Table,
    /// Whether the task has steps: `[[steps]]`, or a folder `steps/`.
    pub multi_step: bool,
    /// `multi_step_reward_strategy`: `mean` or `final`.
    pub reward_strategy: Option<String>,
    /// `artifacts`.
    pub artifacts: Vec<Artifact>,
    /// `[[verifier.collect]]`.
    pub collect: Vec<Collect>,
    /// `[verifier.environment]`: where a verifier of its own runs, when it is not in the agent's
    /// image.
    pub verifier_environment: Option<EnvironmentConfig>,
    /// Keys that the format does not know, dotted, sorted. Their values are in `raw`.
    pub unknown: Vec<String>,
    /// The whole file as written.
    pub raw: toml::Table,
}

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
    /// `skills_dir`: where the format's own runner puts skills.
    pub skills_dir: Option<PathBuf>,
    /// `network_mode` with `allowed_hosts`, or `allow_internet` of old files.
    pub network: NetworkWish,
    /// `gpus`, and 1 when `gpu_types` or `tpu` is given without a count.
    pub gpus: u64,
    /// `build_timeout_sec`: seconds; 600 when not given.
    pub build_timeout: f64,
    /// `healthcheck`.
    pub healthcheck: Option<Healthcheck>,
    /// `os = "windows"`.
    pub windows: bool,
    /// `mcp_servers`: how many are asked for.
    pub mcp_servers: usize,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self {
            schema_version: None,
            name: None,
            agent_timeout: None,
            agent_user: None,
            agent_network: None,
            verifier_timeout: DEFAULT_SECONDS,
            verifier_env: BTreeMap::new(),
            verifier_user: None,
            verifier_network: None,
            verifier_mode: VerifierMode::Shared,
            environment: EnvironmentConfig::default(),
            solution_env: BTreeMap::new(),
            metadata: toml::Table::new(),
            multi_step: false,
            reward_strategy: None,
            artifacts: Vec::new(),
            collect: Vec::new(),
            verifier_environment: None,
            unknown: Vec::new(),
            raw: toml::Table::new(),
        }
    }
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
            mcp_servers: 0,
        }
    }
}

/// `[environment.healthcheck]`; times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Healthcheck {
    /// The shell command that has to succeed.
    pub command: String,
    /// Between two tries; 5 when not given.
    pub interval: f64,
    /// Of one try; 30 when not given.
    pub timeout: f64,
    /// During which failures do not count; 0 when not given.
    pub start_period: f64,
    /// Between two tries within the start period; 5 when not given.
    pub start_interval: f64,
    /// Failures in a row that make it unhealthy; 3 when not given.
    pub retries: u64,
}

/// What network a task asks for.
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

/// Where the verifier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifierMode {
    /// Where the agent worked; the format's default.
    #[default]
    Shared,
    /// In an environment of its own that gets only the artifacts.
    Separate,
}
