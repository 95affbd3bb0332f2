//! What `assay report` takes.

use std::path::PathBuf;

/// Report whether each skill helped in a run
///
/// Computes verdicts and figures from the trials in the store. Nothing is executed and no model is
/// called. API keys, tokens and passwords in the environment are redacted, so a report can be
/// published.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay report my-suite
  assay report my-suite --out report.html")]
pub(crate) struct ReportArgs {
    /// Name of the run, as `assay show` lists it
    pub(crate) run: String,
    /// Write to FILE; its extension .html, .md, .json or .txt sets the format
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show which checks of the tests change from the baseline to a condition
    #[arg(long)]
    pub(crate) tests: bool,
    /// Show more tables: cost against pass rate, variance, and parts of the suite
    #[arg(long)]
    pub(crate) details: bool,
}
