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
    /// An experiment that is ready to run.
    Experiment,
}

impl DraftStage {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Directives => "directives",
            Self::Probe => "probe",
            Self::Ideas => "ideas",
            Self::Tasks => "tasks",
            Self::Validation => "validation",
            Self::Solvers => "solvers",
            Self::Experiment => "experiment",
        }
    }
}
