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
    /// Show on a terminal what the other formats always have: cost against pass rate, variance, the parts of the
    /// suite, all columns, and how to read the figures
    #[arg(long)]
    pub(crate) details: bool,
}
