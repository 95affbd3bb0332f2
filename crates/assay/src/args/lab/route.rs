//! What `assay lab route` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Evaluate routers on labelled requests
///
/// A router chooses the skill for a request, by matching words or with a chat model.
/// docs/lab/ROUTING.md has the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab route bench --prompts prompts.jsonl --library skills
  assay lab route bench --prompts prompts.jsonl --library skills --dry-run")]
pub(crate) struct LabRouteArgs {
    #[command(subcommand)]
    pub(crate) what: LabRouteWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabRouteWhat {
    Bench(RouteBenchArgs),
}

/// The format of the prompt file, as `lab route bench --help` prints it; docs/lab/ROUTING.md has the same table.
const PROMPT_FORMAT: &str = r#"Prompt file: JSON Lines, one request a line. An unknown key is an error.
  prompt_id                    unique in the file (required)
  prompt                       the request (required)
  expected_primary_skill       name of the skill that serves it best; null, "" or "none": no skill does
  acceptable_secondary_skills  names of skills that serve it too
  rejected_skills              names of skills that must not be chosen
  off_topic                    true: no skill serves it
  reason                       why; "Negative control …" means off topic

Example line:
  {"prompt_id":"p1","prompt":"make a pivot table","expected_primary_skill":"xlsx","rejected_skills":["pdf"]}
  {"prompt_id":"p2","prompt":"tell me a joke","expected_primary_skill":null}

Examples:
  assay lab route bench --prompts prompts.jsonl --library skills
  assay lab route bench --prompts prompts.jsonl --library skills --model openai:gpt-5-mini --max-runs 100
"#;

/// Evaluate how models choose a skill
///
/// Sends each request of a file to models that choose a skill, with the skills in several orders,
/// and compares their answers with routers that match words (lexical routers). Answers are kept in
/// the store, so an interrupted evaluation resumes.
#[derive(Debug, clap::Args)]
#[command(after_help = PROMPT_FORMAT)]
pub(crate) struct RouteBenchArgs {
    /// Labelled requests as JSON Lines in the format below (also .gz and .zst; `-` is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) prompts: PathBuf,
    /// One or more folders of skills to choose from
    #[arg(long, required = true, value_name = "DIR", num_args = 1..)]
    pub(crate) library: Vec<PathBuf>,
    /// Chat model, as provider:name; repeatable [default: lexical routers only]
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) access: ModelArgs,
    #[command(flatten)]
    pub(crate) orders: OrderArgs,
    /// Send at most N requests to each model in this invocation
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<usize>,
    /// Use a paid model without --max-usd or --max-runs
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Print the number of requests, the estimated cost and the first prompt; send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

// How a model is reached and paid. A doc comment would become the help of every command that includes it.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// Send requests to this URL [default: the URL of the provider's API]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Environment variable with the API key [default: the provider's, such as OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Price of input and output tokens, in USD per million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1)]
    pub(crate) price: Vec<f64>,
    /// Stop when the requests to a model have cost this many US dollars; needs --price
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_usd: Option<f64>,
    /// Concurrent model requests
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
}

// How a request is asked. Likewise without a doc comment.
#[derive(Debug, clap::Args)]
pub(crate) struct OrderArgs {
    /// File with the prompt to send [default: a built-in prompt]
    ///
    /// The file must contain {{USER_PROMPT}} (the request) and {{SKILL_BLOCK}} (the names and
    /// descriptions of the skills), and may contain {{SKILL_COUNT}} (the number of skills). The
    /// built-in prompt allows the answer that no skill fits.
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// How many times to ask a model, with the skills in a different order each time
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repetitions: u32,
    /// Seed for the orders of the skills, and for the confidence intervals of `assay lab route bench`
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}
