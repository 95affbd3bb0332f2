//! How a model is reached, and what it may cost.

/// Flags of commands that ask a model.
#[derive(Debug, clap::Args)]
pub struct ModelFlags {
    /// Send requests to this URL [default: the URL of the provider's API]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Environment variable with the API key [default: the provider's, such as OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Price of input and output tokens, in USD per million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1)]
    pub(crate) price: Vec<f64>,
    /// Send no request that could bring the cost of this command above this; needs --price
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Use a paid model without --max-usd
    #[arg(long)]
    pub(crate) no_cap: bool,
}

/// The values of [`ModelFlags`].
#[derive(Debug, Clone, Copy)]
pub struct ModelAccess<'a> {
    pub(crate) base_url: Option<&'a str>,
    pub(crate) api_key_env: Option<&'a str>,
    /// `IN,OUT`, or nothing.
    pub(crate) price: &'a [f64],
    pub(crate) max_usd: Option<f64>,
    pub(crate) no_cap: bool,
}

impl ModelFlags {
    /// How the model is reached.
    pub fn access(&self) -> ModelAccess<'_> {
        ModelAccess {
            base_url: self.base_url.as_deref(),
            api_key_env: self.api_key_env.as_deref(),
            price: &self.price,
            max_usd: self.max_usd,
            no_cap: self.no_cap,
        }
    }
}
