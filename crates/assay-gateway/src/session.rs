//! The configuration of one trial at the gateway.

use std::path::PathBuf;
use std::time::Duration;

use assay_model::ScriptContext;
use assay_trace::Prices;

use crate::budget::Budget;
use crate::cassette::Cassette;
use crate::limits::Caps;
use crate::provider::Provider;
use crate::varying::Varying;

/// The configuration of one trial at the gateway.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// The trial's id, for ledger and cassette.
    pub trial: String,
    /// From 1.
    pub attempt: u32,
    /// The model provider.
    pub provider: Provider,
    /// Where the agent connects.
    pub listen: Listen,
    /// The model to call, whatever the agent requests; `None` lets the agent choose.
    pub model: Option<String>,
    /// Maximum tokens of one reply: lowers what the agent requests, and is set if it requests no
    /// limit. `None` leaves requests as they are.
    pub max_output_tokens: Option<u64>,
    /// Sampling temperature, set in every request for a reply; `None` leaves requests as they are.
    pub temperature: Option<f64>,
    /// Caps of the trial.
    pub caps: Caps,
    /// The budget that its requests are charged to. An [admitted](Budget::admit) trial has that of
    /// its permit, which charges the run as well.
    pub budget: Budget,
    /// Maximum time that its requests wait for the provider's limits, all together; `None` for
    /// [`Limits::trial_patience`](crate::Limits::trial_patience) alone.
    pub patience: Option<Duration>,
    /// Prices of its tokens, in place of the run's.
    pub prices: Option<Prices>,
    /// Maximum number of concurrent requests to the provider; others wait.
    pub concurrency: usize,
    /// Skills to look for in requests.
    pub skills: Vec<WatchedSkill>,
    /// A text that requests should contain; empty if there is none.
    pub text: String,
    /// Types of the provider's own tools that are allowed (`web_search`); none by default.
    pub provider_tools: Vec<String>,
    /// What the agent varies by itself, for recording and replay.
    pub varying: Varying,
    /// Whether replies are recorded or replayed.
    pub cassette: Cassette,
    /// The trial's place in the experiment; only scripts use it.
    pub script_context: ScriptContext,
}

impl SessionConfig {
    /// A configuration without caps, with a budget of its own, for any model, with at most four
    /// concurrent requests.
    pub fn new(trial: impl Into<String>, provider: Provider, listen: Listen) -> Self {
        Self {
            trial: trial.into(),
            attempt: 1,
            provider,
            listen,
            model: None,
            max_output_tokens: None,
            temperature: None,
            caps: Caps::default(),
            budget: Budget::default(),
            patience: None,
            prices: None,
            concurrency: 4,
            skills: Vec::new(),
            text: String::new(),
            provider_tools: Vec::new(),
            varying: Varying::default(),
            cassette: Cassette::Off,
            script_context: ScriptContext::default(),
        }
    }
}

/// Where an agent connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket that does not exist yet. It is readable by its owner only.
    Socket(PathBuf),
    /// A port on 127.0.0.1; 0 chooses a free one.
    Loopback(u16),
}

/// A skill to look for in requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedSkill {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The body of its SKILL.md.
    pub body: String,
}
