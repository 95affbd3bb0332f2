//! Limits that both an experiment and a task can set: the effective one, and its source.

use assay_store::{AgentSpec, Limit};
use assay_task::TaskConfig;

use crate::Experiment;

/// Seconds of an agent's own time if neither experiment nor task states any.
const DEFAULT_SECONDS: f64 = 600.0;

/// Bytes of memory where neither states any: room for a compiler or a data frame.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// Seconds of the agent's own time.
pub(crate) fn agent_seconds(spec: &AgentSpec, task: &TaskConfig) -> Limit<f64> {
    Limit::choose(spec.timeout, task.agent_timeout, DEFAULT_SECONDS)
}

/// The same in each step of a task: what the experiment states is for every step.
pub(crate) fn step_seconds(spec: &AgentSpec, task: &TaskConfig) -> Vec<f64> {
    let each = task.steps.iter().map(|step| step.agent_timeout.or(task.agent_timeout));
    each.map(|own| Limit::choose(spec.timeout, own, DEFAULT_SECONDS).value).collect()
}

/// Bytes of memory of a task's sandboxes.
pub(crate) fn memory_bytes(experiment: &Experiment, task: &TaskConfig) -> Limit<u64> {
    Limit::choose(experiment.memory_bytes, task.environment.memory_bytes, DEFAULT_MEMORY)
}
