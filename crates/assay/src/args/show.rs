//! What `assay show` takes.

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A run's name, or the beginning of a trial's id; with --history, names of runs [default: list the runs]
    #[arg(value_name = "RUN|TRIAL")]
    pub(crate) what: Vec<String>,
    /// Show the verdicts of runs over time
    #[arg(long)]
    pub(crate) history: bool,
}
