//! What planning and executing ask of the machine they run on.

use crate::run::backend::Sandboxes;
use crate::run::route::CliAgentContext;

/// What planning and executing ask of the machine they run on.
pub struct MachineContext<'a> {
    /// Looks an environment variable up.
    pub env: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Its sandboxes.
    pub sandboxes: &'a Sandboxes,
    /// Whether the plan is only looked at: then no model needs its key.
    pub dry: bool,
    /// What third-party CLI agents need; `None` where there are none.
    pub cli_agents: Option<CliAgentContext>,
}
