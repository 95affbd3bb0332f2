//! The route of a third-party CLI agent to its model.

use std::path::PathBuf;

use assay_gateway::{Caps, Provider, Varying};

/// The installation of CLI agents on this machine, and the forwarder to their proxies.
#[derive(Debug, Clone)]
pub struct CliAgentContext {
    /// Where they are installed.
    pub cache: PathBuf,
    /// A program that calls [`assay_sandbox::forward_main`] if its arguments request it, usually
    /// this one.
    pub forwarder: PathBuf,
    /// Its first arguments.
    pub forwarder_args: Vec<String>,
    /// The first arguments with which it calls [`crate::double_main`].
    pub double_args: Vec<String>,
    /// The store whose cassettes are replayed instead of calling the provider.
    pub replay: Option<PathBuf>,
}

/// The route of an agent to its model.
#[derive(Debug, Clone)]
pub struct ModelRoute {
    /// The provider.
    pub provider: Provider,
    /// The provider's name for the model; `None` for a script.
    pub model: Option<String>,
    /// The trial's budget.
    pub caps: Caps,
    /// Most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// Sampling temperature, set in each request.
    pub temperature: Option<f64>,
    /// What the agent varies in otherwise equal requests.
    pub varying: Varying,
    /// What forwards a port in the sandbox to the proxy.
    pub cli_agents: CliAgentContext,
}
