//! `task.toml`, typed.

mod grading;
mod mcp;
mod metadata;
mod read;
mod section;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

pub use grading::{Artifact, Collect};
pub use mcp::McpServer;
pub(crate) use metadata::{Metadata, metadata, object};
pub(crate) use read::{Parsed, parse};
pub use steps::{RewardStrategy, StepConfig};

/// The format's default for the verifier and for building, in seconds.
const DEFAULT_SECONDS: f64 = 600.0;

/// The content of `task.toml`, or its equivalent for a task without one. Values with `${VAR}` are
/// kept as written: the caller expands what it allows.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskConfig {
    /// `schema_version`, or `version` in old files.
    pub schema_version: Option<String>,
    /// `[task] name`, as written.
    pub name: Option<String>,
    /// `[agent] timeout_sec`: seconds; `None` means no limit.
    pub agent_timeout: Option<f64>,
    /// `[agent] user`: a name or a number.
    pub agent_user: Option<String>,
    /// `[agent] network_mode`, if the agent's phase differs from the environment.
    pub agent_network: Option<NetworkWish>,
    /// `[verifier] timeout_sec`: seconds; default 600.
    pub verifier_timeout: f64,
    /// `[verifier] env`.
    pub verifier_env: BTreeMap<String, String>,
    /// `[verifier] user`: a name or a number.
    pub verifier_user: Option<String>,
    /// `[verifier] network_mode`, if the verifier's phase differs from the environment.
    pub verifier_network: Option<NetworkWish>,
    /// `[verifier] environment_mode`; separate also if there is a `[verifier.environment]`.
    pub verifier_mode: VerifierMode,
    /// `[environment]`.
    pub environment: EnvironmentConfig,
    /// `[solution] env`, for the oracle only.
    pub solution_env: BTreeMap<String, String>,
    /// `[metadata]` as written: difficulty, category, tags and any other keys.
    pub metadata: toml::Table,
    /// `[[steps]]`; empty for a task that is done in one go.
    pub steps: Vec<StepConfig>,
    /// `multi_step_reward_strategy`.
    pub reward_strategy: RewardStrategy,
    /// `artifacts`.
    pub artifacts: Vec<Artifact>,
    /// `[[verifier.collect]]`.
    pub collect: Vec<Collect>,
    /// `[verifier.environment]`: the verifier's environment, if it is not the agent's image.
    pub verifier_environment: Option<EnvironmentConfig>,
    /// Unknown keys, dotted, sorted. Their values are in `raw`.
    pub unknown: Vec<String>,
    /// The complete file as written.
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
            steps: Vec::new(),
            reward_strategy: RewardStrategy::Mean,
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
