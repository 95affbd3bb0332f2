use std::path::PathBuf;

use serde_json::json;

use super::harness::{Harness, Launch, PROCESSES, VaryingContent, gemini_servers, pairs};
use super::package::{NODE, NODE_PACKAGE, Package, Registry};
use crate::agent::McpTransport;

/// Qwen Code, a CLI agent for servers with OpenAI's chat completions API.
#[derive(Debug)]
pub(super) struct QwenCode;

impl Harness for QwenCode {
    fn name(&self) -> &'static str {
        "qwen-code"
    }

    fn package(&self) -> Package {
        Package {
            name: "@qwen-code/qwen-code",
            version: "0.24.4",
            registry: Registry::Npm { beside: &[NODE_PACKAGE] },
        }
    }

    fn program(&self) -> &'static str {
        NODE
    }

    fn providers(&self) -> &'static [&'static str] {
        &["openai"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.qwen/skills")
    }

    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)> {
        if launch.mcp_servers.is_empty() {
            return Vec::new();
        }
        let settings = json!({ "mcpServers": gemini_servers(launch.mcp_servers) });
        vec![(launch.home.join(".qwen/settings.json"), settings.to_string())]
    }

    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let script = launch.installed("node_modules/@qwen-code/qwen-code/cli.js");
        // The sandbox replaces permission prompts.
        let mut args = vec![&*script, "--yolo", "--auth-type", "openai", "--output-format", "stream-json"];
        if !launch.context.is_empty() {
            args.extend(["--append-system-prompt", launch.context]);
        }
        args.push(launch.prompt);
        let env = pairs(&[
            ("OPENAI_API_KEY", launch.token),
            ("OPENAI_BASE_URL", &format!("{}/v1", launch.address)),
            ("OPENAI_MODEL", launch.model),
        ]);
        (args.into_iter().map(str::to_owned).collect(), env)
    }

    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        true
    }

    fn state(&self) -> &'static [&'static str] {
        &[".qwen"]
    }

    fn varying_content(&self) -> VaryingContent {
        VaryingContent { fields: &["metadata"], texts: &[PROCESSES] }
    }

    fn loop_messages(&self) -> &'static [&'static str] {
        &["Loop detection halted the run"]
    }

    fn memory_mb(&self) -> u64 {
        260
    }

    fn transcript(&self) -> &'static str {
        "claude-code-stream"
    }

    /// As listed in its first request.
    fn own_skills(&self) -> &'static [&'static str] {
        &[
            "batch",
            "browser-use",
            "computer-use",
            "dataviz",
            "extension-creator",
            "goal-draft",
            "loop",
            "new-app",
            "qc-helper",
            "review",
            "simplify",
            "stuck",
            "workflow-authoring",
            "workflow-creator",
        ]
    }
}
