//! Mocks of a case, made of MCP servers with recorded results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_task::{Doubles, McpMock, McpResult, McpTool};
use serde_json::json;

use super::refusal::CaseRefusal;

/// What the client replaces in the body of a mock.
const PLACES: [&str; 2] = ["{{input.", "{{file:"];

/// The files of the mocks that stand for a task's doubles, by path below the case's folder.
pub(super) fn mocks(doubles: &Doubles) -> Result<BTreeMap<PathBuf, String>, CaseRefusal> {
    let Doubles { user, commands, http, mcp, postgresql, sqlite, git } = doubles;
    let has_others = user.is_some()
        || !commands.is_empty()
        || !http.is_empty()
        || !postgresql.is_empty()
        || !sqlite.is_empty()
        || !git.is_empty();
    if has_others {
        return Err(CaseRefusal::Doubles(format!("{doubles}; a case has only MCP servers")));
    }
    let mut files = BTreeMap::new();
    for server in mcp {
        add_server(server, &mut files)?;
    }
    Ok(files)
}

fn add_server(server: &McpMock, files: &mut BTreeMap<PathBuf, String>) -> Result<(), CaseRefusal> {
    let refuse = |what: String| Err(CaseRefusal::Doubles(what));
    let folder = Path::new("mocks").join(&server.name);
    let mut tools = Vec::new();
    for McpTool { name, description, input_schema, results } in &server.tools {
        let named = format!("{}/{name}", server.name);
        if !is_segment(name) || !is_segment(&server.name) {
            return refuse(format!("{named:?} is no name for a mock (letters, digits, - and _)"));
        }
        let [result] = results.as_slice() else {
            return refuse(format!("{named} has {} results, and a mock has one", results.len()));
        };
        if !is_unconditional(result) {
            return refuse(format!("the result of {named} depends on arguments or earlier calls"));
        }
        let text = result.text.trim_start_matches('\n').trim_end();
        if PLACES.iter().any(|place| text.contains(place)) {
            return refuse(format!("the result of {named} contains a placeholder of the client"));
        }
        files.insert(
            folder.join(format!("{name}.md")),
            format!("---\nerror: {}\n---\n\n{text}\n", result.error),
        );
        tools.push(json!({ "name": name, "description": description, "inputSchema": input_schema }));
    }
    files.insert(folder.join("_tools.json"), format!("{:#}\n", json!({ "tools": tools })));
    Ok(())
}

fn is_segment(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

fn is_unconditional(McpResult { scope, arguments, .. }: &McpResult) -> bool {
    arguments.is_empty() && scope.times.is_none() && scope.when.is_empty() && scope.set.is_empty()
}
