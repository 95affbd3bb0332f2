//! What an agent is, what it is given, and how it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_model::{ScriptContext, Usage};
use assay_sandbox::{Mount, Session};
use assay_trace::{Disclosure, Ended, Trajectory};
use serde_json::Value;

use crate::catalogue::CatalogueEntry;

/// Something that works on a task inside a sandbox.
pub trait Agent: Send + Sync {
    /// The name it has in experiments and records.
    fn name(&self) -> &'static str;

    /// The version that runs.
    fn version(&self) -> String;

    /// `provider:model`, where it uses one.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Where inside the sandbox it looks for skills.
    fn skills_dir(&self) -> &'static str {
        "/skills"
    }

    /// Everything about it that can change an outcome.
    fn identity(&self) -> Value;

    /// Whether the condition's mere name can change what it does (a script that asks for it).
    fn reads_condition(&self) -> bool {
        false
    }

    /// Whether its results say anything about a model.
    fn measures_a_model(&self) -> bool {
        true
    }

    /// Whether the task's solution is laid into its sandbox.
    fn needs_solution(&self) -> bool {
        false
    }

    /// Whether a path below its home is its own state, or a folder on the way to it, and nothing that it did.
    fn is_own_state(&self, _below_home: &Path) -> bool {
        false
    }

    /// What it takes of a sandbox's memory by itself, in bytes; 0 for one that works outside.
    fn own_memory(&self) -> u64 {
        0
    }

    /// What of this machine is seen in its sandbox.
    fn mounts(&self) -> Vec<Mount> {
        Vec::new()
    }

    /// Works until done, a limit, the deadline, or `job.cancel`. Never fails: what went wrong is in [`AgentRun::ended`], so
    /// that the steps up to there are kept.
    fn run(&self, job: &Job<'_>, session: &mut dyn Session) -> AgentRun;
}

/// What an agent is given.
#[derive(Debug)]
pub struct Job<'a> {
    /// The task's text.
    pub instruction: &'a str,
    /// The skills that were laid into the sandbox, in order.
    pub skills: &'a [CatalogueEntry],
    /// How they are made known.
    pub disclosure: Disclosure,
    /// Put before the instruction by the condition; mostly empty.
    pub preface: &'a str,
    /// Where commands start, inside.
    pub workdir: PathBuf,
    /// When its time is over.
    pub deadline: Instant,
    /// How much time it has altogether, for telling it.
    pub time: Duration,
    /// Set from outside to give up.
    pub cancel: &'a AtomicBool,
    /// Where in the experiment it stands, for scripted models.
    pub script_context: &'a ScriptContext,
    /// A host folder for raw logs.
    pub logs: PathBuf,
    /// Added to the environment of its commands.
    pub env: &'a [(String, String)],
    /// Where its model is reached, for one that needs the gateway.
    pub endpoint: Option<Endpoint>,
    /// The run's budget, for agents that call their model without the gateway.
    pub budget: Option<&'a dyn RunBudget>,
}

/// What all trials of a run may spend together. Agents behind the gateway are held to it there; one that asks its model itself
/// asks before each request, and counts each reply.
pub trait RunBudget: std::fmt::Debug + Sync {
    /// Why no other request may be made, in words.
    fn exhausted(&self) -> Option<String>;

    /// Counts a reply, and how many of its tokens are an estimate.
    fn charge(&self, usage: &Usage, estimated: &Usage);
}

/// Where the gateway is reached from inside the sandbox.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The port of loopback at which the model is reached.
    pub port: u16,
    /// What stands for a key there.
    pub token: String,
    /// Stands before the agent's command line, so that the port leads somewhere.
    pub launcher: Vec<String>,
}

/// What an agent did.
#[derive(Debug, Clone)]
pub struct AgentRun {
    /// Step by step.
    pub trajectory: Trajectory,
    /// Tokens; `None` where nobody counted them.
    pub usage: Option<Usage>,
    /// How many of them are an estimate.
    pub estimated: Estimated,
    /// The models that the provider says it used, and how many replies each gave.
    pub replied_models: BTreeMap<String, u64>,
    /// Why it stopped.
    pub ended: Ended,
    /// Time spent waiting for a provider between tries.
    pub throttled: Duration,
}

impl AgentRun {
    /// A run of which nobody counted tokens or waits.
    pub fn new(trajectory: Trajectory, ended: Ended) -> Self {
        Self {
            trajectory,
            usage: None,
            estimated: Estimated::default(),
            replied_models: BTreeMap::new(),
            ended,
            throttled: Duration::ZERO,
        }
    }
}

/// Maximum number of model names recorded per run; the names are untrusted input.
const MODELS: usize = 20;

/// Counts a reply of a model that a provider names.
pub fn count_model(models: &mut BTreeMap<String, u64>, name: &str) {
    if models.len() < MODELS || models.contains_key(name) {
        *models.entry(name.to_owned()).or_default() += 1;
    }
}

/// Tokens that were estimated by characters, because a provider's usage never came or cannot be true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimated {
    /// In how many requests.
    pub requests: u64,
    /// How many.
    pub usage: Usage,
}

/// The time of day, for a step.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().to_string()
}
