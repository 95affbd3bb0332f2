//! What `assay agent` takes.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) what: AgentWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentWhat {
    /// List the agents there are, and what is installed of them
    List,
    /// Tell whether agents see skills here, by one scripted trial each
    Doctor(DoctorArgs),
    /// Install agents, in the version that assay is tested with or in another
    Install(InstallArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// NAME or NAME@VERSION
    #[arg(required_unless_present = "all", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Install all of them
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// NAME or NAME@VERSION [default: all that are installed]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Where
    #[arg(long, value_name = "KIND", default_value = "bubblewrap")]
    pub(crate) sandbox: Kind,
    /// Where they find skills [default: each its own way]
    #[arg(long, value_name = "WHERE")]
    pub(crate) placement: Option<Where>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Where {
    /// In the folder where the agent looks by itself
    Native,
    /// In a text of the system
    System,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// Namespaces of this machine
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
