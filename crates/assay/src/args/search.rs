//! What `assay search` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Find the skills that fit a request
///
/// Ranks the skills of a library for a request in plain words. If no skill fits, the output says
/// so. Use this command to check whether a skill is found. `assay search serve` gives agents the
/// same search. At least one of --library, --corpus and --index is required.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "assay search [OPTIONS] <REQUEST>\n       assay search <COMMAND>",
    after_help = "Examples:
  assay search \"make a pivot table from this export\" --library skills
  assay search \"make a pivot table\" --index skills.index --why"
)]
pub(crate) struct SearchArgs {
    #[command(subcommand)]
    pub(crate) what: Option<SearchWhat>,
    /// The request, in plain words; required unless a subcommand is given
    pub(crate) request: Option<String>,
    #[command(flatten)]
    pub(crate) source: SearchSource,
    /// Maximum number of skills to show
    #[arg(short = 'k', long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Show why each skill matches: the best-matching sentence and the matching words
    #[arg(long)]
    pub(crate) why: bool,
}

// Where skills are searched. A doc comment would become the help of every command that includes it.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchSource {
    /// Folder of skills; repeatable
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// Skills as JSON Lines (also .gz and .zst), instead of --library
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) corpus: Option<PathBuf>,
    /// Index written by `assay search index`
    ///
    /// If neither --library nor --corpus is given, only the index is searched. With --library or
    /// --corpus, the search fails if the skills have changed since the index was written.
    #[arg(long, value_name = "FILE")]
    pub(crate) index: Option<PathBuf>,
    /// Ranking method: best, bm25, bm25f, dense, hybrid, rerank, … [default: best]
    ///
    /// With retrievers other than `best`, every skill that is found counts as a fit, however low its
    /// score. OPTIONS are key=value pairs, such as bm25:k1=0.9,b=0.4; docs/RETRIEVAL.md lists all
    /// retrievers and their options.
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
/// Use an index for large libraries: a search of an index takes milliseconds, while every search
/// without an index reads all skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay search index --library skills --out skills.index
  assay search index --library skills --out skills.index --retriever dense")]
pub(crate) struct SearchIndexArgs {
    /// Folder of skills; repeatable
    #[arg(long, value_name = "DIR", required_unless_present = "corpus")]
    pub(crate) library: Vec<PathBuf>,
    /// Skills as JSON Lines (also .gz and .zst), instead of --library
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) corpus: Option<PathBuf>,
    /// File for the index; an existing file is replaced atomically
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Also compute the embeddings that this retriever needs, and cache them
    #[arg(long, value_name = "NAME[:OPTIONS]")]
    pub(crate) retriever: Option<String>,
}

/// Serve searches over HTTP or MCP
///
/// Use this command to give agents a search tool for a large library: over HTTP, or with --mcp as a
/// tool of the Model Context Protocol. At least one of --library, --corpus and --index is required.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay search serve --library skills
  assay search serve --index skills.index --mcp")]
pub(crate) struct SearchServeArgs {
    #[command(flatten)]
    pub(crate) source: SearchSource,
    /// Loopback address to listen on; port 0 chooses a free port [default without --mcp: 127.0.0.1:8321]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<std::net::SocketAddr>,
    /// Serve the MCP tool `search_skills` on standard input and output
    #[arg(long)]
    pub(crate) mcp: bool,
}
