//! The machine context of planning and execution.

use crate::experiment::foreign::Permissions;
use crate::run::backend::Sandboxes;
use crate::run::route::CliAgentContext;

/// The machine context of planning and execution.
pub struct MachineContext<'a> {
    /// Looks up an environment variable.
    pub env: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Its sandboxes.
    pub sandboxes: &'a Sandboxes,
    /// Whether it is a dry run, which needs no keys.
    pub dry: bool,
    /// What the caller permits experiments.
    pub permissions: Permissions,
    /// The CLI agents' installation, if there is one.
    pub cli_agents: Option<CliAgentContext>,
}
