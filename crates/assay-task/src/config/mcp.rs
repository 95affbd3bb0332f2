//! `[[environment.mcp_servers]]`: servers of the Model Context Protocol for the agent.

use serde::Serialize;

use super::section::{Item, Section, Source};
use crate::TaskError;

/// A server that a task defines for its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct McpServer {
    /// Its name, by which agents name its tools; empty if there is none.
    pub name: String,
    /// `streamable-http` (also written `http`), `sse` or `stdio`, as written; default `sse`.
    pub transport: String,
    /// Its URL; empty if there is none.
    pub url: String,
    /// Whether it has `headers`, which may be credentials.
    pub has_headers: bool,
}

impl McpServer {
    /// The host in its URL, if it is a plain `http://HOST[:PORT][/PATH]`.
    pub fn host(&self) -> Option<&str> {
        let rest = self.url.strip_prefix("http://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = match authority.split_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => host,
            Some(_) => return None,
            None => authority,
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (!host.is_empty() && host.chars().all(is_name)).then_some(host)
    }
}

/// `mcp_servers` of the table `environment`.
pub(super) fn servers(
    source: &mut Source<'_>,
    section: &mut Section<'_>,
) -> Result<Vec<McpServer>, TaskError> {
    let mut found = Vec::new();
    for item in section.items(source, "mcp_servers")? {
        let Item::Table(mut table) = item else {
            let Item::Text(_, span) = item else { continue };
            return Err(source.error(&span, "an MCP server must be a table", "give it a `name` and a `url`"));
        };
        let server = McpServer {
            name: table.string(source, "name")?.unwrap_or_default(),
            transport: table.string(source, "transport")?.unwrap_or_else(|| "sse".to_owned()),
            url: table.string(source, "url")?.unwrap_or_default(),
            has_headers: !table.string_map(source, "headers")?.is_empty(),
        };
        // Of a server that is started by a command, which excludes the task.
        table.string(source, "command")?;
        table.strings(source, "args")?;
        table.finish(source);
        found.push(server);
    }
    Ok(found)
}
