//! What `assay report` takes.

use std::path::PathBuf;

/// Report a run's verdicts from its records
///
/// Computes the report again from the store: nothing is executed and no model is called. --format markdown and html
/// give pages for publication, without secrets.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay report my-suite
  assay report my-suite --out report.html")]
pub(crate) struct ReportArgs {
    /// Name of the run
    pub(crate) run: String,
    /// Write to FILE; the ending .html, .md, .json or .txt sets the format
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show the verifier's checks that changed against the baseline
    #[arg(long)]
    pub(crate) tests: bool,
    /// Show cost against pass rate, variance and parts of the suite
    #[arg(long)]
    pub(crate) details: bool,
}
