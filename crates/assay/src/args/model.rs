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

#[cfg(test)]
mod tests {
    use clap::{Args as _, CommandFactory as _};

    use super::ModelFlags;
    use crate::args::Args;

    /// Each command below a command, with its path.
    fn list_commands(command: &clap::Command, path: &str, into: &mut Vec<(String, clap::Command)>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name());
            into.push((path.clone(), sub.clone()));
            list_commands(sub, &path, into);
        }
    }

    /// Commands with a price for one model take all flags of a model, with one wording.
    #[test]
    fn flags_of_a_model_are_the_same_in_every_command() {
        let model = ModelFlags::augment_args(clap::Command::new("model"));
        let help = |command: &clap::Command, flag: &str| {
            let found = command.get_arguments().find(|found| found.get_long() == Some(flag))?;
            Some((found.get_help()?.to_string(), found.get_value_names().map(<[_]>::to_vec)))
        };
        let mut commands = Vec::new();
        list_commands(&Args::command(), "assay", &mut commands);
        commands.retain(|(_, command)| help(command, "price").is_some());
        let paths: Vec<&str> = commands.iter().map(|(path, _)| path.as_str()).collect();
        for path in ["assay draft run", "assay draft requests", "assay judge items", "assay judge regrade"] {
            assert!(paths.contains(&path), "{path} is not in {paths:?}");
        }
        assert!(paths.contains(&"assay audit corpus") && paths.contains(&"assay route"), "{paths:?}");
        for (path, command) in &commands {
            for flag in ["base-url", "api-key-env", "price", "max-usd", "no-cap"] {
                // A route asks a few questions, and needs no cap.
                if flag != "no-cap" || path != "assay route" {
                    assert_eq!(help(command, flag), help(&model, flag), "{path} --{flag}");
                }
            }
        }
    }
}
