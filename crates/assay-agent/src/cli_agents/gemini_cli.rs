use std::path::PathBuf;

use serde_json::json;

use super::harness::{Harness, Launch, PROCESSES, VaryingContent, gemini_servers, pairs};
use super::package::{NODE, NODE_PACKAGE, Package, Registry};
use crate::agent::McpTransport;

/// Gemini CLI, Google's CLI agent.
#[derive(Debug)]
pub(super) struct GeminiCli;

impl Harness for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn package(&self) -> Package {
        Package {
            name: "@google/gemini-cli",
            version: "0.61.0",
            registry: Registry::Npm { beside: &[NODE_PACKAGE] },
        }
    }

    fn program(&self) -> &'static str {
        NODE
    }

    fn providers(&self) -> &'static [&'static str] {
        &["gemini"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.gemini/skills")
    }

    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)> {
        let mut settings = json!({
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "general": { "enableAutoUpdate": false },
            "security": { "auth": { "selectedType": "gemini-api-key" } },
        });
        if !launch.mcp_servers.is_empty() {
            settings["mcpServers"] = gemini_servers(launch.mcp_servers);
        }
        let mut files = vec![(launch.home.join(".gemini/settings.json"), settings.to_string())];
        if !launch.context.is_empty() {
            // The content of this file is part of every system prompt.
            files.push((launch.home.join(".gemini/GEMINI.md"), launch.context.to_owned()));
        }
        files
    }

    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let script = launch.installed("node_modules/@google/gemini-cli/bundle/gemini.js");
        // The sandbox replaces permission prompts.
        let args =
            [&script, "--yolo", "--output-format", "stream-json", "-m", launch.model, "-p", launch.prompt];
        let env = pairs(&[
            ("GEMINI_API_KEY", launch.token),
            ("GOOGLE_GEMINI_BASE_URL", &launch.address),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ]);
        (args.map(str::to_owned).to_vec(), env)
    }

    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        true
    }

    fn state(&self) -> &'static [&'static str] {
        &[".gemini"]
    }

    fn varying_content(&self) -> VaryingContent {
        VaryingContent { fields: &[], texts: &[PROCESSES] }
    }

    fn loop_messages(&self) -> &'static [&'static str] {
        &["Loop detected, stopping execution"]
    }

    fn memory_mb(&self) -> u64 {
        388
    }

    fn transcript(&self) -> &'static str {
        "gemini-cli-stream"
    }

    fn own_skills(&self) -> &'static [&'static str] {
        &["skill-creator", "antigravity-support"]
    }
}
