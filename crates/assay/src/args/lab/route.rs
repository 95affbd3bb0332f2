//! What `assay lab route` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct LabRouteArgs {
    #[command(subcommand)]
    pub(crate) what: LabRouteWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabRouteWhat {
    /// Evaluate how models choose a skill, on labelled requests
    ///
    /// Asks models which skill fits each request of a file, and compares the answers with routers that count words.
    #[command(after_long_help = PROMPT_FORMAT)]
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

Example:
  {"prompt_id":"p1","prompt":"make a pivot table","expected_primary_skill":"xlsx","rejected_skills":["pdf"]}
  {"prompt_id":"p2","prompt":"tell me a joke","expected_primary_skill":null}
"#;

#[derive(Debug, clap::Args)]
pub(crate) struct RouteBenchArgs {
    /// Labelled requests as JSON Lines in the format below (.gz and .zst too; - is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) prompts: PathBuf,
    /// Folders of skills to choose from
    #[arg(long, required = true, value_name = "DIR", num_args = 1..)]
    pub(crate) library: Vec<PathBuf>,
    /// A model, as provider:name; without one only words are counted
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    /// Where the models are reached, in place of their provider's own address
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key, in place of the provider's own
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// What the models' tokens cost, read and written, in USD for a million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1)]
    pub(crate) price: Vec<f64>,
    /// What is asked: a text with {{SKILL_BLOCK}}, {{USER_PROMPT}} and {{SKILL_COUNT}} [default: assay's own, which allows
    /// that no skill fits]
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// How often each request is asked, with the skills in another order each time
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repetitions: u32,
    /// Of the orders and the intervals
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Ask at most this many questions of each model now
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<usize>,
    /// Begin no question that could take the spending of a model past this
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Ask a model that costs money without a cap
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Print the size, the forecast and the first question, and ask nobody
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Questions at once
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
}
