//! What `assay gateway` takes.

use std::path::PathBuf;

/// Run a metering proxy between an agent and its model
///
/// Use it to meter, cap, record or replay the model requests of an agent outside assay, and to see which skills reach
/// the model. Without COMMAND it serves until it is interrupted; with COMMAND until that ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay gateway --provider anthropic --max-tokens 200000 -- claude -p 'fix the build'
  assay gateway --provider openai --port 8080 --skill skills/xlsx")]
pub(crate) struct GatewayArgs {
    /// Model provider: anthropic, openai, gemini, scripted:FILE, or a server's URL
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: String,
    /// URL of the provider, in place of its own
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Environment variable with the API key, in place of the provider's own
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Port on 127.0.0.1; 0 chooses a free one
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "socket")]
    pub(crate) port: u16,
    /// Listen on a Unix socket instead
    #[arg(long, value_name = "FILE")]
    pub(crate) socket: Option<PathBuf>,
    /// Send every request to this model [default: the model the agent requests]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Limit the tokens of one reply
    #[arg(long, value_name = "N")]
    pub(crate) max_output_tokens: Option<u64>,
    /// Stop after N tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Stop after a cost in US dollars; needs --prices
    #[arg(long, value_name = "USD", requires = "prices")]
    pub(crate) max_usd: Option<f64>,
    /// Stop after N requests
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<u64>,
    /// Concurrent requests to the provider; further ones wait
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) concurrency: u16,
    /// Limit the requests per minute
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u32>,
    /// Limit the tokens per minute
    #[arg(long, value_name = "N")]
    pub(crate) tokens_per_minute: Option<u64>,
    /// Prices of tokens, as a TOML file
    ///
    /// The file has [[price]] tables with model, from (a date), input, output, cache_read and cache_write, in USD per
    /// million tokens.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Track a skill on its way to the model: its folder or SKILL.md; repeatable
    #[arg(long = "skill", value_name = "SKILL")]
    pub(crate) skills: Vec<PathBuf>,
    /// Allow one of the provider's own tools, by type; repeatable
    #[arg(long = "provider-tool", value_name = "TYPE")]
    pub(crate) provider_tools: Vec<String>,
    /// Return provider errors at once, without retries
    #[arg(long)]
    pub(crate) no_retries: bool,
    /// Record replies in a new cassette
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from a cassette; no provider is contacted
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Agent to run, with the endpoint and token in its environment
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
