//! What can be chosen of a model.

use std::path::PathBuf;
use std::time::Duration;

/// What an experiment says of a model beside its name.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOptions {
    /// Where the provider is reached, in place of its own address.
    pub base_url: Option<String>,
    /// The name of the variable that holds the key, in place of the provider's own.
    pub api_key_env: Option<String>,
    /// Whether a model that lacks its key is an error, as it is by default. One that is only looked at needs none.
    pub needs_key: bool,
    /// Most tokens of an answer, where a request does not say.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature, where a request does not say.
    pub temperature: Option<f64>,
    /// Most time for one try, its answer included. 300 seconds by default.
    pub request_timeout: Duration,
    /// Most retries of one call. 8 by default.
    pub max_retries: u32,
    /// Where relative paths of scripts start.
    pub directory: PathBuf,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key_env: None,
            needs_key: true,
            max_output_tokens: None,
            temperature: None,
            request_timeout: Duration::from_mins(5),
            max_retries: 8,
            directory: PathBuf::new(),
        }
    }
}
