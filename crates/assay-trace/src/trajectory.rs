//! The Agent Trajectory Interchange Format, version 1.7, with text as content: images and sounds
//! are named and not kept.

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
    /// Unique within the file; each sub-agent has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// Who ran.
    pub agent: AgentInfo,
    /// In order; `step_id` counts from 1.
    pub steps: Vec<Step>,
    /// Notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Sums over the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_metrics: Option<FinalMetrics>,
    /// The file in which it continues, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_trajectory_ref: Option<String>,
    /// Other fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// Agents that this one started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagent_trajectories: Vec<Trajectory>,
}

/// Who ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// The harness: `loop`, `oracle`, `claude-code`, …
    pub name: String,
    /// Its version.
    pub version: String,
    /// `provider:model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// The tools that it advertised to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_definitions: Vec<Value>,
    /// Other fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
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

/// One message, with its calls and their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub step_id: usize,
    /// ISO 8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Who spoke.
    pub source: Source,
    /// The model, if it is not the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// A word or a number, as the agent has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Value>,
    /// The text of the message.
    pub message: String,
    /// The model's reasoning, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The results of the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    /// Tokens of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// Whether the step was taken over from an earlier trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_copied_context: Option<bool>,
    /// How often the model was called for it; 0 if a program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_call_count: Option<u64>,
    /// Other fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// A call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the trajectory.
    pub tool_call_id: String,
    /// The tool's name.
    pub function_name: String,
    /// As the model gave them.
    pub arguments: Value,
    /// Other fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// A call with these arguments.
    pub(crate) fn new(id: &str, name: &str, arguments: Value) -> Self {
        Self { tool_call_id: id.to_owned(), function_name: name.to_owned(), arguments, extra: Map::new() }
    }
}

/// The results of a step's calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// In the order of the calls.
    pub results: Vec<ObservationResult>,
}

/// What one call gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservationResult {
    /// The call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_call_id: Option<String>,
    /// The result, as the model saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The sub-agents that the call started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagent_trajectory_ref: Vec<SubagentRef>,
    /// Exit status and the like; `is_error` if the agent's log says that the call failed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ObservationResult {
    /// A call's result, from its text.
    pub(crate) fn new(content: Option<String>) -> Self {
        Self { content, ..Self::default() }
    }
}

/// Where a sub-agent's trajectory is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubagentRef {
    /// In `subagent_trajectories`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_path: Option<String>,
    /// Other fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Tokens of a turn, in ATIF's fields: `prompt_tokens` includes cached tokens.
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
    /// In USD, if the agent gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
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
    /// Other fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Trajectory {
    /// The format written here.
    pub const SCHEMA: &str = "ATIF-v1.7";

    /// One without steps.
    pub fn new(agent: AgentInfo) -> Self {
        Self {
            schema_version: Self::SCHEMA.to_owned(),
            session_id: None,
            trajectory_id: None,
            agent,
            steps: Vec::new(),
            notes: None,
            final_metrics: None,
            continued_trajectory_ref: None,
            extra: Map::new(),
            subagent_trajectories: Vec::new(),
        }
    }

    /// Adds a message, and returns its step for filling in.
    pub fn add_step(&mut self, source: Source, message: impl Into<String>) -> &mut Step {
        let step_id = self.steps.len() + 1;
        self.steps.push(Step::new(step_id, source, message));
        self.steps.last_mut().expect("a step was just pushed")
    }

    /// How many turns the model had.
    pub fn turns(&self) -> usize {
        self.steps.iter().filter(|step| step.source == Source::Agent).count()
    }
}

impl Step {
    /// A step with a message and no calls.
    pub fn new(step_id: usize, source: Source, message: impl Into<String>) -> Self {
        Self {
            step_id,
            timestamp: None,
            source,
            model_name: None,
            reasoning_effort: None,
            message: message.into(),
            reasoning_content: None,
            tool_calls: Vec::new(),
            observation: None,
            metrics: None,
            is_copied_context: None,
            llm_call_count: None,
            extra: Map::new(),
        }
    }

    /// The provider's name of the message, if the log has one.
    pub fn message_id(&self) -> Option<&str> {
        self.extra.get("message_id").and_then(Value::as_str)
    }

    /// Whether the harness put the message there, and not the person or the task: a skill's body, a
    /// reminder, a summary.
    pub fn is_injected(&self) -> bool {
        self.source == Source::System
            || self.extra.get("injected").and_then(Value::as_bool).unwrap_or_default()
    }

    /// The result of a call of this step.
    pub fn result_of(&self, call: &str) -> Option<&ObservationResult> {
        let results = self.observation.as_ref().map(|observation| observation.results.as_slice());
        results?.iter().find(|result| result.source_call_id.as_deref() == Some(call))
    }
}

impl ObservationResult {
    /// Whether the call failed, if the log says so: by its flag, or by an exit status other than 0.
    pub fn failed(&self) -> Option<bool> {
        if let Some(flag) = self.extra.get("is_error").and_then(Value::as_bool) {
            return Some(flag);
        }
        self.extra.get("exit_code").and_then(Value::as_i64).map(|status| status != 0)
    }
}
