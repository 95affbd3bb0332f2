//! What `assay search` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Find the skills that fit a request
///
/// Ranks a library of skills by a request in plain words, and says so if none fits. Use it to see whether a skill is
/// found, or serve it to agents with `assay search serve`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  assay search \"make a pivot table from this export\" --library skills
  assay search \"make a pivot table\" --index skills.index --why"
)]
pub(crate) struct SearchArgs {
    #[command(subcommand)]
    pub(crate) what: Option<SearchWhat>,
    /// The request, in plain words
    pub(crate) request: Option<String>,
    #[command(flatten)]
    pub(crate) source: SearchSource,
    /// Maximum number of skills to show
    #[arg(short = 'k', long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Show the matching sentence and words of each hit
    #[arg(long)]
    pub(crate) why: bool,
}

// Where skills are searched. A doc comment would become the help of every command that includes it.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchSource {
    /// A folder of skills; repeatable
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// Skills as JSON Lines (also .gz and .zst), instead of a folder
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) corpus: Option<PathBuf>,
    /// An index written by `assay search index`
    ///
    /// With --library or --corpus, the index must be up to date.
    #[arg(long, value_name = "FILE")]
    pub(crate) index: Option<PathBuf>,
    /// Retriever: best, bm25, dense, hybrid, rerank, … [default: best]
    ///
    /// Only `best` has a threshold below which no skill fits.
    #[arg(long, value_name = "NAME[:OPTIONS]")]
    pub(crate) retriever: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SearchWhat {
    Index(SearchIndexArgs),
    Serve(SearchServeArgs),
}

/// Write an index of a library
///
/// An index answers requests in milliseconds; without one, every search reads all skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay search index --library skills --out skills.index
  assay search index --library skills --out skills.index --retriever dense")]
pub(crate) struct SearchIndexArgs {
    /// A folder of skills; repeatable
    #[arg(long, value_name = "DIR", required_unless_present = "corpus")]
    pub(crate) library: Vec<PathBuf>,
    /// Skills as JSON Lines (also .gz and .zst), instead of a folder
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) corpus: Option<PathBuf>,
    /// File for the index, replaced atomically
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Embed the skills for this retriever as well, into the cache
    #[arg(long, value_name = "NAME[:OPTIONS]")]
    pub(crate) retriever: Option<String>,
}

/// Serve searches over HTTP or MCP
///
/// Use it to give an agent a search tool over a large library. With --mcp it speaks the Model Context Protocol on
/// standard input and output.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay search serve --library skills
  assay search serve --index skills.index --mcp")]
pub(crate) struct SearchServeArgs {
    #[command(flatten)]
    pub(crate) source: SearchSource,
    /// Address to listen on; port 0 chooses a free one [default without --mcp: 127.0.0.1:8321]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<std::net::SocketAddr>,
    /// Serve the MCP tool search_skills on standard input and output
    #[arg(long)]
    pub(crate) mcp: bool,
}
