//! The judges of trials whose task has a rubric.

use assay_trace::Price;
use serde::{Deserialize, Serialize};

/// `[judge]` of an experiment: who judges what an agent left, and by what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeSpec {
    /// The models, each `provider:model`. Several are a panel: the majority counts.
    pub models: Vec<JudgeModel>,
    /// How they are asked.
    #[serde(default)]
    pub mode: JudgeMode,
    /// Answers of each model to each item.
    pub repeats: u32,
    /// What they see, in order.
    pub material: Vec<JudgeInput>,
    /// Most replies of a judge that is an agent, for one request.
    pub max_turns: usize,
    /// Seconds for one answer, retries included.
    pub timeout: f64,
    /// Counts judgements of the same work by the same judges: 0 for that of the run, and one more each time it is
    /// judged again.
    #[serde(default, skip_serializing_if = "is_first")]
    pub pass: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_first(pass: &u32) -> bool {
    *pass == 0
}

/// A model that judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeModel {
    /// `provider:model`.
    pub model: String,
    /// Its address, instead of its provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// A name for the server, in place of its address, in what identifies judgments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The environment variable with the key, instead of the provider's usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// USD for a million tokens; without it costs are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// How a judge is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgeMode {
    /// One request with the material in it.
    #[default]
    Call,
    /// As an agent with a shell, on a read-only copy of the material.
    Agent,
}

impl JudgeMode {
    /// The word in files and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Agent => "agent",
        }
    }
}

/// What a judge sees of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgeInput {
    /// The agent's last message.
    Answer,
    /// The files in the work folder: those that the agent created or changed first.
    Workspace,
    /// The work folder before and after.
    Diff,
    /// What the agent did and read. It shows whether the agent had a skill.
    Trajectory,
}

impl JudgeInput {
    /// The word in files and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Workspace => "workspace",
            Self::Diff => "diff",
            Self::Trajectory => "trajectory",
        }
    }
}
