use std::path::PathBuf;

use serde_json::{Map, json};

use super::harness::{Harness, Launch, VaryingContent, pairs};
use super::package::{Package, Registry};
use crate::agent::McpTransport;

/// Claude Code, Anthropic's CLI agent.
#[derive(Debug)]
pub(super) struct ClaudeCode;

/// The file with additions to the system prompt, below its home.
const CONTEXT: &str = ".assay/context.md";

impl Harness for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn package(&self) -> Package {
        Package {
            name: "@anthropic-ai/claude-code",
            version: "2.1.330",
            registry: Registry::Npm { beside: &[] },
        }
    }

    /// A single binary for the platform, without Node.
    fn program(&self) -> &'static str {
        "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["anthropic"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.claude/skills")
    }

    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)> {
        match launch.context {
            "" => Vec::new(),
            context => vec![(launch.home.join(CONTEXT), context.to_owned())],
        }
    }

    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let context = launch.home.join(CONTEXT).display().to_string();
        let mut args = vec![
            "-p",
            launch.prompt,
            "--output-format",
            "stream-json",
            "--verbose",
            // The sandbox replaces permission prompts.
            "--dangerously-skip-permissions",
            "--model",
            launch.model,
        ];
        let servers = launch.mcp_servers.iter().map(|server| {
            let kind = match server.transport {
                McpTransport::Http => "http",
                McpTransport::Sse => "sse",
            };
            (server.name.clone(), json!({ "type": kind, "url": server.url }))
        });
        let servers = json!({ "mcpServers": servers.collect::<Map<_, _>>() }).to_string();
        if !launch.mcp_servers.is_empty() {
            args.extend(["--mcp-config", &servers, "--strict-mcp-config"]);
        }
        if !launch.context.is_empty() {
            args.extend(["--append-system-prompt-file", &context]);
        }
        let env = pairs(&[
            ("ANTHROPIC_BASE_URL", launch.address.as_str()),
            ("ANTHROPIC_API_KEY", launch.token),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // The gateway already waits and retries; errors that it forwards are final.
            ("CLAUDE_CODE_MAX_RETRIES", "2"),
            // Without it the agent refuses to run as root.
            ("IS_SANDBOX", "1"),
        ]);
        (args.into_iter().map(str::to_owned).collect(), env)
    }

    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        true
    }

    fn state(&self) -> &'static [&'static str] {
        &[".claude", ".claude.json"]
    }

    fn varying_content(&self) -> VaryingContent {
        // The account and the session.
        VaryingContent { fields: &["metadata"], texts: &[] }
    }

    fn memory_mb(&self) -> u64 {
        176
    }

    fn transcript(&self) -> &'static str {
        "claude-code-stream"
    }

    fn own_skills(&self) -> &'static [&'static str] {
        &["doctor", "plugin-authoring"]
    }
}
