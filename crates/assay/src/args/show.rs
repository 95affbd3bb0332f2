//! What `assay show` takes.

/// List runs, or show a run's trials or one trial
///
/// Without an argument it lists the runs in the store. A trial is shown with its prompt, steps, skill exposure, changed
/// files and verifier output.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay show
  assay show 3f2a91
  assay show --history")]
pub(crate) struct ShowArgs {
    /// A run's name or the beginning of a trial's id; with --history, names of runs
    #[arg(value_name = "RUN|TRIAL")]
    pub(crate) what: Vec<String>,
    /// Show verdicts of past runs over time
    #[arg(long)]
    pub(crate) history: bool,
}
