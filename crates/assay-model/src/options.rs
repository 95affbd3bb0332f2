//! The options of a model.

use std::path::PathBuf;
use std::time::Duration;

/// The options of a model in an experiment, besides its name.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOptions {
    /// The provider's base URL, in place of its own.
    pub base_url: Option<String>,
    /// The variable with the key, in place of the provider's own.
    pub api_key_env: Option<String>,
    /// Whether a missing key is an error, which is the default. A model that is not called needs no
    /// key.
    pub needs_key: bool,
    /// Maximum tokens of a reply, unless a request sets it.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature, unless a request sets it.
    pub temperature: Option<f64>,
    /// Timeout of one try, including its reply. 300 seconds by default.
    pub request_timeout: Duration,
    /// Maximum number of retries of one call. 8 by default.
    pub max_retries: u32,
    /// The folder that relative script paths start from.
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
