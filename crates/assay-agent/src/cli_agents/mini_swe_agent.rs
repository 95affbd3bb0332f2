use std::path::PathBuf;

use serde_json::json;

use super::harness::{Harness, Launch, pairs};
use super::package::{LAUNCHER, Package, Registry};

/// mini-swe-agent, a small CLI agent with a single tool, `bash`. It calls models through litellm.
#[derive(Debug)]
pub(super) struct MiniSweAgent;

/// The transcript file, below its home.
const TRAJECTORY: &str = ".mini/trajectory.json";

/// Additions to its own configuration, below its home.
const CONFIG: &str = ".mini/assay.yaml";

/// The complete system prompt in `mini.yaml` of the pinned version.
const SYSTEM: &str = "You are a helpful assistant that can interact with a computer.\n";

impl Harness for MiniSweAgent {
    fn name(&self) -> &'static str {
        "mini-swe-agent"
    }

    /// Without `datasets`, which only its batch runs on benchmarks need; with `mcp`, which litellm
    /// lacks otherwise.
    fn package(&self) -> Package {
        Package {
            name: "mini-swe-agent",
            version: "2.4.6",
            registry: Registry::PyPi {
                lock: include_str!("mini_swe_agent.lock"),
                entry: "minisweagent.run.mini:app",
            },
        }
    }

    fn program(&self) -> &'static str {
        LAUNCHER
    }

    fn providers(&self) -> &'static [&'static str] {
        &["openai", "anthropic"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        None
    }

    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)> {
        // A string literal of the template language, so that its content is not interpreted as a
        // template.
        let system = match launch.context {
            "" => SYSTEM.to_owned(),
            context => format!("{{{{ {} }}}}", json!(format!("{SYSTEM}\n{context}"))),
        };
        // The experiment sets the caps; the agent's own price lookup could give other costs.
        let config = json!({
            "agent": { "system_template": system, "cost_limit": 0 },
            "model": { "cost_tracking": "ignore_errors" },
        });
        vec![(launch.home.join(CONFIG), config.to_string())]
    }

    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let config = launch.home.join(CONFIG).display().to_string();
        let output = launch.home.join(TRAJECTORY).display().to_string();
        let provider = if launch.provider == "anthropic" { "anthropic" } else { "openai" };
        let model = format!("{provider}/{}", launch.model);
        let args = [
            "-c",
            "mini.yaml",
            "-c",
            &config,
            "-m",
            &model,
            "-t",
            launch.prompt,
            // The sandbox replaces permission prompts.
            "-y",
            "--exit-immediately",
            "-o",
            &output,
        ];
        let own = launch.home.join(".mini").display().to_string();
        let openai = format!("{}/v1", launch.address);
        let env = pairs(&[
            ("OPENAI_API_BASE", &openai),
            ("OPENAI_API_KEY", launch.token),
            ("ANTHROPIC_API_BASE", &launch.address),
            ("ANTHROPIC_API_KEY", launch.token),
            ("MSWEA_GLOBAL_CONFIG_DIR", &own),
            ("MSWEA_CONFIGURED", "true"),
            ("MSWEA_SILENT_STARTUP", "1"),
            // The gateway already waits and retries; errors that it forwards are final.
            ("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "2"),
            // Otherwise it looks for a price list in the network.
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ]);
        (args.map(str::to_owned).to_vec(), env)
    }

    fn state(&self) -> &'static [&'static str] {
        &[".mini"]
    }

    fn memory_mb(&self) -> u64 {
        220
    }

    fn transcript(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn transcript_file(&self) -> Option<&'static str> {
        Some(TRAJECTORY)
    }
}
