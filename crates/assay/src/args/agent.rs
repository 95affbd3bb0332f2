//! What `assay agent` takes.

use clap::{Subcommand, ValueEnum};

/// Install, list and test CLI agents
///
/// CLI agents are programs such as Claude Code and Codex. Trials run them in a sandbox, from an
/// installation in ASSAY_CACHE or ~/.cache/assay; trials never install anything.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay agent install claude-code
  assay agent list")]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) what: AgentWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentWhat {
    /// List supported agents and installed versions
    ///
    /// Use it to find the names that `agents` in experiment.toml accepts.
    #[command(after_help = "Examples:
  assay agent list
  assay agent list --format json")]
    List,
    Doctor(DoctorArgs),
    Install(InstallArgs),
}

/// Install CLI agents
///
/// Installs the version that assay is tested with, unless another is given. Needs network access.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay agent install claude-code codex
  assay agent install --all")]
pub(crate) struct InstallArgs {
    /// Agents to install, as NAME or NAME@VERSION
    #[arg(required_unless_present = "all", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Install every supported agent
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,
}

/// Test whether CLI agents see skills in a sandbox
///
/// Use it after installing or upgrading an agent. Executes one trial of each agent with scripted
/// replies: no model is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay agent doctor
  assay agent doctor claude-code --sandbox docker")]
pub(crate) struct DoctorArgs {
    /// Agents to test, as NAME or NAME@VERSION [default: all installed agents]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Sandbox to run them in
    #[arg(long, value_name = "KIND", default_value = "bubblewrap")]
    pub(crate) sandbox: Kind,
    /// Where the agent finds skills [default: each agent's own way]
    #[arg(long, value_name = "WHERE")]
    pub(crate) placement: Option<Where>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Where {
    /// In the folder in which the agent looks for skills
    Native,
    /// In the system prompt
    System,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// Linux namespaces
    Bubblewrap,
    /// A container of the image `base:bookworm`
    Docker,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Docker => "docker",
        }
    }
}
