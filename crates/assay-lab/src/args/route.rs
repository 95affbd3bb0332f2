//! What `assay lab route` takes.

use std::path::PathBuf;

use assay_cli::args::route::{ModelArgs, OrderArgs};
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
