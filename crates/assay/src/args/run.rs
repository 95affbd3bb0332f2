//! What `assay run` takes.

use std::path::PathBuf;

/// Run an experiment: agents with and without skills
///
/// Executes every trial that the store has no result for, and prints the report. Interrupt it at any time: the next
/// `assay run` continues. Oracle and no-op checks come first, so that ungradable tasks are excluded.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_help = "Examples:
  assay run experiment.toml --dry-run
  assay run experiment.toml --jobs 8 --max-usd 20")]
pub(crate) struct RunArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// Run only cells that match task=…, condition=…, agent=…, repetition=…
    ///
    /// Names may contain *.
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Print what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replay model replies that another store recorded
    ///
    /// Applies to trials that went through the gateway.
    #[arg(long, value_name = "STORE")]
    pub(crate) replay: Option<PathBuf>,
    /// Concurrent trials [default: as in the experiment]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Execute at most N trials; the next run continues
    #[arg(long, value_name = "N")]
    pub(crate) max_trials: Option<usize>,
    /// Spend at most USD US dollars
    ///
    /// No trial starts that would probably exceed the cap, and agents are stopped before the request that reaches it.
    /// Estimates of missing usage do not count.
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Use at most N tokens, input and output
    ///
    /// Agents are stopped before the request that reaches the cap. Estimates of missing usage do not count.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Run a paid model without a cap
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Do not retry trials that ended with an infrastructure error
    #[arg(long)]
    pub(crate) no_retry: bool,
    /// Skip the preflight request to each model
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Skip the oracle and no-op pre-checks
    ///
    /// Ungradable tasks will not be detected.
    #[arg(long)]
    pub(crate) no_checks: bool,
}
