//! What `assay route` takes.

use std::path::PathBuf;

use super::model::ModelAccess;

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

/// How a model is reached and paid.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// The model and its price.
    #[command(flatten)]
    pub model: ModelAccess,
    /// Concurrent model requests
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// How a request is asked.
#[derive(Debug, clap::Args)]
pub struct OrderArgs {
    /// File with the prompt to send [default: a built-in prompt]
    ///
    /// The file must contain {{USER_PROMPT}} (the request) and {{SKILL_BLOCK}} (the names and
    /// descriptions of the skills), and may contain {{SKILL_COUNT}} (the number of skills). The
    /// built-in prompt allows the answer that no skill fits.
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,
    /// How many times to ask a model, with the skills in a different order each time
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
    /// Seed for the orders of the skills, and for the confidence intervals of `assay lab route bench`
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}
