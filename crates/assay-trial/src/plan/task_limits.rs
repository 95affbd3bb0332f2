//! The limits of the tasks of a plan.

use assay_store::TaskLimits;

use super::Plan;
use super::limits::{agent_seconds, memory_bytes};

impl Plan {
    /// The effective limits for every agent and every task with a cell.
    pub fn limits(&self) -> Vec<TaskLimits> {
        let planned: std::collections::BTreeSet<&str> =
            self.cells.iter().map(|cell| cell.task.as_str()).collect();
        let tasks = || self.tasks.iter().filter(|task| planned.contains(task.name.as_str()));
        self.agents
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
