//! What `assay route` takes.

use std::path::PathBuf;

use super::lab::route::{ModelArgs, OrderArgs};

/// Show which skill would be chosen for a request
///
/// Counts words by default; --model asks a chat model, with the skills in another order each time. Use it to see whether
/// a description attracts the right requests; `assay lab route bench` measures many.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay route \"make a pivot table\" --library skills
  assay route \"make a pivot table\" --library skills --model openai:gpt-5-mini --repetitions 10")]
pub(crate) struct RouteArgs {
    /// The request, in plain words
    pub(crate) request: String,
    /// Folders of skills to choose from
    #[arg(long, required = true, value_name = "DIR", num_args = 1..)]
    pub(crate) library: Vec<PathBuf>,
    /// Chat model that chooses, as provider:name [default: BM25 over descriptions]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) access: ModelArgs,
    #[command(flatten)]
    pub(crate) orders: OrderArgs,
}
