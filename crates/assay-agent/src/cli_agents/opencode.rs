use std::path::PathBuf;

use serde_json::{Map, json};

use super::harness::{Harness, Launch, pairs};
use super::package::{Package, Registry};
use crate::agent::McpTransport;

/// OpenCode, a CLI agent for servers with OpenAI's chat completions API.
#[derive(Debug)]
pub(super) struct OpenCode;

impl Harness for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    /// Without ripgrep it tries to download one, and cannot open skills.
    fn package(&self) -> Package {
        Package {
            name: "opencode-linux-x64",
            version: "1.18.34",
            registry: Registry::Npm { beside: &["@vscode/ripgrep-linux-x64@1.18.0"] },
        }
    }

    /// A single binary for the platform, without Node.
    fn program(&self) -> &'static str {
        "node_modules/opencode-linux-x64/bin/opencode"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["openai"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.config/opencode/skills")
    }

    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)> {
        let model = format!("assay/{}", launch.model);
        let instructions = launch.home.join(".config/opencode/instructions.md");
        let mut config = json!({
            "autoupdate": false,
            "share": "disabled",
            "permission": "allow",
            "model": model,
            "small_model": model,
            "provider": { "assay": {
                "npm": "@ai-sdk/openai-compatible",
                "options": { "baseURL": format!("{}/v1", launch.address), "apiKey": launch.token },
                "models": { launch.model: { "limit": { "context": 200_000, "output": 32_000 } } },
            } },
        });
        if !launch.mcp_servers.is_empty() {
            let servers = launch.mcp_servers.iter().map(|server| {
                (server.name.clone(), json!({ "type": "remote", "url": server.url, "enabled": true }))
            });
            config["mcp"] = servers.collect::<Map<_, _>>().into();
        }
        let mut files = Vec::new();
        if !launch.context.is_empty() {
            config["instructions"] = json!([instructions]);
            files.push((instructions, launch.context.to_owned()));
        }
        files.push((launch.home.join(".config/opencode/opencode.json"), config.to_string()));
        files
    }

    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let model = format!("assay/{}", launch.model);
        let args = ["run", "--format", "json", "--auto", "-m", &model, launch.prompt];
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            launch.installed("node_modules/@vscode/ripgrep-linux-x64/bin")
        );
        let env = pairs(&[
            ("PATH", &path),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ]);
        (args.map(str::to_owned).to_vec(), env)
    }

    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        true
    }

    fn state(&self) -> &'static [&'static str] {
        &[".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"]
    }

    fn memory_mb(&self) -> u64 {
        676
    }

    fn transcript(&self) -> &'static str {
        "opencode-stream"
    }

    fn own_skills(&self) -> &'static [&'static str] {
        &["customize-opencode"]
    }
}
