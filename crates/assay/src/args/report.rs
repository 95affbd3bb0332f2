//! What `assay report` takes.

use std::path::PathBuf;

use assay_store::MetricSpec;

use super::judge::LabelsBy;

/// Report whether each skill helped in a run
///
/// Computes verdicts and figures from the trials in the store. Nothing is executed and no model is
/// called. Values of environment variables whose names end in KEY, TOKEN, SECRET or PASSWORD are
/// redacted. Look for other secrets before you publish a report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay report my-suite
  assay report my-suite --out report.html
  assay report my-suite --format markdown --short")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct ReportArgs {
    /// Name of the run; `assay show` lists the names
    pub(crate) run: String,
    /// Write to FILE; its extension (.html, .md, .json, .txt) sets the format, unless --format is given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// A comment of at most 15 lines, such as for a pull request; with --format markdown
    #[arg(long)]
    pub(crate) short: bool,
    /// Write one plot as SVG to --out, such as `forest`; an unknown name lists those of the run
    #[arg(long, value_name = "NAME", requires = "out", conflicts_with_all = ["short", "tests", "details"])]
    pub(crate) plot: Option<String>,
    /// Show test cases that pass under a condition but not under the baseline, or the reverse
    #[arg(long)]
    pub(crate) tests: bool,
    /// Compare conditions by a metric as well; repeatable
    ///
    /// METRIC is `score`, `tokens`, `input_tokens`, `output_tokens`, `cost_usd`, `turns`, `seconds`,
    /// `lines_changed`, a column of an imported table, or a key that the verifier wrote into its reward
    /// file as a metric. It may be followed by `,lower` or `,higher` (which is better), `,linear` or `,log`
    /// (differences or ratios), `,unit=TEXT`, `,margin=NUMBER` and `,guard=NUMBER` (the largest
    /// deterioration that is accepted).
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Vec<MetricSpec>,
    /// Correct the scores of judges by a table of labeled items
    ///
    /// The table has a row for each item with its label and the judge's verdict, and may have the columns
    /// `condition` and `task`. `assay judge labels` writes such a table.
    #[arg(long, value_name = "TABLE")]
    pub(crate) calibration: Option<PathBuf>,
    /// Column of --calibration with the labels
    #[arg(long, value_name = "COLUMN", default_value = "label", requires = "calibration")]
    pub(crate) label: String,
    /// Column of --calibration with the verdicts
    #[arg(long, value_name = "COLUMN", default_value = "verdict", requires = "calibration")]
    pub(crate) verdict: String,
    /// Who wrote the labels of --calibration
    #[arg(long, value_name = "WHO", default_value = "unknown", requires = "calibration")]
    pub(crate) labels_by: LabelsBy,
    /// Close a run that is not complete, and judge it by the trials that it has
    ///
    /// A run has no verdict before all its planned trials are done. With --final it is judged once with a share t
    /// of them, at a level of 5% × (1 − e^4t)/(1 − e^4), and the store records that it was closed. To continue the run
    /// afterwards is another look: its later reports say so. A complete run is left as it is.
    #[arg(long = "final")]
    pub(crate) close: bool,
    /// Show more tables: cost against pass rate, variance, and groups of tasks
    #[arg(long)]
    pub(crate) details: bool,
}
