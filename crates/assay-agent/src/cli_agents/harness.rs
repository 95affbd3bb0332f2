//! What is particular to a CLI agent, and the parameters of its start.

use std::path::{Path, PathBuf};

use super::package::Package;
use crate::agent::{McpServer, McpTransport};

/// What is particular to a CLI agent.
pub trait Harness: Send + Sync {
    /// Its name in experiments and records.
    fn name(&self) -> &'static str;

    /// The package to install, with its version.
    fn package(&self) -> Package;

    /// The program's path, below the installation.
    fn program(&self) -> &'static str;

    /// The providers whose protocol it supports, as written in model names.
    fn providers(&self) -> &'static [&'static str];

    /// Whether it uses OpenAI's Responses API instead of chat completions.
    fn uses_responses_api(&self) -> bool {
        false
    }

    /// The folder inside the sandbox in which it looks for a user's skills; `None` if it does not
    /// support skills.
    fn skills_dir(&self) -> Option<&'static str>;

    /// Files that must exist before it starts: absolute paths inside the sandbox, and contents.
    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)>;

    /// Its command line, without the program, and additional environment variables.
    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>);

    /// Whether it connects to servers of the Model Context Protocol, by this transport.
    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        false
    }

    /// The format of its output or transcript, by the name of its reader in `assay_trace::read`.
    fn transcript(&self) -> &'static str;

    /// The transcript file below its home, if it does not print the transcript.
    fn transcript_file(&self) -> Option<&'static str> {
        None
    }

    /// Paths of its own state below its home, which are not results of its work.
    fn state(&self) -> &'static [&'static str];

    /// The maximum memory that it used itself in a short trial, in megabytes.
    fn memory_mb(&self) -> u64;

    /// Built-in skills that cannot be disabled: they are present in every arm.
    fn own_skills(&self) -> &'static [&'static str] {
        &[]
    }

    /// Messages that it prints when its own loop detection has stopped it.
    fn loop_messages(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it varies by itself in otherwise identical requests, besides random names, dates, times
    /// and durations.
    fn varying_content(&self) -> VaryingContent {
        VaryingContent::default()
    }
}

/// What an agent varies by itself in its requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct VaryingContent {
    /// Fields, by name.
    pub fields: &'static [&'static str],
    /// Patterns in texts, each with its replacement.
    pub texts: &'static [(&'static str, &'static str)],
}

/// The process ids that Gemini CLI and Qwen Code, its fork, report for a command.
pub(super) const PROCESSES: (&str, &str) = (r"\b(PGID|PIDs?): [0-9][0-9, ]*", "$1: <pid>");

/// The parameters of an agent's start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The URL of its model's endpoint, without a path.
    pub address: String,
    /// The token that is used instead of a key.
    pub token: &'a str,
    /// The provider's name, as in the model's name.
    pub provider: &'a str,
    /// The model's name, without the provider's.
    pub model: &'a str,
    /// The prompt.
    pub prompt: &'a str,
    /// Additions to the system prompt; usually empty.
    pub context: &'a str,
    /// Its working directory, inside the sandbox.
    pub workdir: &'a Path,
    /// Its home, inside the sandbox.
    pub home: &'a Path,
    /// The task's servers of the Model Context Protocol; usually none.
    pub mcp_servers: &'a [McpServer],
    /// Its installation, inside the sandbox.
    pub installation: &'a Path,
}

impl Launch<'_> {
    /// The path of a file of the installation, inside the sandbox.
    pub(super) fn installed(&self, path: &str) -> String {
        self.installation.join(path).display().to_string()
    }
}

/// Servers in the format of Gemini CLI and Qwen Code, its fork.
pub(super) fn gemini_servers(servers: &[McpServer]) -> serde_json::Value {
    let one = |server: &McpServer| {
        let key = match server.transport {
            McpTransport::Http => "httpUrl",
            McpTransport::Sse => "url",
        };
        (server.name.clone(), serde_json::json!({ key: server.url, "trust": true }))
    };
    servers.iter().map(one).collect::<serde_json::Map<_, _>>().into()
}

/// Environment variables.
pub(super) fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
