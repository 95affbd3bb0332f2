use std::path::PathBuf;

use serde_json::json;

use super::{Make, Package, Registry, Seat, pairs};

/// OpenCode, a command line for any server that speaks OpenAI's chat completions.
#[derive(Debug)]
pub(super) struct OpenCode;

impl Make for OpenCode {
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

    /// One program for the system, and no Node.
    fn program(&self) -> &'static str {
        "node_modules/opencode-linux-x64/bin/opencode"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["openai"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.config/opencode/skills")
    }

    fn files(&self, seat: &Seat<'_>) -> Vec<(PathBuf, String)> {
        let model = format!("assay/{}", seat.model);
        let instructions = seat.home.join(".config/opencode/instructions.md");
        let mut config = json!({
            "autoupdate": false,
            "share": "disabled",
            "permission": "allow",
            "model": model,
            "small_model": model,
            "provider": { "assay": {
                "npm": "@ai-sdk/openai-compatible",
                "options": { "baseURL": format!("{}/v1", seat.address), "apiKey": seat.token },
                "models": { seat.model: { "limit": { "context": 200_000, "output": 32_000 } } },
            } },
        });
        let mut files = Vec::new();
        if !seat.context.is_empty() {
            config["instructions"] = json!([instructions]);
            files.push((instructions, seat.context.to_owned()));
        }
        files.push((seat.home.join(".config/opencode/opencode.json"), config.to_string()));
        files
    }

    fn invocation(&self, seat: &Seat<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let model = format!("assay/{}", seat.model);
        let args = ["run", "--format", "json", "--auto", "-m", &model, seat.prompt];
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            seat.installed("node_modules/@vscode/ripgrep-linux-x64/bin")
        );
        let env = pairs(&[
            ("PATH", &path),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ]);
        (args.map(str::to_owned).to_vec(), env)
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
