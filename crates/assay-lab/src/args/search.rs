//! What `assay lab search` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Evaluate, train and probe retrievers
///
/// docs/lab/RETRIEVAL.md has the results on public skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab search bench --corpus corpus.jsonl --queries queries.jsonl
  assay lab search train --corpus corpus.jsonl --queries queries.jsonl")]
pub(crate) struct LabSearchArgs {
    #[command(subcommand)]
    pub(crate) what: LabSearchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabSearchWhat {
    Bench(SearchBenchArgs),
    Train(SearchTrainArgs),
    Erase(SearchEraseArgs),
}

/// Evaluate retrievers on labelled queries
///
/// Reports NDCG, recall and other measures with confidence intervals, and paired tests against the
/// first retriever.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab search bench --corpus corpus.jsonl --queries queries.jsonl
  assay lab search bench --corpus corpus.jsonl --queries queries.jsonl --retriever bm25 --retriever dense")]
pub(crate) struct SearchBenchArgs {
    /// Skills as JSON Lines (also .gz and .zst; `-` is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Labelled queries, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Also report by category: JSON Lines of `id` and `category`, as `assay lab taxonomy assign` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) categories: Option<PathBuf>,
    /// Relevance judgements in the format of TREC or SkillRet [default: those in the queries]
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: Option<PathBuf>,
    /// Queries with skills that must not be found, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) negatives: Option<PathBuf>,
    /// A retriever, best:held-out, or run:FILE for a TREC run; repeatable [default: all installed]
    ///
    /// The others are compared with the first. best:held-out ranks each repository's queries with a model that was fitted
    /// to the other repositories.
    #[arg(long = "retriever", value_name = "NAME[:OPTIONS]")]
    pub(crate) retrievers: Vec<String>,
    /// Write the ranking of each retriever to DIR, in TREC's format
    #[arg(long, value_name = "DIR")]
    pub(crate) run_out: Option<PathBuf>,
    /// Compare the order of the retrievers with that in another report (JSON)
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Measure off-topic rejection on these queries instead
    ///
    /// JSON Lines with `query` and `kind`. Reports how many `best` rejects and how many labelled queries it answers, by size
    /// of the library.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["retrievers", "negatives", "run_out", "against"])]
    pub(crate) abstention: Option<PathBuf>,
    /// Seed for bootstrap intervals and tests
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

/// Measure how much single sentences of a query matter
///
/// Masks each sentence of a query in turn and searches again, with every retriever.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab search erase --corpus corpus.jsonl --queries queries.jsonl
  assay lab search erase --corpus corpus.jsonl --queries queries.jsonl --retriever best")]
pub(crate) struct SearchEraseArgs {
    /// Skills as JSON Lines (also .gz and .zst; `-` is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Labelled queries, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Relevance judgements in the format of TREC or SkillRet [default: those in the queries]
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: Option<PathBuf>,
    /// A retriever; repeatable [default: all that are installed, and bm25:stemmer=english]
    #[arg(long = "retriever", value_name = "NAME[:OPTIONS]")]
    pub(crate) retrievers: Vec<String>,
    /// Seed for bootstrap intervals and tests
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

/// Fit the weights of `best` to labelled queries
///
/// Prints the weights as JSON. The built-in weights were fitted with this command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab search train --corpus corpus.jsonl --queries queries.jsonl
  assay lab search train --corpus corpus.jsonl --queries queries.jsonl --off-topic off-topic.jsonl")]
pub(crate) struct SearchTrainArgs {
    /// Skills as JSON Lines (also .gz and .zst; `-` is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Labelled queries, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Queries with skills that must not be found, as JSON Lines; the confidence is fitted to them too
    #[arg(long, value_name = "FILE")]
    pub(crate) negatives: Option<PathBuf>,
    /// Off-topic queries, as JSON Lines; their rejection is fitted too
    #[arg(long, value_name = "FILE")]
    pub(crate) off_topic: Option<PathBuf>,
    /// Also fit a linear map of query vectors, for `dense:adapter=FILE`, and write it to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) adapter: Option<PathBuf>,
    /// Retriever whose vectors are mapped: `dense`, with its options
    #[arg(long, value_name = "NAME", default_value = "dense", requires = "adapter")]
    pub(crate) retriever: String,
}
