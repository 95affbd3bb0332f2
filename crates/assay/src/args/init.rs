//! What `assay init` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    #[command(subcommand)]
    pub(crate) what: InitWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InitWhat {
    /// Write experiment.toml into a folder
    Experiment {
        /// The folder; it is made where there is none
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Write the skeleton of a task that a skill should help with
    Task {
        /// The skill: its folder or its SKILL.md
        skill: PathBuf,
        /// The task's folder [default: tasks/<skill>]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}
