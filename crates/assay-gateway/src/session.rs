//! What one trial may do at the gateway.

use std::path::PathBuf;
use std::time::Duration;

use assay_model::ScriptContext;
use assay_trace::Prices;

use crate::budget::Budget;
use crate::cassette::Cassette;
use crate::limits::Caps;
use crate::provider::Provider;
use crate::varying::Varying;

/// What one trial may do at the gateway.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// The trial's identity, for ledger and cassette.
    pub trial: String,
    /// From 1.
    pub attempt: u32,
    /// Who answers.
    pub provider: Provider,
    /// Where the agent connects.
    pub listen: Listen,
    /// The model that is asked whatever the agent asks for; `None` lets the agent choose.
    pub model: Option<String>,
    /// Most tokens of one reply: lowers what the agent asks for, and is set where it asks for nothing. `None` leaves
    /// requests as they are.
    pub max_output_tokens: Option<u64>,
    /// What the trial may spend.
    pub caps: Caps,
    /// The budget that its requests are charged to. A trial that was [started](Budget::start) has the one of its permit, which is the
    /// run's as well.
    pub budget: Budget,
    /// Most time that its requests wait for the provider's limits, all together; `None` for
    /// [`Limits::trial_patience`](crate::Limits::trial_patience) alone.
    pub patience: Option<Duration>,
    /// What its tokens cost, in place of what the run says.
    pub prices: Option<Prices>,
    /// Most requests at the provider at once; others wait.
    pub concurrency: usize,
    /// Skills whose way into requests is followed.
    pub skills: Vec<WatchedSkill>,
    /// Types of the provider's own tools that are let through (`web_search`); none by default.
    pub provider_tools: Vec<String>,
    /// What the agent varies by itself, where replies are kept.
    pub varying: Varying,
    /// Whether replies are kept, or come from where they were kept.
    pub cassette: Cassette,
    /// Where in the experiment the trial stands; only scripts look at it.
    pub script_context: ScriptContext,
}

impl SessionConfig {
    /// One without caps and with a budget of its own, for any model, with at most four requests at once.
    pub fn new(trial: impl Into<String>, provider: Provider, listen: Listen) -> Self {
        Self {
            trial: trial.into(),
            attempt: 1,
            provider,
            listen,
            model: None,
            max_output_tokens: None,
            caps: Caps::default(),
            budget: Budget::default(),
            patience: None,
            prices: None,
            concurrency: 4,
            skills: Vec::new(),
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
    /// A port on 127.0.0.1; 0 takes a free one.
    Loopback(u16),
}

/// A skill whose way into requests is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedSkill {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The body of its SKILL.md.
    pub body: String,
}
