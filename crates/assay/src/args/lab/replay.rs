//! What `assay lab replay` takes.

use std::path::PathBuf;

use clap::ValueEnum;

/// Replay recorded trials with decisions after each round
///
/// Use it to see what `[stopping]` would have done: every pair of arms of a table is decided once, with all
/// repetitions, and again round by round. Trials of a task and arm are taken in random order. Tasks without all
/// repetitions in both arms are left out of a pair.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab replay results.jsonl.zst --arms model --repetitions 4
  assay lab replay results.csv --arms condition --repetitions 10 --format json")]
pub(crate) struct ReplayArgs {
    /// Table with a row for each trial
    ///
    /// CSV, JSON Lines or Parquet, with the columns `task`, `score`, and `model` or `condition`.
    pub(crate) table: PathBuf,
    /// Column whose values are compared
    #[arg(long, value_name = "COLUMN")]
    pub(crate) arms: Arms,
    /// Trials of each task and arm, and rounds at most
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) repetitions: u16,
    /// Equivalence margin
    #[arg(long, value_name = "D", default_value_t = 0.1)]
    pub(crate) margin: f64,
    /// Seed of the order of trials
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What the arms of a replay are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arms {
    /// Models, within a condition
    Model,
    /// Conditions, within a model
    Condition,
}
