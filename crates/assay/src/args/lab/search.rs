//! What `assay lab search` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct LabSearchArgs {
    #[command(subcommand)]
    pub(crate) what: LabSearchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabSearchWhat {
    /// Evaluate retrievers on labelled queries
    Bench(SearchBenchArgs),
    /// Fit the weights of `best` to labelled queries
    Train(SearchTrainArgs),
    /// Measure how much single sentences of a query matter
    Erase(SearchEraseArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchBenchArgs {
    /// Skills as JSON Lines (.gz and .zst too; - is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Requests with the skills that serve them, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Judgements, in TREC's layout or SkillRet's, in place of those in the requests
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: Option<PathBuf>,
    /// Requests that must not lead to certain skills, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) negatives: Option<PathBuf>,
    /// A retriever; best:held-out, which asks for each house a model fitted to the others; or run:FILE for a TREC run made
    /// elsewhere. The first is what the others are compared with [default: all,
    /// and bm25:stemmer=english]
    #[arg(long = "retriever", value_name = "NAME[:OPTIONS]")]
    pub(crate) retrievers: Vec<String>,
    /// Write each retriever's TREC run into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) run_out: Option<PathBuf>,
    /// A report of another benchmark (--format json): do both put the retrievers in the same order?
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Measure instead how many of these off-topic requests (JSON Lines with `query` and `kind`) `best` declines, and how many of
    /// the others it answers, by size of library
    #[arg(long, value_name = "FILE", conflicts_with_all = ["retrievers", "negatives", "run_out", "against"])]
    pub(crate) abstention: Option<PathBuf>,
    /// Of the intervals and tests
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchEraseArgs {
    /// Skills as JSON Lines (.gz and .zst too; - is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Labelled queries, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Relevance judgements in TREC's or SkillRet's format, in place of those in the queries
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: Option<PathBuf>,
    /// A retriever; may be given several times [default: all that are installed, and bm25:stemmer=english]
    #[arg(long = "retriever", value_name = "NAME[:OPTIONS]")]
    pub(crate) retrievers: Vec<String>,
    /// Seed for bootstrap intervals and tests
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchTrainArgs {
    /// Skills as JSON Lines (.gz and .zst too; - is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Requests with the skills that serve them, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// Requests that must not lead to certain skills, as JSON Lines: confidence is fitted to them too
    #[arg(long, value_name = "FILE")]
    pub(crate) negatives: Option<PathBuf>,
    /// Off-topic requests, as JSON Lines: the weights by which requests are declined are fitted too
    #[arg(long, value_name = "FILE")]
    pub(crate) off_topic: Option<PathBuf>,
    /// Fit a linear map of requests' vectors too, for `dense:adapter=FILE`, and put it there
    #[arg(long, value_name = "FILE")]
    pub(crate) adapter: Option<PathBuf>,
    /// The retriever whose vectors it maps: `dense`, with its options
    #[arg(long, value_name = "NAME", default_value = "dense", requires = "adapter")]
    pub(crate) retriever: String,
}
