//! What `assay worker` takes.

use super::permission::ForeignFlags;

/// Execute trials of a run that another process started
///
/// Executes trials of `assay run --executor workers` until none is left. Start workers on any
/// machine that has the store, the tasks and the skills in the same folders, for example on a
/// shared file system. A trial that another worker has claimed is left to it. If that machine fails,
/// the trial is executed again once its lease has ended (two minutes, or ASSAY_LEASE_SECONDS).
///
/// A worker stops if its machine cannot execute trials: less than 1 GiB of disk space is left,
/// Docker does not answer, or three consecutive trials had infrastructure errors of this machine.
/// The other workers execute its trials. Exits with 3 in this case.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay worker --store /shared/.assay --run my-suite
  assay worker --store /shared/.assay --idle-exit 600 --jobs 8 --format json")]
pub(crate) struct WorkerArgs {
    /// Execute trials of this run only [default: of every run that has work for workers]
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// Concurrent trials
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: u16,
    /// Exit after N trials
    #[arg(long, value_name = "N")]
    pub(crate) max_trials: Option<usize>,
    /// Wait up to SECONDS for the run, and for further trials, before exiting [default: 0]
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true)]
    pub(crate) idle_exit: u64,
    #[command(flatten)]
    pub(crate) permissions: ForeignFlags,
}
