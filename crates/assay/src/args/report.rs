//! What `assay report` takes.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The run's name
    pub(crate) run: String,
    /// Write it to a file; one that ends in .html, .md or .json says its format itself
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show the verifiers' tests that a condition turned from failed to passed or back
    #[arg(long)]
    pub(crate) tests: bool,
    /// Show cost against pass rate, variance, and the parts of the suite too, as the other formats do
    #[arg(long)]
    pub(crate) details: bool,
}
