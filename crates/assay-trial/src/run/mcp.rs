//! Servers of the Model Context Protocol that a task gives its agent: services of its compose file.

use assay_agent::{Agent, McpServer, McpTransport};
use assay_diagnostic::escape;
use assay_task::Task;

/// Why the agents cannot have the servers. Messages are sentence fragments.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpError {
    #[error("its MCP server `{0}` has the transport `{1}`: only streamable-http and sse are supported")]
    Transport(String, String),
    #[error("its MCP server `{0}` has `headers`, which are not supported")]
    Headers(String),
    #[error("one of its MCP servers has no name of letters, digits, - and _")]
    Name,
    #[error("its MCP server `{0}` is at {1}, which is none of its services")]
    Elsewhere(String, String),
    #[error(
        "its MCP server `{server}` cannot be given to the agent `{agent}`, which supports no MCP over {transport}"
    )]
    Agent { server: String, agent: &'static str, transport: String },
}

/// Whether all these agents can have a task's servers. A task is for all agents of an experiment or
/// for none, so that they are compared on the same tasks.
pub(crate) fn check(task: &Task, agents: &[&dyn Agent]) -> Result<(), McpError> {
    let others = task.environment.compose.as_ref().map_or(&[][..], |compose| &compose.others);
    for server in &task.config.environment.mcp_servers {
        let name = escape(&server.name);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if server.name.is_empty() || !server.name.chars().all(is_plain) {
            return Err(McpError::Name);
        }
        let Some(transport) = transport(&server.transport) else {
            return Err(McpError::Transport(name, escape(&server.transport)));
        };
        if server.has_headers {
            return Err(McpError::Headers(name));
        }
        let is_service = |host: &str| {
            others
                .iter()
                .any(|service| service.name == host || service.aliases.iter().any(|name| name == host))
        };
        if !server.host().is_some_and(is_service) {
            return Err(McpError::Elsewhere(name, escape(&server.url)));
        }
        if let Some(agent) = agents.iter().find(|agent| !agent.supports_mcp(transport)) {
            let transport = escape(&server.transport);
            return Err(McpError::Agent { server: name, agent: agent.name(), transport });
        }
    }
    Ok(())
}

/// The servers of a task that has been checked.
pub(crate) fn servers(task: &Task) -> Vec<McpServer> {
    let servers = task.config.environment.mcp_servers.iter();
    servers
        .filter_map(|server| {
            let transport = transport(&server.transport)?;
            Some(McpServer { name: server.name.clone(), url: server.url.clone(), transport })
        })
        .collect()
}

fn transport(written: &str) -> Option<McpTransport> {
    match written {
        "streamable-http" | "http" => Some(McpTransport::Http),
        "sse" => Some(McpTransport::Sse),
        _ => None,
    }
}
