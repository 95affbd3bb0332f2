//! What `assay gateway` takes.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;

/// Run a metering proxy between an agent and its model
///
/// Use it for an agent that assay did not start: it counts and limits the agent's model requests,
/// records or replays the replies, and shows which skills reach the model. With COMMAND, runs that
/// agent and exits when it does. Without COMMAND, prints the environment variables to set, and
/// serves until interrupted. In both cases it lists the requests at the end.
///
/// Once a cap (--max-tokens, --max-usd, --max-requests) is reached, further requests are refused.
/// Exits with 1 if a cap refused a request, if COMMAND failed, or if recording or replay failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay gateway --provider anthropic --max-tokens 200000 -- claude -p 'fix the build'
  assay gateway --provider openai --port 8080 --skill skills/xlsx")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    pub(crate) what: Option<GatewayWhat>,
    #[command(flatten)]
    pub(crate) proxy: Option<ProxyArgs>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GatewayWhat {
    Serve(ServeArgs),
}

/// Keep the budget and rate limits of a run's workers
///
/// Workers of `assay run --executor workers` and `--executor slurm` ask this process before each
/// trial and before each request to a provider, and report what requests cost. It enforces
/// --max-usd and --max-tokens of `assay run`, the rate limits given here, and the waits that a
/// provider requests from any worker. Keys and prompts do not pass through it.
///
/// While it does not answer, workers wait: no trial starts, and no request is sent. Started again,
/// it continues with what has been spent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay gateway serve --run my-suite
  assay gateway serve --run my-suite --listen 10.0.0.5:7400 --requests-per-minute 500")]
pub(crate) struct ServeArgs {
    /// The run
    #[arg(long, value_name = "NAME")]
    pub(crate) run: String,
    /// Address and port to listen on; port 0 chooses a free one
    ///
    /// By default, only workers on this machine can connect. For workers on other machines, name an address of
    /// a network that you trust: nothing is encrypted.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Name or address by which workers reach this machine [default: the address of --listen]
    ///
    /// If it listens on all addresses (0.0.0.0), the default is its host name.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Wait up to SECONDS for the run to begin [default: 0]
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true)]
    pub(crate) wait: u64,
    /// Send at most N requests per minute to each provider
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u32>,
    /// After N tokens within a minute, of all providers, further requests wait
    #[arg(long, value_name = "N")]
    pub(crate) tokens_per_minute: Option<u64>,
}

/// A proxy between an agent and its model.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// Model provider: anthropic, openai, gemini, scripted:FILE, or a server's URL
    ///
    /// A server at a URL must have the API that the agent uses: Anthropic, OpenAI or Gemini.
    /// scripted:FILE answers from a script, for tests.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: String,
    /// Send requests to this URL instead of the provider's
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Environment variable with the API key [default: the provider's, such as OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Port on 127.0.0.1; 0 chooses a free one
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "socket")]
    pub(crate) port: u16,
    /// Listen on a Unix socket instead of a port
    #[arg(long, value_name = "FILE")]
    pub(crate) socket: Option<PathBuf>,
    /// Send every request to this model [default: the model the agent requests]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Limit the output tokens of each reply
    #[arg(long, value_name = "N")]
    pub(crate) max_output_tokens: Option<u64>,
    /// Refuse further requests after N tokens, input and output
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Refuse further requests after this cost in US dollars; needs --prices
    #[arg(long, value_name = "AMOUNT", requires = "prices")]
    pub(crate) max_usd: Option<f64>,
    /// Refuse further requests after N requests
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<u64>,
    /// Concurrent requests to the provider; further ones wait
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) concurrency: u16,
    /// Send at most N requests per minute; further ones wait
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u32>,
    /// After N tokens within a minute, further requests wait
    #[arg(long, value_name = "N")]
    pub(crate) tokens_per_minute: Option<u64>,
    /// Prices of tokens, as a TOML file
    ///
    /// Each [[price]] table has the keys `model`, `from` (first day on which the prices apply),
    /// `input`, `output`, `cache_read`, `cache_write`, `cache_write_1h` and `above_200k` (a table of
    /// prices for long prompts); prices are in US dollars per million tokens.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Report whether this skill (a folder or a SKILL.md) reaches the model; repeatable
    ///
    /// Shows in which request its description and its body were first sent, and how much of the
    /// body.
    #[arg(long = "skill", value_name = "SKILL")]
    pub(crate) skills: Vec<PathBuf>,
    /// Allow this type of tool that the provider itself executes, such as web_search; repeatable
    ///
    /// Other tools of this kind are removed from requests.
    #[arg(long = "provider-tool", value_name = "TYPE")]
    pub(crate) provider_tools: Vec<String>,
    /// Do not retry failed requests; return the provider's error at once
    #[arg(long)]
    pub(crate) no_retries: bool,
    /// Record replies in a cassette, a new file that --replay reads
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from a cassette; the provider is not contacted
    ///
    /// --provider and its API key are required all the same. The replay fails if a request differs
    /// from the recorded ones. FILE is a cassette, not a store as in `assay run --replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Agent to run; its environment has the gateway's URL, and a key for the gateway instead of yours
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
