//! The Agent Trajectory Interchange Format, version 1.7, without the parts assay does not write (images, sub-agents).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One agent's run, step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// `ATIF-v1.7`.
    pub schema_version: String,
    /// Unique to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Who ran.
    pub agent: AgentInfo,
    /// In order; `step_id` counts from 1.
    pub steps: Vec<Step>,
    /// Sums over the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_metrics: Option<FinalMetrics>,
    /// What has no place elsewhere.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Who ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// The harness: `loop`, `oracle`, `claude-code`, …
    pub name: String,
    /// Its version.
    pub version: String,
    /// `provider:model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
}

/// Who spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The harness.
    System,
    /// The task.
    User,
    /// The model.
    Agent,
}

/// One message, with the calls it made and what they gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub step_id: usize,
    /// ISO 8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Who spoke.
    pub source: Source,
    /// What was said.
    pub message: String,
    /// The model's reasoning, where it gave any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// What was called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What the calls gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    /// Tokens of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// What has no place elsewhere.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the trajectory.
    pub tool_call_id: String,
    /// Of the tool.
    pub function_name: String,
    /// As the model gave them.
    pub arguments: Value,
}

/// What the calls of a step gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// In the order of the calls.
    pub results: Vec<ObservationResult>,
}

/// What one call gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservationResult {
    /// The call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_call_id: Option<String>,
    /// What it gave, as the model saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Exit status and the like.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Tokens of a turn, in ATIF's fields: `prompt_tokens` includes what was cached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Read, cached or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// The provider's own figures, as they were sent.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Sums over a trajectory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalMetrics {
    /// Read, cached or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_prompt_tokens: Option<u64>,
    /// Written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_completion_tokens: Option<u64>,
    /// Read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cached_tokens: Option<u64>,
    /// In USD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    /// How many.
    pub total_steps: usize,
}

impl Trajectory {
    /// The format written here.
    pub const SCHEMA: &str = "ATIF-v1.7";

    /// One without steps.
    pub fn new(agent: AgentInfo) -> Self {
        Self {
            schema_version: Self::SCHEMA.to_owned(),
            session_id: None,
            agent,
            steps: Vec::new(),
            final_metrics: None,
            extra: Map::new(),
        }
    }

    /// Adds a message, and gives its step for filling in.
    pub fn say(&mut self, source: Source, message: impl Into<String>) -> &mut Step {
        let step_id = self.steps.len() + 1;
        self.steps.push(Step {
            step_id,
            timestamp: None,
            source,
            message: message.into(),
            reasoning_content: None,
            tool_calls: Vec::new(),
            observation: None,
            metrics: None,
            extra: Map::new(),
        });
        self.steps.last_mut().expect("a step was just pushed")
    }

    /// How many turns the model had.
    pub fn turns(&self) -> usize {
        self.steps.iter().filter(|step| step.source == Source::Agent).count()
    }
}
