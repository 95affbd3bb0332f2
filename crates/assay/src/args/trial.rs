//! What `assay trial` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Execute a trial from its specification
///
/// For programs that distribute trials over machines; `assay plan --specs` writes the
/// specifications.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trial exec specs/3f2a91.json
  assay trial exec specs/3f2a91.json --suite tasks --library skills")]
pub(crate) struct TrialArgs {
    #[command(subcommand)]
    pub(crate) what: TrialWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrialWhat {
    Exec(TrialExecArgs),
}

/// Execute a trial from its specification
///
/// If the store already has the result, prints it. Exits with 2 if the task or a skill is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trial exec specs/3f2a91.json
  assay trial exec specs/3f2a91.json --suite tasks --library skills")]
pub(crate) struct TrialExecArgs {
    /// File with the specification
    pub(crate) spec: PathBuf,
    /// A task or a folder of tasks; repeatable [default: the task's place when it was planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Vec<PathBuf>,
    /// A skill or a folder of skills; repeatable [default: their places when they were planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// Folder with the scripts of scripted models [default: the experiment's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) scripts: Option<PathBuf>,
    /// Do not call the model; use the replies recorded in another store
    #[arg(long, value_name = "DIR")]
    pub(crate) replay: Option<PathBuf>,
    /// Allow sandbox `none`, in which commands of the trial run with your permissions
    #[arg(long)]
    pub(crate) allow_unsandboxed: bool,
}
