//! What `assay init` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Write an experiment, or the skeleton of a task
///
/// Start here: write an experiment, copy skills into its folder `skills`, and write at least five tasks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay init experiment my-suite
  assay init task skills/xlsx")]
pub(crate) struct InitArgs {
    #[command(subcommand)]
    pub(crate) what: InitWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InitWhat {
    /// Write an experiment.toml
    ///
    /// Creates the folders `skills` and `tasks` beside it. Existing files are never overwritten.
    #[command(after_help = "Examples:
  assay init experiment
  assay init experiment my-suite")]
    Experiment {
        /// Folder of the experiment; created if missing
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Write the skeleton of a task for a skill
    ///
    /// Fill in its instruction, tests and solution, then check it with `assay task check`.
    #[command(after_help = "Examples:
  assay init task skills/xlsx
  assay init task skills/xlsx --out tasks/pivot-table")]
    Task {
        /// The skill that the task is about: its folder or its SKILL.md
        skill: PathBuf,
        /// Folder of the task [default: tasks/<skill>]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}
