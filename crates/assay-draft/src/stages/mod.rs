//! The stages of a draft, in their order.

use serde::{Deserialize, Serialize};

/// A stage of a draft. Each writes files, which the next one reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DraftStage {
    /// What the skill requires of an environment.
    Needs,
    /// What the skill tells an agent.
    Directives,
    /// What the model that is to be measured does without the skill.
    Probe,
    /// Ideas of tasks.
    Ideas,
    /// Task folders.
    Tasks,
    /// Checks in the sandbox, and repairs.
    Validation,
    /// Attempts of another model.
    Solvers,
    /// An attempt of the model that is to be measured without the skill, and one with it.
    Pilot,
    /// An experiment that is ready to run.
    Experiment,
}

impl DraftStage {
    /// All stages, in their order.
    pub const ALL: [Self; 9] = [
        Self::Needs,
        Self::Directives,
        Self::Probe,
        Self::Ideas,
        Self::Tasks,
        Self::Validation,
        Self::Solvers,
        Self::Pilot,
        Self::Experiment,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.described().0
    }

    /// What it finds or makes, and the files that it writes, on one line.
    pub fn summary(self) -> &'static str {
        self.described().1
    }

    fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Needs => ("needs", "What the skill requires of an environment: needs.json"),
            Self::Directives => ("directives", "What the skill tells an agent: directives.json"),
            Self::Probe => {
                ("probe", "What the model that is to be measured does without the skill: probe.json")
            }
            Self::Ideas => ("ideas", "Ideas of tasks: ideas.json"),
            Self::Tasks => ("tasks", "Task folders: tasks/"),
            Self::Validation => (
                "validation",
                "Checks in the sandbox and repairs: validation.json, infeasible.json, pilot.toml",
            ),
            Self::Solvers => ("solvers", "Attempts of another model: solver.toml, solvers.json"),
            Self::Pilot => ("pilot", "Attempts of the model to be measured: attempts.toml, attempts.json"),
            Self::Experiment => {
                ("experiment", "An experiment that is ready to run: experiment.toml, reviews/")
            }
        }
    }
}
