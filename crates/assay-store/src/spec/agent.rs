//! An agent's entry in an experiment.

use assay_trace::{Placement, Price};
use serde::{Deserialize, Serialize};

/// An entry of `[[agents]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// The harness.
    #[serde(default)]
    pub name: String,
    /// Its version, of `name = "NAME@VERSION"`; unset for the one that assay is tested with.
    #[serde(skip)]
    pub version: Option<String>,
    /// `provider:model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Several harnesses in place of one; spread over entries when the experiment is read.
    #[serde(default, skip_serializing)]
    pub names: Vec<String>,
    /// Several models in place of one; spread likewise.
    #[serde(default, skip_serializing)]
    pub models: Vec<String>,
    /// Where it finds skills; if unset, the experiment's setting or the agent's default applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Most replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<usize>,
    /// Most tokens in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Most USD in all; needs a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_usd: Option<f64>,
    /// Most seconds of the agent's own time, overriding the tasks; unset, each task's own limit
    /// applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// Most seconds of one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_timeout: Option<f64>,
    /// Most tokens of conversation sent at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Most tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The model's address, instead of its provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// A name for the server, in place of its address, in what identifies trials: for a server whose address
    /// changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The environment variable with the key, instead of the provider's usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// USD for a million tokens; without it costs are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The day from which a price of a table holds, if the experiment has none.
    #[serde(skip)]
    pub list_price: Option<String>,
}

impl AgentSpec {
    /// One with a name and defaults.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: None,
            model: None,
            placement: None,
            names: Vec::new(),
            models: Vec::new(),
            max_turns: None,
            max_tokens: None,
            max_usd: None,
            timeout: None,
            command_timeout: None,
            context_tokens: None,
            max_output_tokens: None,
            temperature: None,
            base_url: None,
            server: None,
            api_key_env: None,
            price: None,
            list_price: None,
        }
    }
}
