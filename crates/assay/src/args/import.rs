//! What `assay import` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) what: ImportWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportWhat {
    /// Read job folders of Harbor, old and new
    Harbor(ImportHarborArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportHarborArgs {
    /// Jobs, folders of jobs, or trials
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// The run's name [default: harbor-<the first folder>]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The condition of trials whose job/trial/agent, or one of the three, fits; names may hold *; the first that fits wins
    #[arg(long, value_name = "PATTERN=CONDITION")]
    pub(crate) condition: Vec<String>,
    /// The condition the others are compared with [default: none, where there is one]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) baseline: Option<String>,
}
