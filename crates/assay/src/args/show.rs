//! What `assay show` takes.

/// List runs, or show a run's trials or one trial
///
/// Without an argument, lists the runs in the store. With the name of a run, lists its trials. With
/// the id of a trial, shows its prompt, its steps, which skills the agent saw and opened, the
/// changed files, and the output of the tests.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay show
  assay show 3f2a91
  assay show --history")]
pub(crate) struct ShowArgs {
    /// Name of a run, or the beginning of a trial's id; with --history, names of runs
    #[arg(value_name = "RUN|TRIAL")]
    pub(crate) what: Vec<String>,
    /// Show how verdicts changed from run to run [default: of all runs]
    #[arg(long)]
    pub(crate) history: bool,
}
