//! What `assay gateway` takes.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct GatewayArgs {
    /// Who answers: anthropic, openai, gemini, scripted:FILE, or the address of a server that speaks as the agent does
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: String,
    /// Where the provider is reached, in place of its own address
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key, in place of the provider's own
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "socket")]
    pub(crate) port: u16,
    /// Listen at a Unix socket instead
    #[arg(long, value_name = "FILE")]
    pub(crate) socket: Option<PathBuf>,
    /// The model that is asked whatever the agent asks for [default: the agent's choice]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Most tokens of one reply
    #[arg(long, value_name = "N")]
    pub(crate) max_output_tokens: Option<u64>,
    /// Stop after so many tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Stop after so many US dollars; needs --prices
    #[arg(long, value_name = "USD", requires = "prices")]
    pub(crate) max_usd: Option<f64>,
    /// Stop after so many requests
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<u64>,
    /// Requests at the provider at once; others wait
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) concurrency: u16,
    /// Requests a minute
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u32>,
    /// Tokens a minute
    #[arg(long, value_name = "N")]
    pub(crate) tokens_per_minute: Option<u64>,
    /// What tokens cost: a TOML file with [[price]] tables of model, from (a day), input, output, cache_read and cache_write, in USD
    /// per million
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// A skill whose way to the model is to be told: its folder or its SKILL.md; may be given several times
    #[arg(long = "skill", value_name = "SKILL")]
    pub(crate) skills: Vec<PathBuf>,
    /// Let one of the provider's own tools through, by type; may be given several times
    #[arg(long = "provider-tool", value_name = "TYPE")]
    pub(crate) provider_tools: Vec<String>,
    /// Pass errors on at once, and try nothing again
    #[arg(long)]
    pub(crate) no_retries: bool,
    /// Keep replies in a new cassette
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from a cassette, and ask nobody
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// An agent to run until it ends, with addresses and token in its environment; what it prints goes to standard error
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
