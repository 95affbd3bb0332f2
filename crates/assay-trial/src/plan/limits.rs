//! Limits that an experiment and a task can both state: which one holds, and who stated it.

use assay_task::TaskConfig;
use serde::Serialize;

use crate::{AgentSpec, Experiment, Plan};

/// Seconds of an agent's own time where neither experiment nor task states any.
const DEFAULT_SECONDS: f64 = 600.0;

/// Bytes of memory where neither states any: room for a compiler or a data frame.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// Who stated a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The experiment, which overrides the task.
    Experiment,
    /// The task.
    Task,
    /// Nobody.
    Default,
}

/// A limit that holds, and what it comes from.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Limit<T> {
    /// What holds.
    pub value: T,
    /// Who stated it.
    pub source: LimitSource,
    /// What the task states, where that is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<T>,
}

impl<T: Copy + PartialEq> Limit<T> {
    /// An explicit limit of the experiment wins over the task's, in either direction.
    fn choose(experiment: Option<T>, task: Option<T>, default: T) -> Self {
        match (experiment, task) {
            (Some(value), task) => Self {
                value,
                source: LimitSource::Experiment,
                overrides: task.filter(|stated| *stated != value),
            },
            (None, Some(value)) => Self { value, source: LimitSource::Task, overrides: None },
            (None, None) => Self { value: default, source: LimitSource::Default, overrides: None },
        }
    }
}

/// Seconds of the agent's own time.
pub(crate) fn agent_seconds(spec: &AgentSpec, task: &TaskConfig) -> Limit<f64> {
    Limit::choose(spec.timeout, task.agent_timeout, DEFAULT_SECONDS)
}

/// Bytes of memory of a task's sandboxes.
pub(crate) fn memory_bytes(experiment: &Experiment, task: &TaskConfig) -> Limit<u64> {
    Limit::choose(experiment.memory_bytes, task.environment.memory_bytes, DEFAULT_MEMORY)
}

/// The limits of one agent on one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskLimits {
    /// The agent, counted from 0 in the experiment's order.
    #[serde(skip)]
    pub agent: usize,
    /// The task.
    pub task: String,
    /// Seconds of the agent's own time.
    pub agent_seconds: Limit<f64>,
    /// Bytes of memory.
    pub memory_bytes: Limit<u64>,
}

impl Plan {
    /// The limits that hold, for every agent and every task with a cell.
    pub fn limits(&self) -> Vec<TaskLimits> {
        let planned: std::collections::BTreeSet<&str> =
            self.cells.iter().map(|cell| cell.task.as_str()).collect();
        let tasks = || self.tasks.iter().filter(|task| planned.contains(task.name.as_str()));
        self.roster
            .iter()
            .enumerate()
            .flat_map(|(agent, entry)| {
                tasks().map(move |task| TaskLimits {
                    agent,
                    task: task.name.clone(),
                    agent_seconds: agent_seconds(&entry.spec, &task.config),
                    memory_bytes: memory_bytes(&self.experiment, &task.config),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiment_wins_over_the_task_and_both_over_the_default() {
        let check = |experiment, task, value, source, overrides| {
            assert_eq!(Limit::choose(experiment, task, 600), Limit { value, source, overrides });
        };
        check(Some(900), Some(60), 900, LimitSource::Experiment, Some(60));
        check(Some(10), Some(60), 10, LimitSource::Experiment, Some(60));
        check(Some(60), Some(60), 60, LimitSource::Experiment, None);
        check(Some(10), None, 10, LimitSource::Experiment, None);
        check(None, Some(3600), 3600, LimitSource::Task, None);
        check(None, None, 600, LimitSource::Default, None);
    }
}
