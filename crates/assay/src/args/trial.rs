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
