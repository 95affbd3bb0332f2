//! What `assay import` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Import trials that were executed by another harness
///
/// Imported trials become a run in the store, which `assay report` and `assay audit` read like any other.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import harbor jobs/
  assay import harbor jobs/2026-05-01 --condition '*-skills=curated'")]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) what: ImportWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportWhat {
    Harbor(ImportHarborArgs),
}

/// Import job folders of Harbor
///
/// Reads results, trajectories and verifier output of old and new versions of Harbor.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import harbor jobs/ --name spring
  assay import harbor jobs/ --condition '*-skills=curated' --condition '*=none' --baseline none")]
pub(crate) struct ImportHarborArgs {
    /// Jobs, folders of jobs, or trials
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Name of the run [default: harbor-<first folder>]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Assign a condition to trials whose job, trial or agent matches PATTERN
    ///
    /// PATTERN is matched against job/trial/agent and against each of the three; it may contain *. The first match counts.
    #[arg(long, value_name = "PATTERN=CONDITION")]
    pub(crate) condition: Vec<String>,
    /// Condition that the others are compared with [default: none, if there is one]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) baseline: Option<String>,
}
