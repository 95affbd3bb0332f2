//! Limits that both an experiment and a task can set: the effective one, and its source.

use serde::Serialize;

/// Who stated a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The experiment, which overrides the task.
    Experiment,
    /// The task.
    Task,
    /// A built-in default.
    Default,
}

/// An effective limit and its source.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Limit<T> {
    /// The effective value.
    pub value: T,
    /// Who stated it.
    pub source: LimitSource,
    /// The task's value, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<T>,
}

impl<T: Copy + PartialEq> Limit<T> {
    /// An explicit limit of the experiment wins over the task's, in either direction.
    pub fn choose(experiment: Option<T>, task: Option<T>, default: T) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiment_limits_override_task_limits_and_defaults() {
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
