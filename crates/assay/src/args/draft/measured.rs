//! The model that a draft is to measure.

/// The model that a draft is to measure, and how it is reached.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasuredModel {
    /// Model that is to be measured: asked without the skill what it would do, before tasks are drafted
    ///
    /// What it does anyway can only be a control, and too few other directives end the draft. It also does the work of each task
    /// without the skill in validation, and attempts each accepted task as an agent, once without and once with the skill. A script
    /// (`scripted:FILE`) answers these requests as well.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) measured: Option<String>,
    /// Price of the measured model's input and output tokens, in USD per million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1, requires = "measured")]
    pub(crate) measured_price: Vec<f64>,
    /// Send the measured model's requests to this URL
    #[arg(long, value_name = "URL", requires = "measured")]
    pub(crate) measured_base_url: Option<String>,
    /// Environment variable with the measured model's API key
    #[arg(long, value_name = "NAME", requires = "measured")]
    pub(crate) measured_api_key_env: Option<String>,
}
