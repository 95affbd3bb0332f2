//! What `assay lab judge` takes.

use std::path::PathBuf;

/// Simulate judges on labeled items and correct their rates
///
/// Judges of known sensitivity and specificity judge the items of a table with labels. A random half of the
/// tasks is the calibration set for the other half. Prints how often intervals contain the true rates
/// and differences, as judged and corrected, and their width as a multiple of intervals with known error rates.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab judge labels.jsonl.zst --label human --by agent --cluster task
  assay lab judge labels.csv --label human --by agent --cluster task --items --format json")]
pub(crate) struct LabJudgeArgs {
    /// Table with a row for each labeled item
    pub(crate) table: PathBuf,
    /// Column with the labels
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: String,
    /// Column with the groups
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: String,
    /// Column with the tasks, which are split in halves
    #[arg(long, value_name = "COLUMN")]
    pub(crate) cluster: String,
    /// Compute intervals over items instead of tasks
    #[arg(long)]
    pub(crate) items: bool,
    /// Simulations of each judge
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) repetitions: usize,
    /// Seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
