//! What `assay draft requests` takes.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::model::ModelFlags;

/// Write requests that skills serve, with a language model
///
/// Skills are drawn so that few go without a request, and the model writes one request for one to three of them.
/// Requests that copy or name a skill or repeat another request are dropped. Three reviews judge the others: with three
/// approvals a request is written to FILE, with two to the sheet beside it, for people. `assay lab search bench` and
/// `assay lab route bench` read FILE. Replies are kept in the store, so that a repeated command sends only what is
/// missing. docs/DRAFTING.md describes the method and the files.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft requests skills --model openai:gpt-5 --count 100 --price 1.25,10 --max-usd 5 --out new.jsonl
  assay draft requests skills --model openai:gpt-5 --count 100 --negatives 40 --no-cap --out new.jsonl
  assay draft requests skills --from-traces ~/.claude/projects --out sessions.jsonl")]
pub(crate) struct RequestsArgs {
    /// Folders with skills, or corpora: JSON Lines, plain, .gz or .zst
    #[arg(required = true, value_name = "LIBRARY")]
    pub(crate) library: Vec<PathBuf>,
    /// Model that writes, as provider:name
    #[arg(long, value_name = "PROVIDER:MODEL", required_unless_present = "from_traces", requires = "count")]
    pub(crate) model: Option<String>,
    /// Requests to write; up to three times as many are tried
    #[arg(long, value_name = "N", requires = "model", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: Option<u32>,
    /// Requests that must not trigger a skill, beside the others
    #[arg(long, value_name = "N", default_value_t = 0, requires = "model", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) negatives: u32,
    /// File to write, as JSON Lines; others are written beside it
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// Model that reviews; the three reviews go to several in turn [default: the model that writes]
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) reviewer: Vec<String>,
    /// Seed of draws and pools
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Use only one half of the skills; the two halves are disjoint for the same seed
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<PoolName>,
    /// Labels of people for the sheet, as `assay judge labels` writes them: accept what they approve
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Also write first messages of recorded sessions; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) from_traces: Vec<PathBuf>,
    /// Also write an experiment that measures how often an agent opens the skills
    #[arg(long, value_name = "DIR", requires = "model")]
    pub(crate) experiment: Option<PathBuf>,
    /// Model calls at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrency: u32,
    /// Print the number of model calls and their cost, and send none
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}

/// A half of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PoolName {
    /// Skills for fitting
    Training,
    /// Skills for measuring
    Evaluation,
}
