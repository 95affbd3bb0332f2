//! A trial that was executed elsewhere, as read from its files.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_model::Usage;
use assay_store::{AgentLabel, Cause, ConditionRole, KnownSkills, Outcome, Seconds, StepRecord};
use assay_trace::Ended;
use serde_json::Value;

use super::condition::ConditionEvidence;
use super::exception::{self, Meaning};
use super::tasks_beside::TaskBeside;
use super::times::Time;
use crate::run::verifier::Reward;

/// A task's or an agent's name is cut here.
const NAME: usize = 200;

/// A reason is cut here.
const REASON: usize = 300;

/// The contents of a trial's files.
#[derive(Debug)]
pub(super) struct ForeignTrial {
    /// The program that executed it.
    pub(super) by: Origin,
    /// Its uuid, or the digest of result.json.
    pub(super) source: String,
    pub(super) task: String,
    pub(super) task_digest: String,
    pub(super) agent: AgentLabel,
    pub(super) sandbox: String,
    pub(super) started: Option<Time>,
    pub(super) finished: Option<Time>,
    pub(super) seconds: Seconds,
    pub(super) usage: Option<Usage>,
    /// Whether it does not say how much of the prompt a cache answered.
    pub(super) cache_unknown: bool,
    pub(super) cost_usd: Option<f64>,
    pub(super) evidence: ConditionEvidence,
    pub(super) reward: Option<Reward>,
    pub(super) ctrf: Option<Value>,
    pub(super) outcome: ForeignOutcome,
    pub(super) tampered: Vec<String>,
    pub(super) ended: Option<Ended>,
    /// Whether the reward was read after the agent's deadline, with its processes still running.
    pub(super) late: bool,
    /// Its steps, if it has several.
    pub(super) steps: Vec<StepRecord>,
    /// The skills it was given, name to digest.
    pub(super) skills: BTreeMap<String, String>,
    /// Where those came from, name to path, as the job states it.
    pub(super) skill_sources: BTreeMap<String, String>,
    /// The path of its task, as the job states it.
    pub(super) task_path: Option<String>,
    /// What the task's folder says, if it was found beside the job.
    pub(super) beside: Arc<TaskBeside>,
    /// Tokens of the bodies of `skills` together, if all were found beside the job.
    pub(super) skill_tokens: Option<usize>,
}

impl ForeignTrial {
    /// The skills that it had under a condition of a role, as far as its job and its task's folder say.
    pub(super) fn known_skills(&self, role: ConditionRole) -> KnownSkills {
        if !self.skills.is_empty() {
            return KnownSkills { number: Some(self.skills.len()), body_tokens: self.skill_tokens };
        }
        match role {
            ConditionRole::None => KnownSkills { number: Some(0), body_tokens: Some(0) },
            ConditionRole::Curated => self.beside.all_skills().unwrap_or_default(),
            _ => KnownSkills::default(),
        }
    }
}

/// The program that executed imported trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// Harbor.
    Harbor,
    /// BenchFlow.
    BenchFlow,
}

impl Origin {
    /// The name in a trial's identity and in runs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Harbor => "harbor",
            Self::BenchFlow => "benchflow",
        }
    }
}

/// The outcome.
#[derive(Debug, PartialEq)]
pub(super) enum ForeignOutcome {
    /// A record's outcome, with cause and reason.
    Of(Outcome, Option<Cause>, Option<String>),
    /// It was cancelled.
    Cancelled(String),
}

/// A number that can be an amount.
pub(super) fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(Value::as_f64).filter(|number| number.is_finite() && *number >= 0.0)
}

/// A nonempty string, truncated.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let text: String = value?.as_str()?.trim().chars().take(NAME).collect();
    (!text.is_empty()).then_some(text)
}

/// A kind of sandbox as a word.
pub(super) fn plain(kind: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    kind.chars().take(40).map(plain).collect()
}

/// An exception: its class and its message.
pub(super) struct Exception {
    pub(super) class: String,
    pub(super) message: String,
    /// Whether the program that raised it calls the reward valid, if it says so.
    pub(super) is_valid: Option<bool>,
}

impl Exception {
    /// Its meaning for the trial, with the ends of the agent's logs.
    pub(super) fn meaning(&self, logs: &[String]) -> Meaning {
        exception::meaning(&self.class, &self.message, logs, self.is_valid)
    }

    /// Why, for the record.
    pub(super) fn reason(&self) -> String {
        let said: String = exception::summary(&self.message).chars().take(REASON).collect();
        if said.is_empty() { self.class.clone() } else { format!("{}: {said}", self.class) }
    }
}
