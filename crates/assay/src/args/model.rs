//! How models are reached, and what they may cost.

/// How a model is reached, and its price.
#[derive(Debug, clap::Args)]
pub struct ModelAccess {
    /// Send requests to this URL [default: the URL of the provider's API]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Environment variable with the API key [default: the provider's, such as OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Price of input and output tokens, in USD per million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1)]
    pub price: Vec<f64>,
    /// Send no request that could bring the cost of this command above this; needs --price
    #[arg(long, value_name = "USD")]
    pub max_usd: Option<f64>,
}

/// Flags of commands that ask a paid model only with a cap.
#[derive(Debug, clap::Args)]
pub struct ModelFlags {
    /// The model and its price.
    #[command(flatten)]
    pub access: ModelAccess,
    /// Use a paid model without --max-usd
    #[arg(long)]
    pub no_cap: bool,
}

impl ModelFlags {
    /// Whether any of them is given.
    pub(crate) fn is_given(&self) -> bool {
        let ModelAccess { base_url, api_key_env, price, max_usd } = &self.access;
        self.no_cap || base_url.is_some() || api_key_env.is_some() || !price.is_empty() || max_usd.is_some()
    }
}
