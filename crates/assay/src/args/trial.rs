//! What `assay trial` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Execute a trial from its specification
///
/// For programs that spread trials over machines; `assay plan --specs` writes the specifications.
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
/// A result that the store has already is printed again. Missing tasks and skills exit with 2.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trial exec specs/3f2a91.json
  assay trial exec specs/3f2a91.json --suite tasks --library skills")]
pub(crate) struct TrialExecArgs {
    /// The specification
    pub(crate) spec: PathBuf,
    /// A folder of tasks, or a task [default: where the task was when planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Vec<PathBuf>,
    /// A folder of skills, or a skill [default: where each skill was when planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// Folder of the scripts of scripted models [default: the experiment's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) scripts: Option<PathBuf>,
    /// Replay model replies that another store recorded
    #[arg(long, value_name = "STORE")]
    pub(crate) replay: Option<PathBuf>,
}
