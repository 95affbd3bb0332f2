use std::path::PathBuf;

use serde_json::json;

use super::harness::{Harness, Launch, pairs};
use super::package::{LAUNCHER, Package, Registry};

/// mini-swe-agent, a small command line around one tool, `bash`. It reaches models through litellm.
#[derive(Debug)]
pub(super) struct MiniSweAgent;

/// Where it writes its steps, below its home.
const TRAJECTORY: &str = ".mini/trajectory.json";

/// What is added to its own configuration, below its home.
const CONFIG: &str = ".mini/assay.yaml";

/// The whole of its system's text in `mini.yaml` of the pinned version.
const SYSTEM: &str = "You are a helpful assistant that can interact with a computer.\n";

impl Harness for MiniSweAgent {
    fn name(&self) -> &'static str {
        "mini-swe-agent"
    }

    /// Without `datasets`, which only its batch runs on benchmarks load; with `mcp`, which litellm lacks otherwise.
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
        // A string in the template's own language: nothing in it is a template again.
        let system = match launch.context {
            "" => SYSTEM.to_owned(),
            context => format!("{{{{ {} }}}}", json!(format!("{SYSTEM}\n{context}"))),
        };
        // The caps are the experiment's: a price that it looks up itself would be another one.
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
            // The sandbox is the permission.
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
            // The gateway waits for providers; what it passes on is final.
            ("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "2"),
            // Else it looks for a list of prices in the network.
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

    fn writes(&self) -> Option<&'static str> {
        Some(TRAJECTORY)
    }
}
