//! Agents: what each gets for a trial, and what it returns.

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
    /// Its name in experiments and records.
    fn name(&self) -> &'static str;

    /// The version that is executed.
    fn version(&self) -> String;

    /// `provider:model`, if it uses one.
    fn model(&self) -> Option<&str> {
        None
    }

    /// The folder inside the sandbox in which it looks for skills.
    fn skills_dir(&self) -> &'static str {
        "/skills"
    }

    /// Everything about it that can change a result.
    fn identity(&self) -> Value;

    /// Whether the name of the condition can change what it does (only a script can read it).
    fn reads_condition(&self) -> bool {
        false
    }

    /// Whether its results measure a model.
    fn measures_a_model(&self) -> bool {
        true
    }

    /// Whether the task's solution is placed in its sandbox.
    fn needs_solution(&self) -> bool {
        false
    }

    /// Whether a path below its home is its own state, or a folder that contains it, and not a
    /// result of its work.
    fn is_own_state(&self, _below_home: &Path) -> bool {
        false
    }

    /// Whether it connects to servers of the Model Context Protocol, by this transport. An agent
    /// that needs none, such as the oracle, can do without.
    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        false
    }

    /// The sandbox memory that the agent itself needs, in bytes; 0 for an agent that runs outside.
    fn own_memory(&self) -> u64 {
        0
    }

    /// Folders of this machine that are mounted into its sandbox.
    fn mounts(&self) -> Vec<Mount> {
        Vec::new()
    }

    /// Works until done, a limit, the deadline, or `job.cancel`. Never fails: errors are in
    /// [`AgentRun::ended`], so that the steps before them are kept.
    fn run(&self, job: &Job<'_>, session: &mut dyn Session) -> AgentRun;
}

/// How an agent talks to a server of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTransport {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, which streamable HTTP has replaced.
    Sse,
}

/// A server of the Model Context Protocol, as seen from inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name, by which the agent names its tools.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// How to talk to it.
    pub transport: McpTransport,
}

/// What an agent gets for one trial.
#[derive(Debug)]
pub struct Job<'a> {
    /// The task's text.
    pub instruction: &'a str,
    /// The skills installed in the sandbox, in order.
    pub skills: &'a [CatalogueEntry],
    /// How the skills are disclosed.
    pub disclosure: Disclosure,
    /// Text of the condition before the instruction; usually empty.
    pub preface: &'a str,
    /// The working directory of commands, inside the sandbox.
    pub workdir: PathBuf,
    /// The end of the agent's time.
    pub deadline: Instant,
    /// The whole of the agent's time, to mention in prompts.
    pub time: Duration,
    /// Set from outside to cancel the work.
    pub cancel: &'a AtomicBool,
    /// The trial's place in the experiment, for scripted models.
    pub script_context: &'a ScriptContext,
    /// A folder on the host for raw logs.
    pub logs: PathBuf,
    /// Variables for the environment of commands.
    pub env: &'a [(String, String)],
    /// The servers that the task gives it, all of a transport that it supports.
    pub mcp_servers: &'a [McpServer],
    /// The endpoint of its model, if it uses the gateway.
    pub endpoint: Option<Endpoint>,
    /// The run's budget, for agents that call their model without the gateway.
    pub budget: Option<&'a dyn RunBudget>,
}

/// What all trials of a run may spend together. For agents that use the gateway, the gateway
/// enforces it. An agent that calls its model directly checks it before each request, and charges
/// each reply.
pub trait RunBudget: std::fmt::Debug + Sync {
    /// Sets aside what the next request may use at most: so many tokens of input, and of output if they are limited.
    /// Asked again while it is [`RequestTurn::Deferred`]. By default there are no bounds.
    fn reserve(&self, _input: u64, _output: Option<u64>) -> RequestTurn<'_> {
        RequestTurn::Granted(None)
    }

    /// Why no further request may be sent, in words.
    fn exhausted(&self) -> Option<String>;

    /// Charges a reply; `estimated` is the part of its tokens that is an estimate.
    fn charge(&self, usage: &Usage, estimated: &Usage);
}

/// Whether a request may be sent.
#[derive(Debug)]
pub enum RequestTurn<'a> {
    /// It may be sent. What it may use is set aside until this is dropped.
    Granted(Option<Box<dyn RequestShare + 'a>>),
    /// Not before other requests have ended.
    Deferred,
    /// Why no further request may be sent, in words.
    Exhausted(String),
}

/// What is set aside for a request.
pub trait RequestShare: std::fmt::Debug {
    /// What it used, by which later shares are corrected.
    fn set_used(&mut self, usage: &Usage);
}

/// The gateway's endpoint, as seen from inside the sandbox.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The port on loopback.
    pub port: u16,
    /// The token that is used instead of a key.
    pub token: String,
    /// Prefix of the agent's command line that forwards the port to the gateway.
    pub launcher: Vec<String>,
}

/// The result of an agent's work.
#[derive(Debug, Clone)]
pub struct AgentRun {
    /// Its steps.
    pub trajectory: Trajectory,
    /// Tokens; `None` if they were not counted.
    pub usage: Option<Usage>,
    /// How many of them are an estimate.
    pub estimated: Estimated,
    /// The models that the provider reported, and the number of replies of each.
    pub replied_models: BTreeMap<String, u64>,
    /// Why it stopped.
    pub ended: Ended,
    /// Time spent waiting for a provider between tries.
    pub throttled: Duration,
}

impl AgentRun {
    /// A run without counts of tokens and waits.
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

/// Counts a reply of a model that the provider reported.
pub fn count_model(models: &mut BTreeMap<String, u64>, name: &str) {
    if models.len() < MODELS || models.contains_key(name) {
        *models.entry(name.to_owned()).or_default() += 1;
    }
}

/// Tokens that were estimated from characters, because the reported usage was missing or
/// implausible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimated {
    /// The number of requests.
    pub requests: u64,
    /// The tokens.
    pub usage: Usage,
}

/// The current time, for a step.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().to_string()
}
