//! What `assay appraise` takes.

use std::path::PathBuf;

/// Get a second opinion on results that another tool recorded
///
/// Use it before believing a difference that a tool prints: it computes the interval, the run-to-run noise and the
/// power from the results in the file, says what is not comparable, and names the cheapest next step with its cost. It
/// needs no key and no sandbox. The format is recognized by content: `claude plugin eval`, NVIDIA BENCHMARK.md, Inspect
/// logs, promptfoo, waza, Driftproof, skill-creator, BenchFlow, Harbor, and any table (.csv, .jsonl, .parquet). The exit
/// status is 0 whatever the verdict.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay appraise aggregate-result.json
  assay appraise results.csv --baseline plain --format json
  assay appraise BENCHMARK.md --badge badge.svg")]
pub(crate) struct AppraiseArgs {
    /// File or folder with the results of one evaluation
    #[arg(value_name = "FILE|DIR")]
    pub(crate) path: PathBuf,
    /// Arm that the others are compared with [default: the one whose name says so]
    #[arg(long, value_name = "ARM")]
    pub(crate) baseline: Option<String>,
    /// Compare this arm only
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
    /// Equivalence margin
    #[arg(long, value_name = "LIFT", default_value_t = 0.10)]
    pub(crate) margin: f64,
    /// Lowest and highest possible score
    #[arg(long, value_name = "LOW..HIGH", default_value = "0..1", allow_hyphen_values = true)]
    pub(crate) range: String,
    /// Column of a table with a meaning, such as task=instance_id; repeatable
    #[arg(long = "column", value_name = "MEANING=NAME")]
    pub(crate) columns: Vec<String>,
    /// Write the appraisal to this file; .html, .md, .json and .txt set the format
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write a badge (SVG) with the verdict to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
}
