use std::path::PathBuf;

use super::harness::{Harness, Launch, VaryingContent, pairs};
use super::package::{Package, Registry};
use crate::agent::McpTransport;

/// Codex, OpenAI's CLI agent.
#[derive(Debug)]
pub(super) struct Codex;

/// The environment variable for its key.
const KEY: &str = "ASSAY_TOKEN";

impl Harness for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn package(&self) -> Package {
        Package { name: "@openai/codex", version: "0.169.0", registry: Registry::Npm { beside: &[] } }
    }

    /// A single binary for the platform, without Node.
    fn program(&self) -> &'static str {
        "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["openai"]
    }

    fn uses_responses_api(&self) -> bool {
        true
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.agents/skills")
    }

    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)> {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let config = format!(
            "model = {model}\nmodel_provider = \"assay\"\ncheck_for_update_on_startup = false\n{context}\n\
             [analytics]\nenabled = false\n\n\
             [skills.bundled]\nenabled = false\n\n\
             [model_providers.assay]\nname = \"assay\"\nbase_url = {url}\nenv_key = \"{KEY}\"\nwire_api = \"responses\"\n\
             request_max_retries = 2\nstream_max_retries = 2\n",
            model = text(launch.model),
            context = match launch.context {
                "" => String::new(),
                context => format!("developer_instructions = {}\n", text(context)),
            },
            url = text(&format!("{}/v1", launch.address)),
        );
        let servers: String = launch
            .mcp_servers
            .iter()
            .map(|server| format!("\n[mcp_servers.{}]\nurl = {}\n", text(&server.name), text(&server.url)))
            .collect();
        vec![(launch.home.join(".codex/config.toml"), config + &servers)]
    }

    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let workdir = launch.workdir.display().to_string();
        let args = [
            "exec",
            "--json",
            "--skip-git-repo-check",
            // The sandbox replaces permission prompts.
            "--dangerously-bypass-approvals-and-sandbox",
            // Without these it contacts hosts that it cannot reach.
            "--disable",
            "plugins",
            "--disable",
            "apps",
            "-C",
            &workdir,
            launch.prompt,
        ];
        let home = launch.home.join(".codex").display().to_string();
        let env = pairs(&[("CODEX_HOME", &home), (KEY, launch.token)]);
        (args.map(str::to_owned).to_vec(), env)
    }

    fn supports_mcp(&self, transport: McpTransport) -> bool {
        transport == McpTransport::Http
    }

    fn state(&self) -> &'static [&'static str] {
        &[".codex", ".agents"]
    }

    fn varying_content(&self) -> VaryingContent {
        // The session, and the id of a chunk of a command's output.
        let texts = &[(r"\bChunk ID: [0-9a-f]+\b", "Chunk ID: <id>")];
        VaryingContent { fields: &["prompt_cache_key", "client_metadata"], texts }
    }

    fn memory_mb(&self) -> u64 {
        83
    }

    fn transcript(&self) -> &'static str {
        "codex-exec"
    }
}
