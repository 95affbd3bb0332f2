//! What `assay export` takes.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// Export the store's results for other tools
///
/// Use it to analyze trials with DuckDB, Polars, pandas or a spreadsheet. Nothing in the store
/// changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export data --as csv --out tables
  assay export data my-suite --as parquet --out tables")]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    pub(crate) what: ExportWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExportWhat {
    Data(ExportDataArgs),
}

/// Export trials as tables
///
/// Writes four files to DIR: trials, tasks, checks (the tests of the verifiers) and exposure (which
/// skills agents saw and opened). docs/EXPORT.md describes each column, with queries that reproduce
/// the figures of `assay report`. Damaged records are listed and left out; the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export data --as csv --out tables
  assay export data my-suite --as jsonl --out tables --force")]
pub(crate) struct ExportDataArgs {
    /// Names of runs [default: all runs]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Format of the tables
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) table_format: ExportFormat,
    /// Folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Jsonl,
    /// Apache Parquet; only in builds with the feature `parquet`
    Parquet,
}
