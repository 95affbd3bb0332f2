//! What `assay route` takes.

use std::path::PathBuf;

use super::lab::route::{ModelArgs, OrderArgs};

/// Show which skill would be chosen for a request
///
/// Use this command to check whether a description attracts the right requests. By default,
/// descriptions are scored by the words that they share with the request (BM25). With --model, a
/// chat model is asked several times, each time with the skills in a different order. `assay lab
/// route bench` evaluates a file of labelled requests.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "assay route [OPTIONS] <REQUEST> --library <DIR>...",
    after_help = "Examples:
  assay route \"make a pivot table\" --library skills
  assay route \"make a pivot table\" --library skills --model openai:gpt-5-mini --repetitions 10"
)]
pub(crate) struct RouteArgs {
    /// The request, in plain words
    pub(crate) request: String,
    /// One or more folders of skills to choose from
    #[arg(long, required = true, value_name = "DIR", num_args = 1..)]
    pub(crate) library: Vec<PathBuf>,
    /// Chat model that chooses, as provider:name; without this option, BM25 is used
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) access: ModelArgs,
    #[command(flatten)]
    pub(crate) orders: OrderArgs,
}
