//! What can be typed after `assay search`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SearchArgs {
    #[command(subcommand)]
    pub(crate) what: Option<SearchWhat>,
    /// What is to be done, in plain words
    pub(crate) request: Option<String>,
    #[command(flatten)]
    pub(crate) source: SearchSource,
    /// Skills to show at most
    #[arg(short = 'k', long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Show the field and the sentence that made each hit, and the words they share with the request
    #[arg(long)]
    pub(crate) why: bool,
}

/// Where skills are searched.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchSource {
    /// A folder of skills; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// Skills as JSON Lines (.gz and .zst too), instead of a folder
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) corpus: Option<PathBuf>,
    /// An index made by `assay search index`; with --library or --corpus, it has to be of what is there now
    #[arg(long, value_name = "FILE")]
    pub(crate) index: Option<PathBuf>,
    /// What ranks: best, or another retriever (bm25, dense, hybrid, rerank …), whose scores say nothing of what fits
    #[arg(long, value_name = "NAME[:OPTIONS]")]
    pub(crate) retriever: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SearchWhat {
    /// Write an index, from which requests are answered in milliseconds
    Index(SearchIndexArgs),
    /// Answer requests over HTTP on this machine, or over the Model Context Protocol on standard input and output
    Serve(SearchServeArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchIndexArgs {
    /// A folder of skills; may be given several times
    #[arg(long, value_name = "DIR", required_unless_present = "corpus")]
    pub(crate) library: Vec<PathBuf>,
    /// Skills as JSON Lines (.gz and .zst too), instead of a folder
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) corpus: Option<PathBuf>,
    /// Where the index is put; an older one stays until the new one is whole
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Embed the skills for this retriever too, so that it answers at once; the vectors go into the cache
    #[arg(long, value_name = "NAME[:OPTIONS]")]
    pub(crate) retriever: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchServeArgs {
    #[command(flatten)]
    pub(crate) source: SearchSource,
    /// Listen for HTTP on this address of this machine; port 0 takes a free one [default, without --mcp: 127.0.0.1:8321]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<std::net::SocketAddr>,
    /// Speak the Model Context Protocol on standard input and output: the tool search_skills
    #[arg(long)]
    pub(crate) mcp: bool,
}
