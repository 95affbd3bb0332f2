//! `task.toml`, typed.

mod environment;
mod grading;
mod mcp;
mod metadata;
mod phases;
mod read;
mod section;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use environment::{EnvironmentConfig, Healthcheck, NetworkWish, VerifierMode};
pub use grading::{Artifact, Collect};
pub use mcp::McpServer;
pub(crate) use metadata::{Metadata, metadata, object};
pub(crate) use read::{Parsed, parse};
pub use steps::{RewardStrategy, StepConfig};

use self::environment::DEFAULT_SECONDS;

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
