//! `[[steps]]`: what is particular to each step of a task.

use std::collections::{BTreeMap, BTreeSet};

use super::environment::{EnvironmentConfig, Healthcheck, NetworkWish, VerifierMode};
use super::grading::{self, Artifact, Collect};
use super::phases::{Verifier, healthcheck, phase, verifier};
use super::section::{Item, Section, Source};
use crate::TaskError;

/// Most steps of a task.
const MOST: usize = 100;

/// One of `[[steps]]`. What a step does not set is the task's.
#[derive(Debug, Clone, PartialEq)]
pub struct StepConfig {
    /// The name, and that of its folder below `steps/`. Unique, also if case is ignored.
    pub name: String,
    /// `agent.timeout_sec`: seconds.
    pub agent_timeout: Option<f64>,
    /// `agent.user`.
    pub agent_user: Option<String>,
    /// `agent.network_mode`.
    pub agent_network: Option<NetworkWish>,
    /// `verifier.timeout_sec`: seconds.
    pub verifier_timeout: Option<f64>,
    /// `verifier.env`, in addition to the task's.
    pub verifier_env: BTreeMap<String, String>,
    /// `verifier.user`.
    pub verifier_user: Option<String>,
    /// `verifier.network_mode`.
    pub verifier_network: Option<NetworkWish>,
    /// `verifier.environment_mode`.
    pub verifier_mode: Option<VerifierMode>,
    /// `verifier.environment`.
    pub verifier_environment: Option<EnvironmentConfig>,
    /// `verifier.collect`, in addition to the task's.
    pub collect: Vec<Collect>,
    /// `min_reward`: the least value of each key of the reward with which the next step is run. A
    /// plain number is for the key `reward`.
    pub min_reward: BTreeMap<String, f64>,
    /// `healthcheck`, before the agent starts.
    pub healthcheck: Option<Healthcheck>,
    /// `artifacts`, in addition to the task's.
    pub artifacts: Vec<Artifact>,
}

/// How the reward of a task with steps follows from those of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RewardStrategy {
    /// `mean`: the mean of every key over the steps that were graded, where a missing key is 0; the
    /// format's default.
    #[default]
    Mean,
    /// `final`: that of the last step that was graded.
    Final,
}

/// `steps` of the file.
pub(super) fn steps(source: &mut Source<'_>, root: &mut Section<'_>) -> Result<Vec<StepConfig>, TaskError> {
    let mut found: Vec<StepConfig> = Vec::new();
    let mut names = BTreeSet::new();
    for item in root.items(source, "steps")? {
        let mut table = match item {
            Item::Table(table) => table,
            Item::Text(_, span) => {
                return Err(source.error(&span, "a step is not a table", "write `[[steps]]` with a `name`"));
            }
        };
        let span = table.span().clone();
        let name = table.string(source, "name")?;
        let Some(name) = name.filter(|name| is_folder_name(name)) else {
            let hint = "write the name of the step's folder below `steps/`, such as \"implement\"";
            return Err(source.error(&span, "a step without a `name` that can be a folder's", hint));
        };
        if !names.insert(name.to_lowercase()) {
            let message = format!("two steps are called {}", assay_diagnostic::escape(&name));
            return Err(source.error(&span, message, "give every step its own name"));
        }
        if found.len() == MOST {
            return Err(source.error(
                &span,
                format!("more than {MOST} steps"),
                "split the task into several",
            ));
        }
        let agent = phase(source, &mut table, "agent")?;
        let Verifier { phase: own, env, mode, collect, environment } = verifier(source, &mut table)?;
        found.push(StepConfig {
            name,
            agent_timeout: agent.timeout,
            agent_user: agent.user,
            agent_network: agent.network,
            verifier_timeout: own.timeout,
            verifier_env: env,
            verifier_user: own.user,
            verifier_network: own.network,
            verifier_mode: mode,
            verifier_environment: environment,
            collect,
            min_reward: table.thresholds(source, "min_reward", "reward")?,
            healthcheck: healthcheck(source, &mut table)?,
            artifacts: grading::artifacts(source, &mut table)?,
        });
        table.finish(source);
    }
    Ok(found)
}

/// `multi_step_reward_strategy` of the file.
pub(super) fn strategy(source: &mut Source<'_>, root: &mut Section<'_>) -> Result<RewardStrategy, TaskError> {
    let Some(value) = root.take_value("multi_step_reward_strategy") else {
        return Ok(RewardStrategy::default());
    };
    match value.get_ref().as_str() {
        Some("mean") => Ok(RewardStrategy::Mean),
        Some("final") => Ok(RewardStrategy::Final),
        _ => Err(source.error(
            &value.span(),
            "`multi_step_reward_strategy` is neither `mean` nor `final`",
            "write \"mean\" or \"final\"",
        )),
    }
}

/// Whether a name can be that of a folder on every system.
fn is_folder_name(name: &str) -> bool {
    let is_odd =
        |c: char| c.is_control() || matches!(c, '/' | '\\' | '<' | '>' | ':' | '"' | '|' | '?' | '*');
    !name.trim().is_empty() && name.len() <= 255 && !name.ends_with(['.', ' ']) && !name.contains(is_odd)
}
