//! The one door between an agent and a model.
//!
//! [`Gateway::open`] gives a [`Door`] for one trial: a Unix socket, or a port on loopback, behind which a server speaks
//! Anthropic Messages, OpenAI Responses and chat completions, and Gemini's generateContent. It passes requests on to a
//! [`Provider`], which is a server or a script, and keeps a [`Ledger`].
//!
//! # What a caller can rely on
//!
//! - The agent gets a token of its own; the provider's key never leaves this process. What the agent sends as
//!   authorisation, cookie or any header but `anthropic-version` and `anthropic-beta` is dropped, and so are the
//!   provider's headers but the content type and `retry-after`.
//! - The address, the path below it and the model are the [`TrialPass`]'s, and so is the most tokens of a reply where it
//!   sets one; the gateway never sets one by itself. Tools that the
//!   provider would run are taken out of requests, and recorded; what would read or keep state at the provider, or make
//!   it fetch something, is switched off or refused. Redirects are not followed.
//! - Streams are passed on as they come. Each request counts once, with the usage as the provider gave it. A reply that
//!   broke off, or came without usage, counts an estimate of what was sent and received, and is marked `estimated`.
//! - When a provider limits the rate, the gateway waits, for as long as the provider says or else with growing pauses,
//!   and tells how long: [`Door::waited`]. Nobody in the process who uses the same address and key asks meanwhile.
//! - Caps stop a trial before its next request. Requests under way are finished: a cap is exceeded by at most what they
//!   read and write. Caps count what the provider reported: an estimate alone reaches none.
//! - Sizes, idle times and numbers of connections are bounded. No request causes a panic or an endless wait.
//! - [`Door::close`] ends every connection, and removes the socket.
//!
//! An [`Egress`] is another way out, for work that is not the model's: an HTTP proxy that opens listed hosts.
//!
//! Threads, and no asynchronous runtime: one for each connection of an agent, which ends with it.

mod cassette;
mod conn;
mod door;
mod egress;
mod exchange;
mod head;
mod ledger;
mod limits;
mod pace;
mod protocol;
mod provider;
mod scripted;
mod server;
mod silence;
mod sse;
mod varying;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_model::Scene;
use assay_trace::{Prices, Usage};

pub use cassette::Cassette;
pub use door::{Door, Gauge};
pub use egress::{Egress, EgressLedger, Hosts, Passage};
pub use ledger::{
    CapKind, CapScope, Capped, Exchange, Ledger, Mismatch, Refused, SkillExposure, Totals, Wait,
};
pub use limits::{Caps, Limits};
pub use pace::Pace;
pub use protocol::Protocol;
pub use provider::{Provider, ProviderOptions};
pub use varying::Varying;

/// What all trials of a run share.
#[derive(Debug, Clone, Default)]
pub struct GatewayOptions {
    /// Bounds on sizes and times.
    pub limits: Limits,
    /// What the whole run may spend. Costs in USD that nobody knows count as nothing here.
    pub caps: Caps,
    /// What tokens cost, by model and date.
    pub prices: Prices,
}

/// Opens doors, and counts what goes through all of them.
#[derive(Debug, Clone)]
pub struct Gateway {
    pub(crate) run: Arc<Run>,
}

/// What the doors of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) options: GatewayOptions,
    pub(crate) spent: Mutex<Spent>,
}

/// What went through all doors, and past them.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub(crate) totals: Totals,
    /// As far as it is known.
    pub(crate) usd: f64,
}

/// What one trial may do at the gateway.
#[derive(Debug, Clone)]
pub struct TrialPass {
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
    /// Most time that its requests wait for the provider's limits, all together; `None` for [`Limits::trial_patience`] alone.
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
    pub scene: Scene,
}

impl TrialPass {
    /// A pass without caps, for any model, with at most four requests at once.
    pub fn new(trial: impl Into<String>, provider: Provider, listen: Listen) -> Self {
        Self {
            trial: trial.into(),
            attempt: 1,
            provider,
            listen,
            model: None,
            max_output_tokens: None,
            caps: Caps::default(),
            patience: None,
            prices: None,
            concurrency: 4,
            skills: Vec::new(),
            provider_tools: Vec::new(),
            varying: Varying::default(),
            cassette: Cassette::Off,
            scene: Scene::default(),
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

/// Why a door cannot be opened, or a provider not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The socket or the port.
    #[error("cannot listen at {address}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A cassette.
    #[error("cassette {}: {message}", path.display())]
    Cassette {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A cap in USD that cannot be kept.
    #[error("a cap in USD needs the price of the model: {0}")]
    Unpriced(String),
    /// A specification that names no provider.
    #[error("{0}")]
    Spec(String),
    /// A provider that cannot be used.
    #[error("the provider cannot be used: {0}")]
    Provider(#[from] assay_model::ModelError),
    /// The machine has no randomness for a token, or no thread.
    #[error("the machine gave no {0}")]
    Machine(&'static str),
}

impl Gateway {
    /// A gateway without doors.
    pub fn new(options: GatewayOptions) -> Self {
        Self { run: Arc::new(Run { options, spent: Mutex::default() }) }
    }

    /// A door for a trial.
    pub fn open(&self, pass: TrialPass) -> Result<Door, GatewayError> {
        Door::open(Arc::clone(&self.run), pass)
    }

    /// Counts a request that was made past its doors, by an agent that asks its model itself: its tokens, how many of them are an
    /// estimate, and what the others cost.
    pub fn charge(&self, tokens: &Usage, estimated: &Usage, usd: Option<f64>) {
        let mut spent = lock(&self.run.spent);
        spent.totals.requests += 1;
        spent.totals.tokens.add(tokens);
        spent.totals.estimated += u64::from(estimated.total() > 0);
        spent.totals.estimated_tokens.add(estimated);
        spent.usd += usd.unwrap_or_default();
    }

    /// Which cap of the run is reached.
    pub fn capped(&self) -> Option<Capped> {
        self.run.capped()
    }

    /// What went through all doors so far.
    pub fn spent(&self) -> Totals {
        lock(&self.run.spent).totals.clone()
    }
}

/// A panic elsewhere leaves nothing here half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
