//! What `assay run` takes.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct RunArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// Only these cells: task=…, condition=…, agent=…, repetition=…; names may hold *
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Say what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Play trials again that went through the gateway, with the replies that are kept in another store
    #[arg(long, value_name = "STORE")]
    pub(crate) replay: Option<PathBuf>,
    /// Trials at once, instead of the experiment's number
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Execute at most so many trials; the next run goes on
    #[arg(long, value_name = "N")]
    pub(crate) max_trials: Option<usize>,
    /// Spend at most so much: begin no trial that would be likely to pass it, and stop agents before the next request where it is
    /// reached. Estimates of missing usage do not count
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Stop at so many tokens, read and written: agents are stopped before their next request. Estimates of missing usage do not
    /// count
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Run a paid model without a cap
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Leave trials that broke in an earlier run as they are
    #[arg(long)]
    pub(crate) no_retry: bool,
    /// Skip the preflight request to each model before the first trial
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Do not play solution and nothing first; tasks that cannot be graded here then go unnoticed
    #[arg(long)]
    pub(crate) no_checks: bool,
}
