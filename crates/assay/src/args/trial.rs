//! What `assay trial` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct TrialArgs {
    #[command(subcommand)]
    pub(crate) what: TrialWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrialWhat {
    /// Execute one trial from its specification, which `assay plan --specs` writes
    Exec(TrialExecArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrialExecArgs {
    /// The specification
    pub(crate) spec: PathBuf,
    /// A folder of tasks, or one of a task [default: where the task lay when it was planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Vec<PathBuf>,
    /// A folder of skills, or one of a skill [default: where each lay when it was planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// Where the scripts of scripted models lie [default: the folder of the experiment that was planned]
    #[arg(long, value_name = "DIR")]
    pub(crate) scripts: Option<PathBuf>,
    /// Play it again with the replies that are kept in another store
    #[arg(long, value_name = "STORE")]
    pub(crate) replay: Option<PathBuf>,
}
