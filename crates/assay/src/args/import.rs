//! What `assay import` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Import trials that another harness executed
///
/// Use it to analyze existing results: the trials become a run in the store, which `assay report`
/// and `assay audit` read like any other run.
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
/// Reads results, trajectories and verifier output of old and new versions of Harbor. Conditions are
/// inferred from names and from the skills that agents were given, unless --condition assigns them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import harbor jobs/ --name spring
  assay import harbor jobs/ --condition '*-skills=curated' --condition '*=none' --baseline none")]
pub(crate) struct ImportHarborArgs {
    /// Folders of jobs or trials, or folders that contain them
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Name of the run [default: harbor-<first folder>]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Assign a condition to trials that match PATTERN; repeatable, the first match counts
    ///
    /// PATTERN may contain * and is matched against the names of job, trial and agent, and against
    /// job/trial/agent.
    #[arg(long, value_name = "PATTERN=CONDITION")]
    pub(crate) condition: Vec<String>,
    /// Condition that the others are compared with [default: `none`, if there is one]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) baseline: Option<String>,
}
