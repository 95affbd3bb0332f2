//! What `assay lab replay` takes.

use std::path::PathBuf;

use assay_cli::args::gate::Arms;

/// Replay recorded trials with decisions after each round
///
/// Use it to see what `[stopping]` would have done: every pair of arms of a table is decided once, with all
/// repetitions, and again round by round. Trials of a task and arm are taken in random order. Tasks without all
/// repetitions in both arms are left out of a pair.
///
/// With `--null` the labels of the arms mean nothing, so every `helps` and `harms` is false: trials are permuted
/// within their task, or the arms change places task by task. The command ends with 1 if more than 5.5% are false,
/// beyond two standard errors of the simulation. With `--shift` one arm is better by so much, and verdicts are right.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab replay results.csv --arms condition --repetitions 10 --format json
  assay lab replay results.jsonl.zst --arms model --repetitions 4 --null --tasks 5,12,20,40 --suites 2000
  assay lab replay graded.jsonl.zst --arms condition --repetitions 3 --null --tasks 8 --shift 0.1")]
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
    /// Range of the scores, which are brought into 0..1; others are left out
    #[arg(long, value_name = "LOW..HIGH", default_value = "0..1")]
    pub(crate) range: String,
    /// Count the verdicts of arms whose labels mean nothing
    #[arg(long)]
    pub(crate) null: bool,
    /// Add so much to the scores of one arm and count the verdicts that find it
    ///
    /// The scores stay within 0 and 1. No share of verdicts is too large then.
    #[arg(long, value_name = "D", requires = "null", default_value_t = 0.0)]
    pub(crate) shift: f64,
    /// Numbers of tasks of the suites that are drawn
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "null", default_values_t = [5, 12, 20])]
    pub(crate) tasks: Vec<usize>,
    /// Suites that are drawn for each number of tasks
    #[arg(long, value_name = "N", requires = "null", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) suites: u64,
    /// Seed of the order of trials, and of the suites that are drawn
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
