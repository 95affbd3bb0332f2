//! Agents under test.
//!
//! An [`Agent`] is one file here and one line in `BUILT_IN`. It is either a command that the trial
//! starts inside the sandbox ([`Oracle`], [`CliAgent`]), or a conversation outside whose commands
//! run inside ([`Loop`]). This crate does not know plans, conditions or verdicts.

mod agent;
mod catalogue;
pub mod cli_agents;
mod conversation;
pub mod ending;
mod nop;
mod oracle;
mod window;

use std::sync::Arc;

use assay_model::ChatModel;

pub use agent::{
    Agent, AgentRun, Endpoint, Estimated, Job, McpServer, McpTransport, RequestShare, RequestTurn, RunBudget,
    count_model,
};
pub use assay_trace::{Disclosure, Ended, Part, Placement};
pub use catalogue::CatalogueEntry;
pub use cli_agents::CliAgent;
pub use conversation::{CostCap, Loop, LoopOptions};
pub use nop::Nop;
pub use oracle::Oracle;

/// Opens a built-in agent, with its model if it uses one.
type Open = fn(Option<Arc<dyn ChatModel>>, LoopOptions) -> Result<Arc<dyn Agent>, OpenError>;

/// The built-in agents, by their names in experiments.
const BUILT_IN: [(&str, Open); 3] = [
    ("loop", |model, options| match model {
        Some(model) => Ok(Arc::new(Loop::new(model, options))),
        None => Err(OpenError::NoModel),
    }),
    ("oracle", |_, _| Ok(Arc::new(Oracle))),
    ("nop", |_, _| Ok(Arc::new(Nop))),
];

/// Why an agent cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The agent needs a model and has none.
    #[error("the agent `loop` needs a model, for example `model = \"openai:gpt-5\"`")]
    NoModel,
    /// No built-in agent has that name.
    #[error("unknown agent `{0}` (known: {known})", known = built_in().collect::<Vec<_>>().join(", "))]
    Unknown(String),
}

/// Opens an agent by its name in an experiment. `model` is set for agents that use one.
pub fn open(
    name: &str,
    model: Option<Arc<dyn ChatModel>>,
    options: LoopOptions,
) -> Result<Arc<dyn Agent>, OpenError> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    let (_, open) = found.ok_or_else(|| OpenError::Unknown(name.to_owned()))?;
    open(model, options)
}

/// The names that [`open`] accepts.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The names of all agents: those that [`open`] accepts, and those of [`CliAgent::new`].
pub fn names() -> impl Iterator<Item = &'static str> {
    built_in().chain(cli_agents::HARNESSES.iter().map(|harness| harness.name()))
}
