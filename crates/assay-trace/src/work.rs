//! How an agent was given skills, and why it stopped: values in plans and records.

use serde::{Deserialize, Serialize};

/// How skills are made known to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disclosure {
    /// They are in its catalogue; it has to notice.
    #[default]
    Offered,
    /// The instruction says that they were installed for this task.
    Told,
    /// Their bodies are in its context from the start.
    Eager,
}

impl Disclosure {
    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Told => "told",
            Self::Eager => "eager",
        }
    }
}

/// Where an agent finds skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In the folder that the harness searches; the harness decides what the model sees of them.
    #[default]
    Native,
    /// In a system prompt, added by the means that the harness documents: the same words for every
    /// agent.
    System,
}

impl Placement {
    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::System => "system",
        }
    }
}

/// Why an agent stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ended {
    /// It reported that it is done.
    Finished,
    /// It used up its turns.
    TurnLimit,
    /// It used up its tokens.
    TokenLimit,
    /// It used up its money.
    CostLimit,
    /// Its conversation grew longer than its model's context.
    ContextLimit,
    /// It detected that it was repeating the same step, and stopped.
    LoopDetected,
    /// It passed the limit of memory or disk.
    ResourceLimit {
        /// Which.
        limit: String,
    },
    /// Its time was over.
    Deadline,
    /// The run was interrupted.
    Cancelled,
    /// The infrastructure broke; this says nothing about the agent.
    Broken {
        /// What.
        part: Part,
        /// How.
        message: String,
    },
}

/// What can break outside the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The sandbox.
    Sandbox,
    /// The provider of its model.
    ModelProvider,
    /// The agent's own set-up.
    AgentSetup,
    /// The run's budget, which was spent before the agent was done.
    Budget,
}
