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
    /// Execute one cell of an experiment anew, to look at it; no run counts it
    Run(TrialRunArgs),
    /// Execute one trial from its specification, which `assay plan --specs` writes
    #[command(hide = true)]
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

#[derive(Debug, clap::Args)]
pub(crate) struct TrialRunArgs {
    /// The task's folder
    pub(crate) task: PathBuf,
    /// The condition
    #[arg(long, default_value = "none")]
    pub(crate) condition: String,
    /// The experiment that says agents, skills and sandbox [default: the next experiment.toml above the task]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Which agent, by name, instead of the experiment's first: loop, oracle, nop
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Which repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repetition: u32,
    /// Leave the sandbox's folders for looking at
    #[arg(long)]
    pub(crate) keep: bool,
}
