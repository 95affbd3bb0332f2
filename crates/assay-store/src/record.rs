//! The record of a trial, from which all figures of a report are computed.

use std::collections::BTreeMap;

use assay_trace::{Ended, Exposure};
use assay_usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::identity::TrialId;
use crate::judgement::Judgement;
use crate::origin::{ImportedFrom, Signature};
use crate::sandbox::{Enforcement, SandboxUsage};
use crate::score::{Outcome, score};
use crate::seconds::Seconds;
use crate::step_record::StepRecord;

/// The result of one trial, written last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `assay.record/3`.
    pub schema: String,
    /// The trial's id.
    pub trial: TrialId,
    /// The task's name.
    pub task: String,
    /// The agent.
    pub agent: AgentLabel,
    /// The kind of sandbox.
    pub sandbox: String,
    /// Under which condition it was first planned. Another condition with equal provision shares
    /// the trial.
    pub condition: String,
    /// From 1.
    pub repetition: u32,
    /// The outcome.
    pub outcome: Outcome,
    /// The cause of an infrastructure error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// An explanation, if the outcome needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the reward was read after the agent's deadline, with its processes still running.
    /// Earlier versions state this only at the beginning of `reason`; see [`Record::parse`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The verifier's reward; the mean over keys if there are several.
    pub reward: Option<f64>,
    /// Every key of reward.json.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rewards: BTreeMap<String, f64>,
    /// Numbers that are no part of the score: columns of an imported table, and keys of the reward
    /// file that the experiment declares as metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// The verifier's tests, if it wrote a CTRF report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ctrf: Option<Value>,
    /// The judge's verdicts, if the task has a rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Why the agent stopped; absent when it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Replies of the model; `null` if unknown, as in imported trials without a transcript.
    pub turns: Option<usize>,
    /// Tokens; `null` if unknown.
    pub usage: Option<Usage>,
    /// Whether it is unknown how much of the prompt a cache answered: `usage.input` is then the whole
    /// prompt, and the counts of the cache mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_unknown: bool,
    /// In USD; `null` if there is no price.
    pub cost_usd: Option<f64>,
    /// How much of `usage` and `cost_usd` is an estimate; absent if the provider counted
    /// everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// The server of the model, as the experiment declared it: a name, or an address in its normal form. `None`
    /// without a model, for scripts, and if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The models named in the provider's replies, with the number of replies; absent if it names
    /// none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replied_models: BTreeMap<String, u64>,
    /// Its duration, by phase.
    pub seconds: Seconds,
    /// The exposure of each offered skill; `null` if unknown: the agent never started, or nobody
    /// observed an imported trial.
    pub exposure: Option<Vec<Exposure>>,
    /// Whether the text that the condition adds to the prompt was in what the model was sent; absent if the condition adds
    /// none, and if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_sent: Option<bool>,
    /// The skills that the agent wrote, where its condition asks for some; absent for other trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Vec<GeneratedSkill>>,
    /// Skill texts of the experiment that were in the sandbox although they were not provided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contaminated: Vec<String>,
    /// Changes of the agent that control interpreters or test runners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<String>,
    /// What differs from the image outside the work folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// In which environment the work was graded; absent without a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier_environment: Option<VerifierEnvironment>,
    /// Why it is the agent's own container, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_because: Option<KeptBecause>,
    /// Paths of the task's own skills, as its Dockerfile bakes them in: given only to the oracle,
    /// whose solution may need them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_skills: Vec<String>,
    /// What the task requested and this machine could not provide, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What of the trial's evidence was not kept; absent if it is unknown: in imported trials, and in those of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The mechanisms that enforced the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
    /// Processor time and memory of the agent's sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<SandboxUsage>,
    /// The gateway's counts, for agents that reach their model through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Metered>,
    /// The task's steps, in order; absent for a task without. The other fields are sums over them,
    /// and what follows from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
    /// Whether the result measures a model.
    pub measures_a_model: bool,
    /// Which attempt this is, from 1. Earlier ones stay on disk.
    pub attempt: u32,
    /// After an infrastructure error, the retries that its run had left: the trial is finally lost when there are none.
    #[serde(default, skip_serializing_if = "no_retries")]
    pub retries_left: u32,
    /// RFC 3339, UTC; `null` if unknown.
    pub started_at: Option<String>,
    /// RFC 3339, UTC; `null` if unknown.
    pub finished_at: Option<String>,
    /// The trial of the agent whose work was judged, if judges decided the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<TrialId>,
    /// Where the result was before, if it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<ImportedFrom>,
    /// The signature of the process that accepted the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// Whether logs, artifacts, differences and skills of an attempt are in its folder as they were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What is not, in the order in which it was found; empty if everything is.
    pub lost: Vec<LostEvidence>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

impl Evidence {
    /// How many files and folders are lost.
    pub fn count(&self) -> u64 {
        (self.lost.len() as u64).saturating_add(self.more)
    }
}

/// A file or folder that was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostEvidence {
    /// Its place in the attempt's folder, escaped.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A skill that an agent wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedSkill {
    /// The name of its folder.
    pub name: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether the agent read it after it had written it: at least half of its distinctive lines were in what
    /// commands printed.
    pub opened: bool,
}

/// Usage that was estimated by characters, because the provider's usage never came or cannot be
/// true. It does not count against caps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// Requests that were estimated, completely or in part.
    pub requests: u64,
    /// Tokens.
    pub usage: Usage,
    /// In USD; `null` if there is no price.
    pub cost_usd: Option<f64>,
}

/// What went through the gateway in one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metered {
    /// Requests that were let through.
    pub requests: u64,
    /// Tokens, read and written, as the provider counted them, or as estimated if it did not.
    pub tokens: u64,
    /// The same by the agent's own transcript, if it has counts.
    pub transcript_tokens: Option<u64>,
    /// Of `tokens`, those that are an estimate.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_tokens: u64,
    /// Of `tokens`, those of side requests, such as titles and summaries: requests without tools
    /// from an agent whose other requests offer tools.
    #[serde(default, alias = "beside_tokens", skip_serializing_if = "is_zero")]
    pub side_request_tokens: u64,
    /// Whether a cassette answered in the provider's place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn no_retries(left: &u32) -> bool {
    *left == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Metered {
    /// Whether the transcript's count equals the gateway's, with or without side requests.
    pub fn agrees(&self) -> bool {
        let own = self.transcript_tokens;
        own == Some(self.tokens)
            || own.map(|own| own.saturating_add(self.side_request_tokens)) == Some(self.tokens)
    }
}

/// How the reason of a record begins whose reward was read late, where `late` was not written yet.
const LATE: &str = "graded after its deadline";

/// Why a text is not a usable record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It has an unsupported schema.
    #[error("unsupported schema {0:?}: this version reads {reads:?}", reads = Record::SCHEMA)]
    Version(String),
    /// It is not a record.
    #[error(transparent)]
    Malformed(#[from] serde_json::Error),
}

#[derive(Deserialize)]
struct Header {
    schema: String,
}

impl Record {
    /// Whether nothing more is to come: the trial counts, or it is finally lost because an infrastructure error used up
    /// the retries of its run. One that a spent budget ended is executed by the next run.
    pub fn is_done(&self) -> bool {
        self.outcome.counts() || self.cause != Some(Cause::Budget) && self.retries_left == 0
    }

    /// The format written here.
    pub const SCHEMA: &str = "assay.record/3";

    /// Earlier formats, which are read too. The exposure of the first has `touched` for `mentioned`,
    /// and `metered` has `beside_tokens` for `side_request_tokens`. In both, 0, an empty list and the
    /// year 1970 stand for what is unknown; see [`Record::forget_defaults`].
    const EARLIER: [&str; 2] = ["assay.record/1", "assay.record/2"];

    /// A record of a first attempt with only trial, task, agent and outcome set.
    pub fn new(trial: TrialId, task: String, agent: AgentLabel, outcome: Outcome) -> Self {
        Self {
            schema: Self::SCHEMA.to_owned(),
            trial,
            task,
            agent,
            sandbox: String::new(),
            condition: String::new(),
            repetition: 1,
            outcome,
            cause: None,
            reason: None,
            late: false,
            reward: None,
            rewards: BTreeMap::new(),
            numbers: BTreeMap::new(),
            ctrf: None,
            judgement: None,
            ended: None,
            turns: None,
            usage: None,
            cache_unknown: false,
            cost_usd: None,
            estimated: None,
            server: None,
            replied_models: BTreeMap::new(),
            seconds: Seconds::default(),
            exposure: None,
            text_sent: None,
            generated: None,
            contaminated: Vec::new(),
            tampered: Vec::new(),
            outside: Vec::new(),
            verifier_environment: None,
            kept_because: None,
            task_skills: Vec::new(),
            warnings: Vec::new(),
            evidence: None,
            enforcement: None,
            used: None,
            metered: None,
            steps: Vec::new(),
            measures_a_model: false,
            attempt: 1,
            retries_left: 0,
            started_at: None,
            finished_at: None,
            work: None,
            imported_from: None,
            signature: None,
        }
    }

    /// Reads a record's text, in this format or an earlier one. The result is in this format.
    ///
    /// A time in an earlier format that stands for an unknown one is `None`. Other values that stand
    /// for unknown ones are kept: only the trial's specification says whether it was imported.
    ///
    /// # Errors
    /// A text that is no record, or one of an unsupported schema.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        Self::parse_any(bytes).map(|(record, _)| record)
    }

    /// As [`Record::parse`], with whether the text is in an earlier format.
    pub(crate) fn parse_any(bytes: &[u8]) -> Result<(Self, bool), RecordError> {
        // What cannot be understood may be so because it is of another version.
        let read = serde_json::from_slice::<Self>(bytes);
        let schema = match &read {
            Ok(record) => Some(record.schema.clone()),
            Err(_) => serde_json::from_slice(bytes).ok().map(|header: Header| header.schema),
        };
        let is_known = |schema: &str| schema == Self::SCHEMA || Self::EARLIER.contains(&schema);
        if let Some(schema) = schema.filter(|schema| !is_known(schema)) {
            return Err(RecordError::Version(schema));
        }
        let mut record = read?;
        let is_earlier = record.schema != Self::SCHEMA;
        if is_earlier {
            for time in [&mut record.started_at, &mut record.finished_at] {
                *time = time.take().filter(|time| !time.is_empty() && !time.starts_with("1970-01-01"));
            }
            record.seconds.forget_zeros();
        }
        Self::SCHEMA.clone_into(&mut record.schema);
        // Of no other record does the reason begin so: that of a trial whose time was over begins
        // with the name of an exception.
        let said = record.reason.as_ref().is_some_and(|reason| reason.starts_with(LATE));
        record.late |= record.outcome == Outcome::TimedOut && said;
        Ok((record, is_earlier))
    }

    /// Makes unknown what the record of an imported trial in an earlier format has as 0 or as an empty
    /// list.
    ///
    /// `is_table` says that a table with a row for each trial was imported, which has no counts of a
    /// cache.
    pub(crate) fn forget_defaults(&mut self, is_table: bool) {
        self.turns = self.turns.filter(|turns| *turns > 0);
        self.exposure = self.exposure.take().filter(|skills| !skills.is_empty());
        self.cache_unknown |= is_table && self.usage.is_some();
    }

    /// The exposure of each offered skill, as far as it is known.
    pub fn skills(&self) -> &[Exposure] {
        self.exposure.as_deref().unwrap_or_default()
    }

    /// Whether the model read any skill; `None` if unknown.
    pub fn has_opened(&self) -> Option<bool> {
        let skills = self.exposure.as_deref()?;
        Some(skills.iter().any(|skill| skill.opened.is_some()))
    }

    /// The cost in USD by the provider's counts, which caps apply to; `None` if there is no price.
    pub fn reported_usd(&self) -> Option<f64> {
        let estimated = self.estimated.and_then(|estimated| estimated.cost_usd).unwrap_or(0.0);
        Some((self.cost_usd? - estimated).max(0.0))
    }

    /// The mean of the trial's rewards, in [0, 1]; `None` if the trial has no result. See [`score`].
    ///
    /// Reports read the outcome value instead, of which this is one kind: see [`crate::RunOutcomes`].
    pub fn score(&self) -> Option<f64> {
        score(self.outcome, self.reward, self.rewards.values().copied())
    }
}

/// An agent with its version and model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentLabel {
    /// The harness.
    pub name: String,
    /// Its version.
    pub version: String,
    /// `provider:model`.
    pub model: Option<String>,
}

/// The cause of an infrastructure error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The image or root filesystem.
    Image,
    /// The sandbox.
    Sandbox,
    /// The agent's set-up: a missing key, an unknown model, a script without a turn.
    AgentSetup,
    /// The provider of its model.
    ModelProvider,
    /// The verifier: no reward, an unreadable one, no end.
    Verifier,
    /// The judge of the rubric: no answer, or one that cannot be read. The agent's work is kept, and judged by the next
    /// run without another trial.
    Judge,
    /// assay itself, or the disk under it.
    Harness,
    /// The run's budget was spent during the trial: the next run executes it again.
    Budget,
    /// The agent's work passes only with what it changed outside its work folders.
    Environment,
}

/// In which environment the work of an agent in a container is graded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifierEnvironment {
    /// The image as it was, with the work folders as the agent left them.
    Restored,
    /// The agent's own container, in which the image's files of the system's folders were put back.
    Kept,
}

/// Why the work of an agent in a container is graded in the agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptBecause {
    /// The task's oracle does not get the full reward in a restored one.
    Oracle,
    /// The task has no solution that could show that work can be graded in a restored one.
    NoSolution,
    /// A step starts with everything that the one before has left.
    Steps,
}

impl KeptBecause {
    /// The reason, after "because".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Oracle => "the oracle does not get the full reward in a restored one",
            Self::NoSolution => "the task has no solution",
            Self::Steps => "the task has several steps",
        }
    }
}

impl VerifierEnvironment {
    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Kept => "kept",
        }
    }
}

impl Cause {
    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Sandbox => "sandbox",
            Self::AgentSetup => "agent_setup",
            Self::ModelProvider => "model_provider",
            Self::Verifier => "verifier",
            Self::Judge => "judge",
            Self::Harness => "harness",
            Self::Budget => "budget",
            Self::Environment => "environment",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record from before records had `late`.
    const OLD: &str = include_str!("../tests/data/record-before-late.json");

    #[test]
    fn late_reward_of_an_old_record_is_read_from_its_reason() {
        let old = Record::parse(OLD.as_bytes()).unwrap();
        assert!(old.late && old.score() == Some(0.0), "{old:?}");
        // In a new record the field decides, whatever the reason says.
        let new = serde_json::to_string(&Record { reason: None, ..old.clone() }).unwrap();
        assert!(new.contains("\"late\":true"), "{new}");
        assert!(Record::parse(new.as_bytes()).unwrap().late);
        // Other reasons, and outcomes whose reason is a verifier's or a provider's, do not.
        let check = |change: &dyn Fn(&mut Record)| {
            let mut record = Record { late: false, ..old.clone() };
            change(&mut record);
            let text = serde_json::to_string(&record).unwrap();
            assert!(!text.contains("\"late\""), "{text}");
            assert!(!Record::parse(text.as_bytes()).unwrap().late, "{text}");
        };
        check(&|record| record.reason = Some("AgentTimeoutError: graded after its deadline".into()));
        check(&|record| record.reason = None);
        check(&|record| record.outcome = Outcome::Infrastructure);
    }

    /// The first format, with every key that has another name today.
    const FORMAT_1: &str = include_str!("../tests/data/record-1.json");

    #[test]
    fn a_record_of_the_first_format_is_translated() {
        let record = Record::parse(FORMAT_1.as_bytes()).unwrap();
        assert_eq!(record.schema, Record::SCHEMA);
        assert_eq!((record.skills()[0].mentioned, record.skills()[0].opened), (Some(3), None));
        assert_eq!(record.metered.unwrap().side_request_tokens, 120);
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains("touched") && !text.contains("beside_tokens"), "{text}");
        assert_eq!(Record::parse(text.as_bytes()).unwrap(), record);
    }

    #[test]
    fn record_of_another_version_is_not_damage() {
        let check = |text: &str, expected: &str| {
            let error = Record::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        let other = "unsupported schema \"assay.record/9\": this version reads \"assay.record/3\"";
        check(&OLD.replace("assay.record/1", "assay.record/9"), other);
        check("{\"schema\":\"assay.record/9\",\"outcome\":7}", other);
        check("{\"schema\":\"assay.record/3\",\"outcome\":7}", "line 1 column");
        check("{", "EOF");
    }
}
