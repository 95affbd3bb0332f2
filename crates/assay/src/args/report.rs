//! What `assay report` takes.

use std::path::PathBuf;

/// Report whether each skill helped in a run
///
/// Computes verdicts and figures from the trials in the store. Nothing is executed and no model is
/// called. Values of environment variables whose names end in KEY, TOKEN, SECRET or PASSWORD are
/// redacted. Look for other secrets before you publish a report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay report my-suite
  assay report my-suite --out report.html")]
pub(crate) struct ReportArgs {
    /// Name of the run; `assay show` lists the names
    pub(crate) run: String,
    /// Write to FILE; its extension (.html, .md, .json, .txt) sets the format, unless --format is given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show test cases that pass under a condition but not under the baseline, or the reverse
    #[arg(long)]
    pub(crate) tests: bool,
    /// Show more tables: cost against pass rate, variance, and groups of tasks
    #[arg(long)]
    pub(crate) details: bool,
}
