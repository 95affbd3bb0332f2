//! What `assay show` takes.

/// List runs, or show a run's trials or one trial
///
/// Without arguments and without --history, lists the runs in the store. With the name of a run,
/// lists the trials of the run. With the id of a trial, shows the trial's prompt and steps, which
/// skills the agent saw and opened, the changed files, and the output of the tests.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay show
  assay show 3f2a91
  assay show --history")]
pub(crate) struct ShowArgs {
    /// Name of one run, or the beginning of one trial's id; with --history, any number of runs
    #[arg(value_name = "RUN|TRIAL")]
    pub(crate) what: Vec<String>,
    /// Show how verdicts changed across the given runs, or across all runs if none is given
    #[arg(long)]
    pub(crate) history: bool,
}
