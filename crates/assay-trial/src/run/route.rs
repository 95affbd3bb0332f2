//! The route of a third-party CLI agent to its model.

use std::path::PathBuf;

use assay_gateway::{Caps, Provider, Varying};

/// What third-party CLI agents need of this machine.
#[derive(Debug, Clone)]
pub struct CliAgentContext {
    /// Where they are installed.
    pub cache: PathBuf,
    /// A program that calls [`assay_sandbox::forward_main`] when its arguments say so: this one, mostly.
    pub forwarder: PathBuf,
    /// Its first arguments.
    pub forwarder_args: Vec<String>,
    /// The store whose cassettes answer in the provider's place, where trials are played again.
    pub replay: Option<PathBuf>,
}

/// Who answers an agent, and what leads there.
#[derive(Debug, Clone)]
pub struct ModelRoute {
    /// Who answers.
    pub provider: Provider,
    /// The model's name as the provider knows it; `None` for a script.
    pub model: Option<String>,
    /// What a trial may spend.
    pub caps: Caps,
    /// Most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// What the agent varies by itself in its requests.
    pub varying: Varying,
    /// What leads a port inside to the proxy.
    pub cli_agents: CliAgentContext,
}
